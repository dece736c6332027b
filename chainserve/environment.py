"""What `chainserve serve` and the models inside its server agree on. The two never import each other."""

ENGINE_DIR = "CHAINSERVE_ENGINE_DIR"
"""Environment variable: the folder with engine.json."""

DATA_DIR = "CHAINSERVE_DATA_DIR"
"""Environment variable: the folder with the store and the search index."""

RUN_DIR = "CHAINSERVE_RUN_DIR"
"""Environment variable: the folder of this one server run."""

DRAINING_FILE = "draining"
"""In the run folder while the server goes down: models admit nothing new from then on."""

IN_FLIGHT_METRIC = "chainserve_in_flight"
"""Gauge on the metrics port, one per model: the requests it holds right now."""
