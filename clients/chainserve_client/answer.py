"""What comes back: the answer, its counts, and the server's report of how it was made."""

import json
from dataclasses import dataclass, field
from typing import Any

from chainserve_client.errors import ServerFailed


@dataclass(frozen=True)
class Usage:
    """Tokens, as the engine counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True)
class Stage:
    """One stage of the chain. Milliseconds since the request was admitted; `end_ms` is None if it never ended."""

    name: str
    start_ms: float
    end_ms: float | None = None
    outcome: str = "ok"


@dataclass(frozen=True)
class Report:
    """The report of the last response. `raw` is all of it: verdict, intent, tokens and what later servers add."""

    stages: tuple[Stage, ...] = ()
    total_ms: float = 0.0
    first_text_ms: float | None = None
    raw: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Raises ServerFailed if the text is not a report."""
        try:
            raw = json.loads(text)
            stages = tuple(_stage(entry) for entry in raw.get("stages", ()))
            return cls(stages, float(raw.get("total_ms", 0.0)), _optional(raw.get("first_text_ms")), raw)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServerFailed("the server sent a report that cannot be read") from error


def _stage(entry: dict[str, Any]) -> Stage:
    return Stage(
        name=str(entry["name"]),
        start_ms=float(entry["start_ms"]),
        end_ms=_optional(entry.get("end_ms")),
        outcome=str(entry.get("outcome", "ok")),
    )


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


@dataclass(frozen=True)
class Answer:
    """A whole answer.

    Attributes:
        text: what the user may read; a refusal is an answer too, with finish_reason "content_filter".
        finish_reason: stop, length, content_filter, tool_calls, cancelled or deadline; "" if the server named none.
        usage: tokens in and out.
        report: None if the model sends none.
        ttft_s: seconds from sending the request to the first text; None if there was no text.
        tokens_per_s: output tokens over `total_s`.
        total_s: seconds from sending the request to the end of the stream.
    """

    text: str
    finish_reason: str
    usage: Usage
    report: Report | None
    ttft_s: float | None
    tokens_per_s: float
    total_s: float
