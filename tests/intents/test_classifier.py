from pathlib import Path

import numpy as np
import pytest

from chainserve.encoder import FakeEncoder
from chainserve.errors import InvalidInput
from chainserve.heads import Head
from chainserve.intents.classifier import IntentClassifier, confidence
from chainserve.intents.settings import IntentSettings

SETTINGS = IntentSettings(abstain_below=0.5, routes={"kitchen": ("recipe",), "travel": ("flight",)})


def _classifier(bias: list[float], settings: IntentSettings = SETTINGS) -> IntentClassifier:
    layer = (np.zeros((16, 3), np.float32), np.array(bias, np.float32))
    calibration = np.array([1.0, -3.0], np.float32)
    head = Head(("flight", "oos", "recipe"), (layer,), np.zeros((8, 3), np.float32), calibration)
    return IntentClassifier(FakeEncoder(), head, settings)


def test_the_best_intent_and_its_route() -> None:
    (intent,) = _classifier([1.0, 0.0, 9.0]).classify(["dumplings"])
    assert (intent.name, intent.route, intent.source) == ("recipe", "kitchen", "classifier")
    assert 0.99 < intent.confidence < 1.0


@pytest.mark.parametrize("bias", [[1.0, 0.0, 1.5], [6.0, 9.0, 1.0]], ids=["unsure", "out of scope"])
def test_it_abstains(bias: list[float]) -> None:
    classifier = _classifier(bias)
    (intent,) = classifier.classify(["what?"])
    assert (intent.name, intent.route) == ("", "default")
    assert classifier.best(["what?"])[0] in {"recipe", "flight"}


def test_empty_text_has_no_intent() -> None:
    (intent,) = _classifier([9.0, 0.0, 1.0]).classify(["  \n "])
    assert (intent.name, intent.route, intent.confidence) == ("", "default", 0.0)


def test_no_texts_no_intents() -> None:
    assert _classifier([0.0, 0.0, 0.0]).classify([]) == []


def test_confidence_grows_with_the_known_logits() -> None:
    logits = np.array([[0, 0, 0], [5, 0, 0], [500, 0, 0]], np.float32)
    sure = confidence(logits, [0, 2], np.array([1.0, -2.0], np.float32))
    assert list(sure) == sorted(sure)
    assert np.isfinite(sure).all()


def test_routes_and_head_must_agree() -> None:
    too_many = SETTINGS.model_copy(update={"routes": {"a": ("recipe", "flight", "golf")}})
    with pytest.raises(InvalidInput, match="the head knows no golf"):
        _classifier([0, 0, 0], too_many)
    too_few = SETTINGS.model_copy(update={"routes": {"a": ("recipe",)}})
    with pytest.raises(InvalidInput, match="no route has flight"):
        _classifier([0, 0, 0], too_few)


def test_an_intent_has_one_route() -> None:
    with pytest.raises(ValueError, match="recipe: in more than one route"):
        IntentSettings(abstain_below=0.5, routes={"a": ("recipe",), "b": ("recipe",)})


def test_a_long_text_is_judged_by_its_ends(tmp_path: Path) -> None:
    seen: list[str] = []

    class Spy(FakeEncoder):
        def encode(self, texts):  # noqa: ANN001, ANN202
            seen.extend(texts)
            return super().encode(texts)

    classifier = _classifier([9.0, 0.0, 1.0], SETTINGS.model_copy(update={"max_chars": 10}))
    classifier._encoder = Spy()
    classifier.classify(["begin" + "x" * 1000 + "at it"])
    assert seen == ["begin at it"]
