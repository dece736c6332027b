"""Train and measure the intent head on CLINC150 (Larson et al., 2019; CC-BY-3.0) and our Chinese seeds."""

import json
import tomllib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from chainserve.config import load_toml
from chainserve.heads import Head
from chainserve.intents.classifier import OUT_OF_SCOPE, IntentClassifier, energy
from chainserve.intents.settings import IntentSettings
from chainserve.messages import Intent
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.regression import Features, fit

FEATURES = Features(buckets=8192, vector_scale=3.0, ngram_scale=1.0)
INVERSE_PENALTY = 30.0
STEPS = 60
# Of the right answers, given up to keep strangers out.
LOST = 0.005
SEEDS = Path(__file__).parent / "seeds" / "intent_zh.toml"


@dataclass(frozen=True)
class Labelled:
    texts: list[str]
    labels: list[str]

    def __add__(self, other: "Labelled") -> "Labelled":
        return Labelled(self.texts + other.texts, self.labels + other.labels)


def read_clinc(path: Path, *parts: str) -> Labelled:
    """`path` is clinc.json: {part: [[text, intent], ...]}; oos_* parts hold what no intent covers."""
    rows = [row for part in parts for row in json.loads(path.read_text(encoding="utf-8"))[part]]
    return Labelled([text for text, _ in rows], [label for _, label in rows])


def read_seeds(path: Path = SEEDS) -> Labelled:
    seeds = tomllib.loads(path.read_text(encoding="utf-8"))
    pairs = [(text, label) for label, texts in seeds.items() for text in texts]
    return Labelled([text for text, _ in pairs], [label for _, label in pairs])


def train(clinc: Path, cache: EmbeddingCache) -> Head:
    data = read_clinc(clinc, "train", "oos_train") + read_seeds()
    names = tuple(sorted(set(data.labels)))
    vectors = cache.encode(data.texts)
    targets = np.array([names.index(label) for label in data.labels], dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is meant
        model = fit(
            FEATURES.matrix(vectors, data.texts), targets, np.ones(len(targets), np.float32), INVERSE_PENALTY, STEPS
        )
    head = FEATURES.head(model, names, vectors.shape[1])
    return replace(head, calibration=_calibrate(head, clinc, cache))


def _calibrate(head: Head, clinc: Path, cache: EmbeddingCache) -> npt.NDArray[np.float32]:
    """Fit in scope or not on the validation part; the two weigh the same."""
    data = read_clinc(clinc, "val", "oos_val")
    logits = head.logits(cache.encode(data.texts), data.texts)
    inside = np.array([label != OUT_OF_SCOPE for label in data.labels])
    model = LogisticRegression(class_weight="balanced").fit(energy(logits, known_labels(head))[:, None], inside)
    return np.array([model.coef_[0][0], model.intercept_[0]], dtype=np.float32)


def known_labels(head: Head) -> list[int]:
    return [index for index, label in enumerate(head.labels) if label != OUT_OF_SCOPE]


def abstain_threshold(model_dir: Path, clinc: Path) -> float:
    """The confidence that all but `LOST` of the rightly classified validation texts reach."""
    classifier = IntentClassifier.load(model_dir, load_toml(model_dir / "intent.toml", IntentSettings))
    data = read_clinc(clinc, "val")
    sure = np.array([answer.confidence for answer in classifier.classify(data.texts)])
    right = np.array(classifier.best(data.texts)) == np.array(data.labels)
    return round(float(np.quantile(sure[right], LOST)), 4)


def evaluate(model_dir: Path, clinc: Path, chinese: Path) -> dict[str, float]:
    """The committed model as it is served, abstaining included, on the test part and on our Chinese prompts."""
    settings = load_toml(model_dir / "intent.toml", IntentSettings)
    classifier = IntentClassifier.load(model_dir, settings)
    inside, outside = read_clinc(clinc, "test"), read_clinc(clinc, "oos_test")
    answers, strangers = classifier.classify(inside.texts), classifier.classify(outside.texts)
    best = classifier.best(inside.texts)
    sure = [intent.confidence for intent in answers + strangers]
    truth = [1] * len(answers) + [0] * len(strangers)
    return {
        "accuracy": _share(name == label for name, label in zip(best, inside.labels, strict=True)),
        "accuracy_after_abstaining": _share(a.name == label for a, label in zip(answers, inside.labels, strict=True)),
        "route_accuracy_after_abstaining": _routes(answers, inside.labels, settings),
        "in_scope_abstained": _share(not intent.name for intent in answers),
        "out_of_scope_abstained": _share(not intent.name for intent in strangers),
        "out_of_scope_auc": round(float(roc_auc_score(truth, sure)), 4),
        "chinese_route_accuracy": _chinese(classifier, chinese),
    }


def _routes(answers: Sequence[Intent], labels: Sequence[str], settings: IntentSettings) -> float:
    route_of = settings.route_of()
    return _share(answer.route == route_of[label] for answer, label in zip(answers, labels, strict=True))


def _chinese(classifier: IntentClassifier, path: Path) -> float:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    answers = classifier.classify([text for _, text in rows])
    return _share(answer.route == route for answer, (route, _) in zip(answers, rows, strict=True))


def _share(hits: Iterable[bool]) -> float:
    return round(float(np.mean([*hits])), 4)
