"""Where a model finds what was built for it. `chainserve serve` sets these variables for the whole server."""

import os
from pathlib import Path
from typing import Any

from chainserve.environment import DATA_DIR, DRAINING_FILE, ENGINE_DIR, RUN_DIR


def version_dir(args: dict[str, Any]) -> Path:
    """`<repository>/<model>/<version>`: the policy and the weights that are versioned with the model."""
    return Path(args["model_repository"], args["model_version"])


def engine_dir(args: dict[str, Any]) -> Path:
    """The folder with engine.json, tokenizer.json and the engine; default `engines/cpu` beside the repository."""
    return _folder(ENGINE_DIR, args, "engines/cpu")


def data_dir(args: dict[str, Any]) -> Path:
    """The folder with the store and the search index; default `var` beside the repository."""
    return _folder(DATA_DIR, args, "var")


def _folder(variable: str, args: dict[str, Any], default: str) -> Path:
    configured = os.environ.get(variable)
    return Path(configured) if configured else Path(args["model_repository"]).parents[1] / default


def draining() -> bool:
    """Whether the server is going down: `chainserve serve` puts a file named `draining` into its run folder."""
    run_dir = os.environ.get(RUN_DIR)
    return run_dir is not None and Path(run_dir, DRAINING_FILE).exists()
