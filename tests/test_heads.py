from pathlib import Path

import numpy as np
import pytest

from chainserve.errors import InvalidInput, NotFound
from chainserve.heads import Head, load_head


def _head() -> Head:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    layers = ((draw(8, 4), draw(4)), (draw(4, 3), draw(3)))
    return Head(("a", "b", "c"), layers, draw(32, 3), draw(2))


def test_what_is_saved_loads_nearly_the_same(tmp_path: Path) -> None:
    head = _head()
    head.save(tmp_path / "head.npz")
    loaded = load_head(tmp_path / "head.npz", 8)
    vectors = np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)
    texts = ["one", "two words", "三", "", "five"]
    assert loaded.labels == head.labels
    assert np.allclose(loaded.calibration, head.calibration)
    assert np.allclose(loaded.logits(vectors, texts), head.logits(vectors, texts), atol=0.05)


def test_a_head_of_another_encoder_is_refused(tmp_path: Path) -> None:
    _head().save(tmp_path / "head.npz")
    with pytest.raises(InvalidInput, match="vectors of 8 numbers, the encoder gives 512"):
        load_head(tmp_path / "head.npz", 512)


def test_a_missing_head_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"head\.npz"):
        load_head(tmp_path / "head.npz", 8)
