"""From the tensors of `tensorrt_llm` to the CPU engine's requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.word_lists import unpack
from chainserve.errors import InvalidInput
from chainserve.messages import Guide
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.contract import TENSORRT_LLM
from chainserve.triton_io.engine_unsupported import refuse_unsupported
from chainserve.triton_io.tensors import Array, RequestTensors

MAX_SEQUENCES = 64
_SEED_BITS = 64
GuideKind = Literal["json", "json_schema", "regex", "ebnf_grammar"]
_GUIDES = get_args(GuideKind)


@dataclass(frozen=True)
class OutputOptions:
    """What the answer of one row holds."""

    streaming: bool = False
    exclude_input: bool = False
    log_probs: bool = False
    num_input_tokens: bool = False
    num_output_tokens: bool = False
    perf_metrics: bool = False


@dataclass(frozen=True)
class EngineRow:
    """One row of the batch: `num_sequences` answers to the same prompt, with seeds that follow each other."""

    request: SequenceRequest
    options: OutputOptions
    num_sequences: int = 1


class _Row:
    """The inputs of one row, by name. None where an input was not sent."""

    def __init__(self, arrays: Mapping[str, Array], place: int) -> None:
        self._arrays, self._place = arrays, place

    def array(self, name: str) -> Array | None:
        array = self._arrays.get(name)
        return None if array is None else array[self._place]

    def integer(self, name: str, default: int) -> int:
        array = self.array(name)
        return default if array is None else int(_only(name, array))

    def number(self, name: str, default: float) -> float:
        array = self.array(name)
        return default if array is None else float(_only(name, array))

    def flag(self, name: str) -> bool:
        return bool(self.integer(name, 0))

    def text(self, name: str) -> str:
        array = self.array(name)
        item = b"" if array is None else _only(name, array)
        try:
            return item if isinstance(item, str) else bytes(item).decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(name, "must be UTF-8 text, got bytes that are not") from None


def asks_to_stop(tensors: RequestTensors) -> bool:
    array = tensors.array("stop")
    return array is not None and bool(array.any())


def engine_rows(tensors: RequestTensors, tokenizer: Tokenizer) -> list[EngineRow]:
    """Every row of the request.

    Args:
        tensors: the request's inputs.
        tokenizer: the engine's; its EOS ids end the rows that send no `end_id`.

    Raises:
        InvalidInput: an input this engine cannot honour, or one that contradicts another.
    """
    arrays = {t.name: a for t in TENSORRT_LLM.inputs if (a := tensors.array(t.name)) is not None}
    refuse_unsupported(arrays)
    if "input_ids" not in arrays:
        raise InvalidInput("input_ids", "is required, got none")
    rows = [_row(_Row(arrays, place), tokenizer) for place in range(len(arrays["input_ids"]))]
    if sum(row.num_sequences for row in rows) > MAX_SEQUENCES:
        raise InvalidInput("num_return_sequences", f"a request takes at most {MAX_SEQUENCES} sequences over its rows")
    return rows


def _row(row: _Row, tokenizer: Tokenizer) -> EngineRow:
    decoding = _decoding(row, tokenizer)
    return EngineRow(SequenceRequest(_prompt(row), decoding), _options(row), _num_sequences(row))


def _prompt(row: _Row) -> tuple[int, ...]:
    """The row's ids, cut to `input_lengths`: what follows is padding."""
    ids = row.array("input_ids")
    assert ids is not None  # noqa: S101 engine_rows asked
    length = row.integer("input_lengths", ids.size)
    if not 0 <= length <= ids.size:
        raise InvalidInput("input_lengths", f"must be from 0 to the {ids.size} ids of input_ids, got {length}")
    return tuple(ids.reshape(-1)[:length].tolist())


def _options(row: _Row) -> OutputOptions:
    return OutputOptions(
        streaming=row.flag("streaming"),
        exclude_input=row.flag("exclude_input_in_output"),
        log_probs=row.flag("return_log_probs"),
        num_input_tokens=row.flag("return_num_input_tokens"),
        num_output_tokens=row.flag("return_num_output_tokens"),
        perf_metrics=row.flag("return_perf_metrics"),
    )


