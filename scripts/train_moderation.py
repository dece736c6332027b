"""Train the moderation heads and measure them: `train_moderation.py --data FOLDER --cache FOLDER [--evaluate-only]`.

FOLDER of data holds clinc.json, bank_*.csv, cold_*.csv and davidson.csv; more comes out of packages that are downloaded
into the cache, without being installed. Writes heads.npz, rules.npz and metrics.json beside moderation.toml, and the
table of docs/models/moderation.md.
"""

import argparse
import json
from pathlib import Path

from chainserve.encoder import load_encoder
from chainserve_build.train.card import update_card
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.moderation import fit, fit_table, training_examples
from chainserve_build.train.moderation_metrics import Metrics, by_source, evaluate
from chainserve_build.train.network import Recipe
from chainserve_build.train.wheels import Wheels, download

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "model_repository" / "moderation" / "1"
CARD = ROOT / "docs" / "models" / "moderation.md"
PROMPTS = ROOT / "tests" / "guards" / "prompts.tsv"
# Of the sources left out in turn: the threshold most categories have.
THRESHOLD = 0.25


def main() -> None:
    options = _options()
    download(options.cache / "wheels")
    wheels = Wheels(options.cache / "wheels")
    written = MODEL / "metrics.json"
    sources = _kept(written) if options.evaluate_only else _train(options.data, options.cache, wheels)
    written.write_text(json.dumps(evaluate(MODEL, options.data, wheels, PROMPTS) | sources, indent=2) + "\n")
    update_card(CARD, written)
    print(written.read_text())


def _train(data: Path, folder: Path, wheels: Wheels) -> Metrics:
    """Write both models; then train without each of some sources, to measure on it."""
    cache = EmbeddingCache(load_encoder("use"), "use", folder)
    examples = [*training_examples(data, wheels)]
    fit(examples, cache, Recipe()).save(MODEL / "heads.npz")
    fit_table(examples, Recipe()).save(MODEL / "rules.npz")
    return by_source(data, wheels, cache, Recipe(), THRESHOLD)


def _kept(written: Path) -> Metrics:
    """What only training measures."""
    metrics: Metrics = json.loads(written.read_text())
    return {name: row for name, row in metrics.items() if name.startswith("source left out")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data files")
    parser.add_argument("--cache", type=Path, default=ROOT / "var" / "train", help="folder for packages and embeddings")
    parser.add_argument("--evaluate-only", action="store_true", help="measure the committed heads")
    return parser.parse_args()


if __name__ == "__main__":
    main()
