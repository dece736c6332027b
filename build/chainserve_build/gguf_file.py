"""Reading a GGUF, and writing it again with weights that OpenVINO reads right."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType

from chainserve.errors import InvalidInput, Unsupported

# OpenVINO 2026.4 reads these exactly. Its reading of Q4_1 is wrong, and it refuses some Q4_K_M files.
_STORED_AS: dict[GGMLQuantizationType, Any] = {
    GGMLQuantizationType.F32: np.float32,
    GGMLQuantizationType.F16: np.float16,
    GGMLQuantizationType.Q8_0: np.uint8,
}
EXACT = frozenset(_STORED_AS)

Q8_BLOCK = 32

# What the writer puts there by itself.
_OWN_KEYS = ("GGUF.", "general.architecture", "general.quantization_version")

Progress = Callable[[int, int], None]


def open_gguf(path: Path) -> GGUFReader:
    try:
        return GGUFReader(path)
    except (ValueError, OSError, IndexError) as error:
        raise InvalidInput(str(path), f"not a readable GGUF: {error}") from error


def metadata_of(reader: GGUFReader) -> dict[str, Any]:
    return {key: field.contents() for key, field in reader.fields.items()}


def context_length(metadata: dict[str, Any]) -> int:
    key = f"{metadata.get('general.architecture')}.context_length"
    if key not in metadata:
        raise InvalidInput(key, "missing in the GGUF")
    return int(metadata[key])


def is_exact(reader: GGUFReader) -> bool:
    return all(tensor.tensor_type in EXACT for tensor in reader.tensors)


def repack(reader: GGUFReader, target: Path, progress: Progress) -> None:
    """Write `target` with every inexact matrix dequantised and rounded to Q8_0: blocks of 32 int8 and one FP16 scale.

    One tensor at a time is in memory.

    Raises:
        Unsupported: a quantisation that gguf cannot dequantise.
    """
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    try:
        _copy_fields(reader, writer)
        for tensor in reader.tensors:
            _declare(writer, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for done, tensor in enumerate(reader.tensors, start=1):
            writer.write_tensor_data(repacked(tensor))
            progress(done, len(reader.tensors))
    finally:
        writer.close()


def _copy_fields(reader: GGUFReader, writer: GGUFWriter) -> None:
    for key, field in reader.fields.items():
        if key.startswith(_OWN_KEYS):
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == GGUFValueType.ARRAY else None
        value = int(LlamaFileType.MOSTLY_Q8_0) if key == "general.file_type" else field.contents()
        writer.add_key_value(key, value, kind, element)


def _declare(writer: GGUFWriter, tensor: Any) -> None:
    kind, shape = target_type(tensor), tuple(reversed(tensor.shape.tolist()))
    stored = gguf.quant_shape_to_byte_shape(shape, kind) if kind == GGMLQuantizationType.Q8_0 else shape
    dtype = np.dtype(_STORED_AS[kind])
    writer.add_tensor_info(tensor.name, stored, dtype, math.prod(stored) * dtype.itemsize, raw_dtype=kind)


def target_type(tensor: Any) -> GGMLQuantizationType:
    """What `tensor` becomes. Vectors (norms, biases) and rows that are not whole blocks stay floating point."""
    if tensor.tensor_type in EXACT:
        return tensor.tensor_type
    is_matrix = len(tensor.shape) > 1 and tensor.shape[0] % Q8_BLOCK == 0
    return GGMLQuantizationType.Q8_0 if is_matrix else GGMLQuantizationType.F32


def repacked(tensor: Any) -> Any:
    """The tensor's data in its target type."""
    kind = target_type(tensor)
    if kind == tensor.tensor_type:
        return tensor.data
    try:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    except NotImplementedError as error:
        raise Unsupported(f"tensor {tensor.name}: {tensor.tensor_type.name} cannot be repacked") from error
    return gguf.quants.quantize(values, kind)
