"""Train the moderation heads and measure them: `train_moderation.py --data FOLDER --cache FOLDER [--evaluate-only]`.

FOLDER of data holds clinc.json, bank_*.csv, cold_*.csv and davidson.csv; more comes out of packages that are downloaded
into the cache, without being installed. Writes heads.npz, rules.npz and metrics.json beside moderation.toml.
"""

import argparse
import json
from pathlib import Path

from chainserve.encoder import load_encoder
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.moderation import fit, fit_table, training_examples
from chainserve_build.train.moderation_metrics import by_source, evaluate
from chainserve_build.train.network import Recipe
from chainserve_build.train.wheels import Wheels, download

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "model_repository" / "moderation" / "1"
PROMPTS = ROOT / "tests" / "guards" / "prompts.tsv"
# Of the sources left out in turn: the threshold most categories have.
THRESHOLD = 0.25


def main() -> None:
    options = _options()
    download(options.cache / "wheels")
    wheels = Wheels(options.cache / "wheels")
    metrics = {}
    if not options.evaluate_only:
        cache = EmbeddingCache(load_encoder("use"), "use", options.cache)
        examples = [*training_examples(options.data, wheels)]
        fit(examples, cache, Recipe()).save(MODEL / "heads.npz")
        fit_table(examples, Recipe()).save(MODEL / "rules.npz")
        metrics = by_source(options.data, wheels, cache, Recipe(), THRESHOLD)
    metrics = evaluate(MODEL, options.data, wheels, PROMPTS) | metrics
    if not options.evaluate_only:
        (MODEL / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
    print(json.dumps(metrics, indent=2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data files")
    parser.add_argument("--cache", type=Path, default=ROOT / "var" / "train", help="folder for packages and embeddings")
    parser.add_argument("--evaluate-only", action="store_true", help="measure the committed heads")
    return parser.parse_args()


if __name__ == "__main__":
    main()
