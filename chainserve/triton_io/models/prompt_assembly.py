"""`prompt_assembly`: the prompt of each question, for the static ensemble; `chain` assembles in its own process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chainserve.admission.chat_messages import parse_messages
from chainserve.config import load_toml
from chainserve.engine.manifest import EngineManifest
from chainserve.errors import InvalidInput
from chainserve.guards.language import language_of
from chainserve.messages import ChatMessage, Context
from chainserve.prompt.assembler import PromptAssembler
from chainserve.prompt.policy import PromptPolicy
from chainserve.tokenizer import Tokenizer
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.context_tensors import context_from_tensors
from chainserve.triton_io.environment import engine_dir, version_dir
from chainserve.triton_io.tensors import RequestTensors, output

# What a flagged request may cost in a static ensemble, where the engine cannot be skipped.
FLAGGED_TOKENS = 1


@dataclass(frozen=True)
class Row:
    """One valid row."""

    messages: tuple[ChatMessage, ...]
    route: str
    context: Context
    max_tokens: int
    flagged: bool


@dataclass(frozen=True)
class Assembled:
    prompt: str
    max_tokens: int


class PromptAssemblyModel:
    def initialize(self, args: dict[str, Any]) -> None:
        home = engine_dir(args)
        self._context_length = EngineManifest.load(home).context_length
        policy = load_toml(version_dir(args) / "prompt.toml", PromptPolicy)
        self._assembler = PromptAssembler(Tokenizer.load(home), policy, language_of)

    def execute(self, requests: list[Any]) -> list[Any]:
        # Assembled while decoding: a row that does not fit is the fault of its request, not of the batch.
        return run_batch(requests, self._assembled, lambda rows: rows, _encode)

    def _assembled(self, tensors: RequestTensors) -> list[Assembled]:
        return [self._assemble(row) for row in decode(tensors)]

    def _assemble(self, row: Row) -> Assembled:
        if row.flagged:
            return Assembled(self._assembler.placeholder().text, FLAGGED_TOKENS)
        prompt = self._assembler.assemble(row.messages, row.route, row.context, row.max_tokens, self._context_length)
        return Assembled(prompt.text, row.max_tokens)


def decode(tensors: RequestTensors) -> list[Row]:
    """The rows of one request.

    Raises:
        InvalidInput: a value that cannot be served; names the tensor.
    """
    questions = tensors.texts("text_input") or []
    count = len(questions)
    texts = [tensors.texts(name) or [""] * count for name in ("messages", "route", "profile", "history", "passages")]
    max_tokens = _values(tensors, "max_tokens", [0] * count)
    flagged, stream = (_values(tensors, name, [False] * count) for name in ("flagged", "stream"))
    if any(stream):
        raise InvalidInput("stream", "chain_ensemble answers in one response; use chain")
    if any(number < 1 for number in max_tokens):
        raise InvalidInput("max_tokens", "must be at least 1")
    return [_row(*row) for row in zip(questions, max_tokens, flagged, *texts, strict=True)]


def _values(tensors: RequestTensors, name: str, missing: list[Any]) -> list[Any]:
    array = tensors.array(name)
    return missing if array is None else list(array.reshape(-1).tolist())


def _row(question: str, max_tokens: int, flagged: bool, messages: str, route: str, *context: str) -> Row:
    return Row(_messages(question, messages), route, context_from_tensors(*context), max_tokens, flagged)


def _messages(question: str, sent: str) -> tuple[ChatMessage, ...]:
    """`messages`, or "" and only a question. The guard of the ensemble reads `text_input` alone: beside it only the
    application's own instructions pass.
    """
    if not question.strip():
        raise InvalidInput("text_input", "is empty")
    if not sent:
        return (ChatMessage("user", question),)
    messages = parse_messages(sent)
    if [message.content for message in messages if message.role != "system"] != [question]:
        raise InvalidInput(
            "messages", "beside system messages, the only one must be the user's, the same as text_input"
        )
    return messages


def _encode(rows: Sequence[Assembled]) -> list[Any]:
    shape = (len(rows), 1)
    return [
        output("prompt", "TYPE_STRING", [row.prompt for row in rows], shape),
        output("request_output_len", "TYPE_INT32", [row.max_tokens for row in rows], shape),
        output("exclude_input_in_output", "TYPE_BOOL", [True] * len(rows), shape),
        output("answer_role", "TYPE_STRING", ["assistant"] * len(rows), shape),
    ]
