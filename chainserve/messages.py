"""The typed messages that rooms hand to each other. Frozen; nothing here does any work."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"


@dataclass(frozen=True)
class ChatMessage:
    role: Role
    content: str


@dataclass(frozen=True)
class Guide:
    """Guided decoding: the output follows a grammar."""

    kind: Literal["json", "json_schema", "regex", "ebnf_grammar"]
    text: str = ""


@dataclass(frozen=True)
class Sampling:
    """How to decode. `None` leaves the engine's own default; greedy unless `top_k` or `top_p` says otherwise."""

    max_tokens: int
    min_tokens: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop_words: tuple[str, ...] = ()
    bad_words: tuple[str, ...] = ()
    guide: Guide | None = None


@dataclass(frozen=True)
class ChainRequest:
    """One admitted request: everything in it is valid."""

    request_id: str
    messages: tuple[ChatMessage, ...]
    sampling: Sampling
    stream: bool = False
    user_id: str = ""
    session_id: str = ""
    tenant: str = ""
    timeout_ms: int | None = None
    priority: Literal["interactive", "batch"] = "interactive"

    @property
    def question(self) -> str:
        """The text the classifier and the search look at: the last user message."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def untrusted_text(self) -> str:
        """The text the guard looks at: all that the client sent, less the application's own instructions."""
        return "\n".join(message.content for message in self.messages if message.role != "system")


@dataclass(frozen=True)
class Intent:
    """`name` is a label or "" when abstained; `source` says who decided: classifier, default."""

    name: str
    route: str
    confidence: float = 0.0
    source: str = "classifier"


@dataclass(frozen=True)
class Verdict:
    """`category` is the top flagged category, "" when clean; `scores` [n_categories] in the documented order."""

    flagged: bool
    category: str = ""
    scores: tuple[float, ...] = ()
    source: str = "moderation"


@dataclass(frozen=True)
class Passage:
    """A piece of a document; `score` is a cosine in [-1, 1]."""

    text: str
    source: str
    score: float = 0.0


@dataclass(frozen=True)
class Context:
    """What is known beside the question."""

    profile: str = ""
    history: tuple[ChatMessage, ...] = ()
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Prompt:
    """The assembled prompt, as text and as token ids of the engine's tokenizer."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Tokens:
    """An increment of the engine's output. `final` ends the stream and may come with no ids."""

    ids: tuple[int, ...]
    final: bool = False


@dataclass(frozen=True)
class Usage:
    """Tokens. `wasted` were computed and never left: refused, cancelled, mis-speculated."""

    input: int = 0
    output: int = 0
    wasted: int = 0


@dataclass(frozen=True)
class AnswerChunk:
    """What leaves towards the client. The last one has a finish reason and the report."""

    text: str
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    report: dict[str, object] = field(default_factory=dict)
