"""A Context as the three strings that the models hand to each other: text, and two JSON lists. Both directions."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Context, Passage
from chainserve.triton_io.tensors import output

Decoded = TypeVar("Decoded")

MAX_ITEMS = 1000

_HISTORY: TypeAdapter[tuple[ChatMessage, ...]] = TypeAdapter(
    Annotated[tuple[ChatMessage, ...], Field(max_length=MAX_ITEMS)]
)
_PASSAGES: TypeAdapter[tuple[Passage, ...]] = TypeAdapter(Annotated[tuple[Passage, ...], Field(max_length=MAX_ITEMS)])


def context_to_tensors(contexts: Sequence[Context]) -> list[Any]:
    """`profile`, `history` and `passages`, each [n, 1]."""
    shape = (len(contexts), 1)
    return [
        output("profile", "TYPE_STRING", [context.profile for context in contexts], shape),
        output("history", "TYPE_STRING", [_json(context.history) for context in contexts], shape),
        output("passages", "TYPE_STRING", [_json(context.passages) for context in contexts], shape),
    ]


def context_from_tensors(profile: str, history: str, passages: str) -> Context:
    """One row; "" is nothing.

    Raises:
        InvalidInput: not the JSON that `context_to_tensors` writes; names the tensor.
    """
    return Context(profile, _decoded("history", _HISTORY, history), _decoded("passages", _PASSAGES, passages))


def _json(items: Sequence[ChatMessage] | Sequence[Passage]) -> str:
    return json.dumps([asdict(item) for item in items], ensure_ascii=False)


def _decoded(name: str, adapter: TypeAdapter[Decoded], text: str) -> Decoded:
    try:
        return adapter.validate_json(text or "[]")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(name, f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()) from None
