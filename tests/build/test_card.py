import json
from pathlib import Path

import pytest

from chainserve_build.train.card import update_card, with_figures

ROOT = Path(__file__).parents[2]


def test_figures_stand_between_the_marks(tmp_path: Path) -> None:
    card, metrics = tmp_path / "card.md", tmp_path / "metrics.json"
    card.write_text("# Card\n<!-- figures -->\nold\n<!-- end -->\nafter\n")
    metrics.write_text(json.dumps({"accuracy": 0.95291, "hate": {"n": 6, "recall": 0.5}}))
    update_card(card, metrics)
    text = card.read_text()
    assert "| accuracy | 0.953 |\n| hate | n 6, recall 0.500 |\n<!-- end -->\nafter" in text
    assert "old" not in text


@pytest.mark.parametrize("model", ["intent", "moderation"])
def test_the_cards_hold_the_committed_figures(model: str) -> None:
    metrics = json.loads((ROOT / "model_repository" / model / "1" / "metrics.json").read_text())
    card = (ROOT / "docs" / "models" / f"{model}.md").read_text()
    assert with_figures(card, metrics) == card
