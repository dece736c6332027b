"""`release`: the last step of chain_ensemble. Text leaves only if the question and the answer both passed the guard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chainserve.config import Settings, load_toml
from chainserve.guards.refusal import Refusals
from chainserve.messages import FinishReason, Usage
from chainserve.triton_io.answers import answer_tensors
from chainserve.triton_io.batch import run_batch
from chainserve.triton_io.environment import version_dir
from chainserve.triton_io.tensors import RequestTensors, required


@dataclass(frozen=True)
class Judged:
    """One answer and what the guard said of its question and of itself."""

    question: str
    text: str
    max_tokens: int
    input_category: str | None
    output_category: str | None
    intent: str
    route: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Released:
    text: str
    finish_reason: FinishReason
    judged: Judged

    def report(self) -> dict[str, object]:
        """As `chain` reports, less what a static ensemble cannot know: it has no clock and no request id."""
        judged = self.judged
        category = judged.input_category if judged.input_category is not None else judged.output_category
        wasted = judged.output_tokens if self.finish_reason is FinishReason.CONTENT_FILTER else 0
        return {
            "finish_reason": self.finish_reason.value,
            "verdict": {"flagged": category is not None, "category": category or "", "source": "moderation"},
            "intent": {"name": judged.intent, "route": judged.route, "source": "classifier"},
            "tokens": {"input": judged.input_tokens, "output": judged.output_tokens, "wasted": wasted},
        }


def decide(judged: Judged, refusals: Refusals) -> Released:
    """The answer as it is, or the refusal of what was flagged first."""
    for category in (judged.input_category, judged.output_category):
        if category is not None:
            return Released(refusals.text(category, judged.question), FinishReason.CONTENT_FILTER, judged)
    full = judged.output_tokens >= judged.max_tokens
    return Released(judged.text, FinishReason.LENGTH if full else FinishReason.STOP, judged)


class ReleasePolicy(Settings):
    """release.toml; `refusals` is a path relative to it."""

    refusals: str


class ReleaseModel:
    def initialize(self, args: dict[str, Any]) -> None:
        home = version_dir(args)
        policy = load_toml(home / "release.toml", ReleasePolicy)
        self._refusals = load_toml(home / policy.refusals, Refusals)

    def execute(self, requests: list[Any]) -> list[Any]:
        return run_batch(requests, _decode, self._decide, _encode)

    def _decide(self, rows: list[Judged]) -> list[Released]:
        return [decide(judged, self._refusals) for judged in rows]


def _decode(tensors: RequestTensors) -> list[Judged]:
    """One row: the model's batch size is 1."""
    return [
        Judged(
            question=required(tensors.text("question")),
            text=required(tensors.text("text")),
            max_tokens=required(tensors.integer("request_output_len")),
            input_category=_flagged(tensors, "input"),
            output_category=_flagged(tensors, "output"),
            intent=required(tensors.text("intent")),
            route=required(tensors.text("route")),
            input_tokens=required(tensors.integer("input_tokens")),
            output_tokens=required(tensors.integer("output_tokens")),
        )
    ]


def _flagged(tensors: RequestTensors, side: str) -> str | None:
    """The category, or None when that side is clean."""
    flagged = required(tensors.flag(f"{side}_flagged"))
    return required(tensors.text(f"{side}_category")) if flagged else None


def _encode(rows: Sequence[Released]) -> list[Any]:
    released = rows[0]
    return answer_tensors(
        released.text,
        released.finish_reason,
        Usage(released.judged.input_tokens, released.judged.output_tokens),
        released.report(),
    )
