"""The `messages` input: JSON in the OpenAI form, [{"role": ..., "content": ...}, ...]."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Role

MAX_JSON_CHARS = 4_000_000
MAX_MESSAGES = 512
MAX_CONTENT_CHARS = 1_000_000


class _Message(BaseModel):
    """`name` is OpenAI's, and says nothing to a chat template: taken and not used."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    role: Role
    content: str = Field(max_length=MAX_CONTENT_CHARS)
    name: str | None = Field(default=None, max_length=256)


_MESSAGES: TypeAdapter[list[_Message]] = TypeAdapter(
    Annotated[list[_Message], Field(min_length=1, max_length=MAX_MESSAGES)]
)


def parse_messages(text: str) -> tuple[ChatMessage, ...]:
    """Decode `text`, at least one message.

    Raises:
        InvalidInput: not JSON, not this form, or over a limit; names the place, the limit and the kind of the value.
    """
    if len(text) > MAX_JSON_CHARS:
        raise InvalidInput("messages", f"{len(text)} characters of JSON, the limit is {MAX_JSON_CHARS}")
    try:
        messages = _MESSAGES.validate_json(text)
    except ValidationError as error:
        raise InvalidInput("messages", _problem(error)) from None
    return tuple(ChatMessage(message.role, message.content) for message in messages)


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return f"not JSON: {first['ctx']['error']}"
    problem = f"{first['msg'].lower()}, got a value of kind {type(first['input']).__name__}"
    where = ".".join(f"[{part}]" if isinstance(part, int) else part for part in first["loc"])
    return f"{where}: {problem}" if where else problem
