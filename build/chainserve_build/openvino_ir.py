"""From GGUF to OpenVINO IR, and proof that its tokenizer is ours."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import iterparse

from chainserve.errors import StageFailed, Unavailable, Unsupported
from chainserve.tokenizer import Tokenizer

IR_FILE = "openvino_model.xml"
WEIGHTS_FILE = "openvino_model.bin"
IR_FILES = (
    IR_FILE,
    WEIGHTS_FILE,
    "openvino_tokenizer.xml",
    "openvino_tokenizer.bin",
    "openvino_detokenizer.xml",
    "openvino_detokenizer.bin",
)

# Both tokenizers must agree on these.
SAMPLES = (
    "What is the capital of France?  It's Paris; we'll see 1984, 3.14 and 12345678.",
    "你好,世界!今天天气怎么样?请用中文回答:2026年12月1日。",
    "Emoji 👩‍👩‍👧‍👦 👍🏽 🇫🇷 and é, naïve, Straße, русский, العربية, 日本語, 한국어.",
    "def f(x):\n\treturn {'a': [1, 2], \"b\": x ** 2}  # done\n\n\n    if x >= 10: pass\r\n",
    "  leading and trailing spaces   ",
)

# What a C++ stream says when it could not write.
_WRITE_FAILED = "iostream error"

_NAMES = {"u4": "int4", "i4": "int4", "u8": "int8", "i8": "int8", "f16": "fp16", "bf16": "bf16", "f32": "fp32"}


def convert(gguf_file: Path) -> None:
    """Write the IR of `gguf_file` beside it (IR_FILES)."""
    import openvino_genai  # noqa: PLC0415 takes a second to load

    try:
        openvino_genai.LLMPipeline(str(gguf_file), "CPU", enable_save_ov_model=True)
    except RuntimeError as error:
        if _WRITE_FAILED in str(error):
            raise Unavailable(f"OpenVINO cannot write into {gguf_file.parent}: the disk is full") from error
        raise Unsupported(f"OpenVINO cannot read this GGUF: {_last_line(error)}") from error
    check_whole(gguf_file.parent)


def check_whole(folder: Path) -> None:
    """Raises: StageFailed when a file of the IR is missing, or shorter than its model says."""
    missing = [name for name in IR_FILES if not (folder / name).is_file()]
    if missing:
        raise StageFailed("OpenVINO conversion", f"did not write {', '.join(missing)}")
    end = max((constant.end for constant in _constants(folder / IR_FILE)), default=0)
    if (folder / WEIGHTS_FILE).stat().st_size < end:
        raise StageFailed("OpenVINO conversion", f"{WEIGHTS_FILE} is cut short")


def check_tokenizers(folder: Path) -> None:
    """Raises: StageFailed when OpenVINO's tokenizer and tokenizer.json differ on a sample."""
    import openvino_genai  # noqa: PLC0415 takes a second to load

    theirs, ours = openvino_genai.Tokenizer(str(folder)), Tokenizer.load(folder)
    for sample in SAMPLES:
        ids = ours.encode(sample)
        expected = theirs.encode(sample, add_special_tokens=False).input_ids.data.reshape(-1).tolist()
        if ids != expected:
            raise StageFailed("tokenizer check", f"tokenizer.json and OpenVINO's tokenizer differ on {sample!r}")
        if ours.decode(ids) != sample:
            raise StageFailed("tokenizer check", f"decoding does not give back {sample!r}")


def precision(model_xml: Path) -> str:
    """What most of the weights' bytes are."""
    sizes: Counter[str] = Counter()
    for constant in _constants(model_xml):
        sizes[constant.kind] += constant.size
    kind = sizes.most_common(1)[0][0] if sizes else "unknown"
    return _NAMES.get(kind, kind)


class _Constant(NamedTuple):
    """`kind` is OpenVINO's element type; `size` and `end` are bytes in the weights file."""

    kind: str
    size: int
    end: int


def _constants(model_xml: Path) -> Iterator[_Constant]:
    for _, layer in iterparse(model_xml):  # noqa: S314 OpenVINO's own file, of a model the user chose to run
        data = layer.find("data") if layer.tag == "layer" and layer.get("type") == "Const" else None
        if data is not None:
            size = int(data.get("size", 0))
            yield _Constant(data.get("element_type", ""), size, int(data.get("offset", 0)) + size)


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]