def _num_sequences(row: _Row) -> int:
    count = row.integer("num_return_sequences", 1)
    if not 1 <= count <= MAX_SEQUENCES:
        raise InvalidInput("num_return_sequences", f"must be from 1 to {MAX_SEQUENCES}, got {count}")
    return count


def _decoding(row: _Row, tokenizer: Tokenizer) -> Decoding:
    return Decoding(
        max_tokens=row.integer("request_output_len", 0),
        end_ids=_end_ids(row, tokenizer.eos_ids),
        min_tokens=row.integer("min_tokens", 0),
        seed=row.integer("seed", 0) % (1 << _SEED_BITS),
        repetition_penalty=row.number("repetition_penalty", 1.0),
        presence_penalty=row.number("presence_penalty", 0.0),
        frequency_penalty=row.number("frequency_penalty", 0.0),
        stop_words=_words(row, "stop_words_list"),
        bad_words=_bad_words(row, tokenizer),
        guide=_guide(row),
        log_probs=row.flag("return_log_probs"),
        **_drawing(row),
    )


def _drawing(row: _Row) -> dict[str, Any]:
    """Greedy unless `runtime_top_k` or `runtime_top_p` widens the choice, as in TensorRT-LLM.

    There 0 and 0 are the defaults and mean the single most likely id; `temperature` alone changes nothing.
    Temperature 0 is greedy here.
    """
    top_k, top_p = row.integer("runtime_top_k", 0), row.number("runtime_top_p", 0.0)
    temperature = row.number("temperature", 1.0)
    greedy = top_k == 1 or (top_k == 0 and top_p == 0.0) or temperature == 0.0
    return {
        "sampled": not greedy,
        "top_k": top_k,
        "top_p": top_p or 1.0,
        "temperature": temperature or 1.0,
    }


def _end_ids(row: _Row, default: tuple[int, ...]) -> tuple[int, ...]:
    """-1 is TensorRT-LLM's way to say that no id ends the answer."""
    if row.array("end_id") is None:
        return default
    end_id = row.integer("end_id", -1)
    return () if end_id == -1 else (end_id,)


def _words(row: _Row, name: str) -> tuple[tuple[int, ...], ...]:
    packed = row.array(name)
    return () if packed is None else tuple(unpack(name, packed))


def _bad_words(row: _Row, tokenizer: Tokenizer) -> tuple[str, ...]:
    """The text of each word: that is what this engine can keep out.

    TensorRT-LLM bans the sequence of ids alone; here any other ids that spell the text are banned with it.
    """
    name = "bad_words_list"
    words = [_text(name, word, tokenizer) for word in _words(row, name)]
    return tuple(dict.fromkeys(words))


def _text(name: str, word: tuple[int, ...], tokenizer: Tokenizer) -> str:
    if any(not 0 <= number < tokenizer.vocab_size for number in word):
        raise InvalidInput(name, f"ids must be at least 0 and below the vocabulary size {tokenizer.vocab_size}")
    spelled = b"".join(map(tokenizer.token_bytes, word))
    try:
        text = spelled.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise InvalidInput(name, "the CPU engine bans text: a word must spell whole characters")
    return text


def _guide(row: _Row) -> Guide | None:
    kind, text = row.text("guided_decoding_guide_type"), row.text("guided_decoding_guide")
    if not kind and not text:
        return None
    if kind not in _GUIDES:
        raise InvalidInput("guided_decoding_guide_type", f"must be one of {', '.join(_GUIDES)}")
    if kind != "json" and not text:
        raise InvalidInput("guided_decoding_guide", f"must not be empty for {kind}")
    return Guide(cast("GuideKind", kind), text)


def _only(name: str, array: Array) -> Any:
    if array.size != 1:
        raise InvalidInput(name, f"takes one value a row, got {array.size}")
    return array.reshape(-1)[0]
