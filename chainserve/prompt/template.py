"""The chat template that comes with the engine's tokenizer: a Jinja program from outside, run in a sandbox."""

import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn, Protocol

from jinja2 import TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Prompt


class TokenizerLike(Protocol):
    """What the prompt needs of chainserve.tokenizer.Tokenizer."""

    @property
    def special_tokens(self) -> tuple[str, ...]: ...
    @property
    def chat_template(self) -> str: ...
    @property
    def bos_token(self) -> str: ...
    @property
    def eos_token(self) -> str: ...

    def encode(self, text: str) -> list[int]:
        """Ids of `text`. The text of a special token becomes that token; nothing is added."""
        ...


def local_time() -> datetime:
    return datetime.now().astimezone()


class ChatTemplate:
    """Renders messages and encodes them.

    The helpers are those that Hugging Face's `apply_chat_template` gives: raise_exception, strftime_now, tojson.

    Attributes:
        message_tokens: what the template itself adds to a message.

    Raises:
        InvalidInput: the template is not Jinja, or takes no conversation.
    """

    def __init__(self, tokenizer: TokenizerLike, today: Callable[[], datetime] = local_time) -> None:
        self._tokenizer = tokenizer
        self._special = frozenset(tokenizer.encode(token)[0] for token in tokenizer.special_tokens)
        self._template = _compile(tokenizer.chat_template, today)
        self._skeleton = lru_cache(maxsize=256)(self._special_ids_of_roles)
        self.message_tokens = self._measure()

    def encode(self, messages: Sequence[ChatMessage]) -> Prompt:
        """The prompt of `messages`, ready for the answer.

        Raises:
            InvalidInput: the template takes no such sequence of roles, or a text became a control token. The second
                cannot happen to neutralised text with any tokenizer known; if it does, nothing is sent.
        """
        text = self._render(messages)
        prompt = Prompt(text, tuple(self._tokenizer.encode(text)))
        if self._special_ids(prompt.ids) != self._skeleton(tuple(message.role for message in messages)):
            raise InvalidInput("messages", "hold text that this model's tokenizer reads as control tokens")
        return prompt

    def _measure(self) -> int:
        """A turn more, less its two contents."""
        one, two = [ChatMessage("user", "x")], [ChatMessage("assistant", "x"), ChatMessage("user", "x")]
        more = len(self.encode([*one, *two]).ids) - len(self.encode(one).ids)
        return max(0, math.ceil(more / len(two)) - len(self._tokenizer.encode("x")))

    def _special_ids_of_roles(self, roles: tuple[Any, ...]) -> tuple[int, ...]:
        """The control tokens that the template alone writes for messages of these roles."""
        text = self._render([ChatMessage(role, "x") for role in roles])
        return self._special_ids(self._tokenizer.encode(text))

    def _special_ids(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(number for number in ids if number in self._special)

    def _render(self, messages: Sequence[ChatMessage]) -> str:
        try:
            text: str = self._template.render(
                messages=[{"role": message.role, "content": message.content} for message in messages],
                add_generation_prompt=True,
                bos_token=self._tokenizer.bos_token,
                eos_token=self._tokenizer.eos_token,
                tools=None,
                documents=None,
            )
            return text  # noqa: TRY300 nothing but `render` can raise here
        except TemplateError as error:
            raise InvalidInput("messages", f"the model's chat template does not take them: {error}") from error


def _compile(source: str, today: Callable[[], datetime]) -> Any:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda pattern: today().strftime(pattern)
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        raise InvalidInput("chat template", f"line {error.lineno}: {error.message}") from error


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _tojson(value: Any, indent: int | None = None) -> str:
    """As Hugging Face: Jinja's own filter escapes for HTML."""
    return json.dumps(value, ensure_ascii=False, indent=indent)
