"""From a text to its intent, or to none: the classifier abstains where it is not sure."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chainserve.encoder import SentenceEncoder, load_encoder
from chainserve.errors import InvalidInput
from chainserve.heads import Floats, Head, load_head
from chainserve.intents.settings import IntentSettings
from chainserve.messages import Intent

# The head's own class for texts that no intent covers.
OUT_OF_SCOPE = "oos"


class IntentClassifier:
    def __init__(self, encoder: SentenceEncoder, head: Head, settings: IntentSettings) -> None:
        """`head` is one that was trained on `encoder`.

        Raises:
            InvalidInput: an intent of the settings that the head does not know, or the other way round.
        """
        self._encoder, self._head, self._settings = encoder, head, settings
        self._route = settings.route_of()
        self._known = [index for index, label in enumerate(head.labels) if label != OUT_OF_SCOPE]
        _check_labels(set(self._route), {head.labels[index] for index in self._known})

    @classmethod
    def load(cls, folder: Path, settings: IntentSettings) -> "IntentClassifier":
        encoder = load_encoder(settings.encoder, settings.threads)
        return cls(encoder, load_head(folder / settings.head, encoder.dimension), settings)

    def classify(self, texts: Sequence[str]) -> list[Intent]:
        """One intent a text, all in one pass of the encoder."""
        ends = [_ends(text.strip(), self._settings.max_chars) for text in texts]
        logits = self.logits(ends)
        sure = confidence(logits, self._known, self._head.calibration)
        best = np.array(self._known)[logits[:, self._known].argmax(axis=1)]
        return [self._decide(*row) for row in zip(ends, best, logits.argmax(axis=1), sure, strict=True)]

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best intent of each text, however unsure."""
        picks = self.logits(texts)[:, self._known].argmax(axis=1)
        return [self._head.labels[self._known[pick]] for pick in picks]

    def logits(self, texts: Sequence[str]) -> Floats:
        """Shape [n, labels of the head]."""
        return self._head.logits(self._encoder.encode(texts), texts)

    def _decide(self, text: str, best: int, top: int, sure: float) -> Intent:
        if not text:
            return Intent("", self._settings.default_route, 0.0)
        if sure < self._settings.abstain_below or self._head.labels[top] == OUT_OF_SCOPE:
            return Intent("", self._settings.default_route, float(sure))
        name = self._head.labels[best]
        return Intent(name, self._route[name], float(sure))


def confidence(logits: Floats, known: Sequence[int], calibration: Floats) -> Floats:
    """How sure it is that the text is in scope, in (0, 1), [n]; `calibration` holds a weight and a bias."""
    sure: Floats = 1.0 / (1.0 + np.exp(-(energy(logits, known) * calibration[0] + calibration[1])))
    return sure


def energy(logits: Floats, known: Sequence[int]) -> Floats:
    """The log of the summed exponentials of the known logits, [n]: it separates better than the best probability.

    Liu et al., "Energy-based Out-of-distribution Detection", 2020.
    """
    inside = logits[:, known]
    top = inside.max(axis=1)
    total: Floats = top + np.log(np.exp(inside - top[:, None]).sum(axis=1))
    return total


def _ends(text: str, limit: int) -> str:
    """What is asked stands before or after a long pasted text."""
    return text if len(text) <= limit else f"{text[: limit // 2]} {text[-(limit // 2) :]}"


def _check_labels(configured: set[str], trained: set[str]) -> None:
    unknown, missing = sorted(configured - trained), sorted(trained - configured)
    if unknown:
        raise InvalidInput("routes", f"the head knows no {', '.join(unknown)}")
    if missing:
        raise InvalidInput("routes", f"no route has {', '.join(missing)}")
