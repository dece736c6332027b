"""What the chain needs to know things by. SQLite and faiss stand behind these; PostgreSQL with pgvector could."""

from dataclasses import dataclass
from typing import Protocol

from chainserve.encoder import Vectors
from chainserve.messages import ChatMessage, Passage


@dataclass(frozen=True)
class Session:
    """Who talks, and in which conversation. "" is a name like any other: no tenant, an anonymous user.

    Nothing is remembered of a conversation without a `session_id`.
    """

    tenant: str = ""
    user_id: str = ""
    session_id: str = ""


class ContextStore(Protocol):
    """Nobody sees what belongs to another tenant or another user.

    Raises: Unavailable, from every method, when the store cannot be reached.
    """

    def append_turn(self, session: Session, question: str, answer: str) -> None: ...

    def last_turns(self, session: Session, turns: int) -> tuple[ChatMessage, ...]:
        """The newest `turns` turns, oldest first, two messages each."""
        ...

    def set_profile(self, tenant: str, user_id: str, profile: str) -> None:
        """An empty `profile` removes it."""
        ...

    def profile(self, tenant: str, user_id: str) -> str:
        """Empty where there is none."""
        ...

    def forget(self, tenant: str, user_id: str) -> None:
        """Remove the profile and every turn of one user."""
        ...


class PassageIndex(Protocol):
    def search(self, queries: Vectors, top_k: int) -> list[list[Passage]]:
        """The `top_k` nearest passages, best first, for each row of `queries` [n, dimension], rows of length 1."""
        ...


@dataclass(frozen=True)
class FixedIndex:
    """The fake: every query finds the same."""

    passages: tuple[Passage, ...] = ()

    def search(self, queries: Vectors, top_k: int) -> list[list[Passage]]:
        return [list(self.passages[:top_k]) for _ in queries]
