from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType
from tiny_gguf import CONTEXT, tiny_metadata, write_tiny_gguf

from chainserve.errors import InvalidInput, Unsupported
from chainserve_build.gguf_file import context_length, is_exact, metadata_of, open_gguf, repack, repacked, target_type

INEXACT = [
    GGMLQuantizationType.Q4_1,
    GGMLQuantizationType.Q4_0,
    GGMLQuantizationType.Q5_0,
    GGMLQuantizationType.Q5_1,
    GGMLQuantizationType.BF16,
]


def values(tensor: gguf.gguf_reader.ReaderTensor) -> np.ndarray:
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type)


@pytest.mark.parametrize("kind", INEXACT, ids=lambda kind: kind.name)
def test_repacked_weights_are_what_they_were(tmp_path: Path, kind: GGMLQuantizationType) -> None:
    write_tiny_gguf(tmp_path / "in.gguf", kind)
    before = open_gguf(tmp_path / "in.gguf")
    repack(before, tmp_path / "out.gguf", lambda _done, _total: None)
    after = open_gguf(tmp_path / "out.gguf")
    assert not is_exact(before)
    assert is_exact(after)
    assert [tensor.name for tensor in after.tensors] == [tensor.name for tensor in before.tensors]
    for old, new in zip(before.tensors, after.tensors, strict=True):
        # Q8_0 rounds to 127 steps of the largest value in 32, and the step itself to FP16 (11 bits).
        allowed = np.abs(values(old)).max() * (0.5 / 127 + 2**-11)
        assert np.abs(values(new) - values(old)).max() <= allowed


def test_metadata_survives(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "in.gguf")
    repack(open_gguf(tmp_path / "in.gguf"), tmp_path / "out.gguf", lambda _done, _total: None)
    before, after = (metadata_of(open_gguf(tmp_path / name)) for name in ("in.gguf", "out.gguf"))
    assert after.pop("general.file_type") == int(gguf.LlamaFileType.MOSTLY_Q8_0)
    assert before.pop("general.file_type") == int(gguf.LlamaFileType.MOSTLY_Q4_1)
    assert after == before
    assert tiny_metadata().items() <= after.items()
    assert context_length(after) == CONTEXT


def test_progress_counts_every_tensor(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "in.gguf")
    reader, seen = open_gguf(tmp_path / "in.gguf"), []
    repack(reader, tmp_path / "out.gguf", lambda done, total: seen.append((done, total)))
    assert seen == [(done, len(reader.tensors)) for done in range(1, len(reader.tensors) + 1)]


@pytest.mark.parametrize("kind", [GGMLQuantizationType.F16, GGMLQuantizationType.Q8_0], ids=lambda kind: kind.name)
def test_exact_files_need_no_repacking(tmp_path: Path, kind: GGMLQuantizationType) -> None:
    write_tiny_gguf(tmp_path / "in.gguf", kind)
    assert is_exact(open_gguf(tmp_path / "in.gguf"))


@dataclass
class Raw:
    """A tensor as the reader gives it. `shape` is in GGUF's order, the row's length first."""

    tensor_type: GGMLQuantizationType
    data: np.ndarray
    shape: np.ndarray
    name: str = "w"


def random_blocks(kind: GGMLQuantizationType, scale_places: tuple[int, ...]) -> Raw:
    """Four rows of one block with random bits, its FP16 scales (at these bytes) set to 0.01."""
    length, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = np.random.default_rng(7).integers(0, 256, (4, size), dtype=np.uint8)
    for place in scale_places:
        blocks[:, place : place + 2] = np.frombuffer(np.float16(0.01).tobytes(), dtype=np.uint8)
    return Raw(kind, blocks, np.array([length, 4]))


@pytest.mark.parametrize(
    ("kind", "scale_places"),
    [
        (GGMLQuantizationType.Q4_K, (0, 2)),
        (GGMLQuantizationType.Q5_K, (0, 2)),
        (GGMLQuantizationType.Q6_K, (208,)),
        (GGMLQuantizationType.IQ4_NL, (0,)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_gguf_reads_but_cannot_write_is_repacked(
    kind: GGMLQuantizationType, scale_places: tuple[int, ...]
) -> None:
    tensor = random_blocks(kind, scale_places)
    before = gguf.quants.dequantize(tensor.data, kind)
    after = gguf.quants.dequantize(repacked(tensor), GGMLQuantizationType.Q8_0)
    assert target_type(tensor) == GGMLQuantizationType.Q8_0
    assert np.abs(after - before).max() <= np.abs(before).max() * (0.5 / 127 + 2**-11)


@pytest.mark.parametrize("shape", [(64,), (33, 2)])
def test_vectors_and_odd_rows_become_floats(shape: tuple[int, ...]) -> None:
    values = np.ones(tuple(reversed(shape)), dtype=np.float32)
    tensor = Raw(GGMLQuantizationType.BF16, gguf.quants.quantize(values, GGMLQuantizationType.BF16), np.array(shape))
    assert target_type(tensor) == GGMLQuantizationType.F32
    assert (repacked(tensor) == values).all()


def test_a_quantisation_that_cannot_be_read_is_named() -> None:
    tensor = Raw(GGMLQuantizationType.Q8_K, np.zeros(292, dtype=np.uint8), np.array([256, 1]))
    with pytest.raises(Unsupported, match="w: Q8_K"):
        repacked(tensor)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a gguf at all, but long enough to hold a header"])
def test_what_is_no_gguf_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"x\.gguf: not a readable GGUF"):
        open_gguf(tmp_path / "x.gguf")


def test_a_missing_context_length_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"llama\.context_length"):
        context_length({"general.architecture": "llama"})
