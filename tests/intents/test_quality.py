"""The committed head on the prompts that ship with it, against the numbers in docs/models/intent.md."""

import csv
from pathlib import Path

import pytest

from chainserve.config import load_toml
from chainserve.intents.classifier import IntentClassifier
from chainserve.intents.settings import IntentSettings

MODEL = Path(__file__).parents[2] / "model_repository" / "intent" / "1"
FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def classifier() -> IntentClassifier:
    return IntentClassifier.load(MODEL, load_toml(MODEL / "intent.toml", IntentSettings))


@pytest.mark.parametrize("name", ["zh_prompts.tsv", "en_prompts.tsv"])
def test_routes(classifier: IntentClassifier, name: str) -> None:
    with (FOLDER / name).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    answers = classifier.classify([row["text"] for row in rows])
    wrong = [
        (row["text"], answer.route, answer.name, round(answer.confidence, 3))
        for row, answer in zip(rows, answers, strict=True)
        if answer.route != row["route"]
    ]
    assert len(wrong) <= 0.06 * len(rows), wrong


def test_a_batch_answers_what_single_calls_answer(classifier: IntentClassifier) -> None:
    texts = ["what's the weather", "帮我订机票", "who painted the mona lisa"]
    assert [i.name for i in classifier.classify(texts)] == [classifier.classify([t])[0].name for t in texts]
