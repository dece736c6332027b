"""The trainers, on data small enough to see through."""

from pathlib import Path

import numpy as np
import pytest

from chainserve.encoder import FakeEncoder
from chainserve.intents.classifier import OUT_OF_SCOPE
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.examples import CATEGORIES, Example, actions, of, seeds
from chainserve_build.train.intent import read_seeds
from chainserve_build.train.moderation import amid_other_talk, fit_table, targets, weights
from chainserve_build.train.network import Network, Recipe
from chainserve_build.train.regression import Features, fit

RECIPE = Recipe(hidden=16, buckets=256, epochs=30, batch=16, dropout=0.0, rate=1e-2, ngram_rate=1e-1)


def _clouds() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    vectors = rng.normal(size=(200, 16)) * 0.2 + np.outer(2 * labels - 1, np.ones(16)) / 4
    return vectors.astype(np.float32), labels


def test_the_network_learns_from_the_vector() -> None:
    vectors, labels = _clouds()
    wanted = np.stack([labels, 1 - labels], axis=1).astype(np.float32)
    network = Network(16, 2, RECIPE)
    network.fit(vectors, [""] * 200, wanted, np.ones_like(wanted))
    assert ((network.head(("a", "b")).logits(vectors, [""] * 200) > 0) == wanted).mean() > 0.95


def test_a_weight_of_0_leaves_a_label_out() -> None:
    vectors, labels = _clouds()
    wanted = np.stack([labels, labels], axis=1).astype(np.float32)
    kept = np.stack([np.ones(200), np.zeros(200)], axis=1).astype(np.float32)
    network = Network(16, 2, RECIPE)
    network.fit(vectors, [""] * 200, wanted, kept)
    head = network.head(("a", "b"))
    start = Network(16, 2, RECIPE).head(("a", "b"))
    assert head.layers[1][1][0] != start.layers[1][1][0]
    assert head.layers[1][1][1] == start.layers[1][1][1]


def test_the_table_learns_words_without_a_vector() -> None:
    words = ["bad word", "good word"] * 50
    examples = [Example(text, "x", of("hate") if "bad" in text else frozenset()) for text in words]
    table = fit_table(examples, RECIPE)
    logits = table.logits(np.zeros((2, 0), np.float32), ["bad", "good"])
    assert logits[0, 0] > 0 > logits[1, 0]


def test_regression_becomes_the_same_head() -> None:
    vectors, labels = _clouds()
    labels = labels + (np.arange(200) % 2) * 2
    features, texts = Features(buckets=64, vector_scale=3.0, ngram_scale=1.0), ["odd", "even"] * 100
    matrix = features.matrix(vectors, texts)
    model = fit(matrix, labels, np.ones(200, np.float32), c=1.0, steps=300)
    head = features.head(model, ("a", "b", "c", "d"), 16)
    assert np.allclose(head.logits(vectors, texts), model.decision_function(matrix), atol=1e-3)


def test_the_cache_answers_without_the_encoder(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(10)]
    first = EmbeddingCache(FakeEncoder(), "fake", tmp_path).encode(texts)

    class Broken(FakeEncoder):
        def encode(self, texts):  # noqa: ANN001, ANN202
            raise AssertionError(texts)

    assert np.array_equal(EmbeddingCache(Broken(), "fake", tmp_path).encode(texts), first)
    with pytest.raises(AssertionError):
        EmbeddingCache(Broken(), "another", tmp_path).encode(texts)


def test_seeds_have_every_category_in_both_languages() -> None:
    found = {(example.source, *sorted(example.positive)) for example in [*seeds(), *actions()]}
    assert found == {(f"seeds-{lang}", *names) for lang in ("en", "zh") for names in [(), *((c,) for c in CATEGORIES)]}
    assert OUT_OF_SCOPE in read_seeds().labels


def test_actions_are_drawn_the_same_way_again() -> None:
    assert list(actions(seed=3)) == list(actions(seed=3)) != list(actions(seed=4))


def test_other_talk_surrounds_the_text_in_its_language() -> None:
    harmless = [Example("how are you", "clinc"), Example("今天好", "reviews")]
    harmful = [Example("怎么自杀", "seeds-zh", of("self_harm"))]
    (around,) = [e for e in amid_other_talk([*harmless, *harmful]) if e.positive]
    assert "怎么自杀" in around.text != "怎么自杀"
    assert "how" not in around.text


def test_unknown_categories_weigh_nothing() -> None:
    example = Example("x", "y", of("hate"), frozenset({"violence"}), 2.0)
    assert targets([example])[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert weights([example])[0].tolist() == [2, 0, 2, 2, 2, 2]
