"""Train the intent head and measure it: `train_intent.py --data FOLDER --cache FOLDER [--evaluate-only]`.

FOLDER holds clinc.json. Writes head.npz and metrics.json beside intent.toml, and the table in docs/models/intent.md.
"""

import argparse
import json
from pathlib import Path

from chainserve.encoder import load_encoder
from chainserve_build.train.card import update_card
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.intent import abstain_threshold, evaluate, train

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "model_repository" / "intent" / "1"
CARD = ROOT / "docs" / "models" / "intent.md"
CHINESE = ROOT / "tests" / "intents" / "zh_prompts.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with clinc.json")
    parser.add_argument("--cache", type=Path, default=ROOT / "var" / "train", help="folder for embeddings")
    parser.add_argument("--evaluate-only", action="store_true", help="measure the committed head")
    options = parser.parse_args()
    clinc = options.data / "clinc.json"
    if not options.evaluate_only:
        train(clinc, EmbeddingCache(load_encoder("use"), "use", options.cache)).save(MODEL / "head.npz")
    metrics = evaluate(MODEL, clinc, CHINESE) | {"suggested_abstain_below": abstain_threshold(MODEL, clinc)}
    if not options.evaluate_only:
        (MODEL / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n")
        update_card(CARD, MODEL / "metrics.json")
    print(json.dumps(metrics, indent=2))


if __name__ == "__main__":
    main()
