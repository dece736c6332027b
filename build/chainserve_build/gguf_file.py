"""Reading a GGUF, and writing it again with weights that OpenVINO reads right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType

from chainserve.errors import InvalidInput, Unsupported

# OpenVINO 2026.4 reads these exactly. Its reading of Q4_1 is wrong, and it refuses some Q4_K_M files.
EXACT = frozenset({GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.Q8_0})

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
    """Write `target` with every inexact tensor dequantised and rounded to Q8_0: blocks of 32 int8 and one FP16 scale.

    Raises:
        Unsupported: a quantisation that gguf cannot dequantise.
    """
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    try:
        _copy_fields(reader, writer)
        for done, tensor in enumerate(reader.tensors, start=1):
            _add_tensor(writer, tensor)
            progress(done, len(reader.tensors))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
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


def _add_tensor(writer: GGUFWriter, tensor: Any) -> None:
    if tensor.tensor_type in EXACT:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    else:
        writer.add_tensor(tensor.name, to_q8(tensor), raw_dtype=GGMLQuantizationType.Q8_0)


def to_q8(tensor: Any) -> Any:
    """The tensor's bytes as Q8_0; uint8 [..., bytes per row]."""
    try:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    except NotImplementedError as error:
        raise Unsupported(f"tensor {tensor.name}: {tensor.tensor_type.name} cannot be repacked") from error
    return gguf.quants.quantize(values, GGMLQuantizationType.Q8_0)
