"""The messages of a request, taken apart by what a prompt may leave out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage

Turn = tuple[ChatMessage, ...]
"""A user message and what answers it; only whole turns are left out."""


@dataclass(frozen=True)
class Conversation:
    """Attributes:

    system: the caller's own system messages, wherever they stood.
    turns: earlier turns, oldest first.
    stored: whether the turns came from the store, not from the caller.
    question: the last user message and what follows it, such as the result of a tool.
    """

    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    stored: bool
    question: Turn

    @classmethod
    def of(cls, messages: Sequence[ChatMessage], stored: Sequence[ChatMessage]) -> "Conversation":
        """A caller who sends earlier turns keeps the conversation: `stored`, the store's, would say it twice.

        Raises:
            InvalidInput: no message is the user's.
        """
        system = tuple(message.content for message in messages if message.role == "system")
        *earlier, question = turns_of([message for message in messages if message.role != "system"]) or [()]
        if not question or question[0].role != "user":
            raise InvalidInput("messages", "hold no message from the user")
        return cls(system, tuple(earlier or turns_of(stored)), not earlier, question)


def turns_of(messages: Sequence[ChatMessage]) -> list[Turn]:
    """Every user message begins a turn; what stands before the first one is a turn of its own."""
    starts = [place for place, message in enumerate(messages) if place == 0 or message.role == "user"]
    return [tuple(messages[start:end]) for start, end in pairwise([*starts, len(messages)])]
