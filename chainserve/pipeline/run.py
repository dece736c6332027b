"""What is known of one request while it runs, and the report it ends with."""

from dataclasses import dataclass, field

from chainserve.deadline import Deadline
from chainserve.messages import AnswerChunk, ChainRequest, FinishReason, Intent, Prompt, Usage, Verdict
from chainserve.timeline import Timeline


@dataclass
class Run:
    """`tokens_at` remembers how many tokens made the first n characters: what was not released was wasted."""

    request: ChainRequest
    deadline: Deadline
    timeline: Timeline
    verdict: Verdict | None = None
    intent: Intent | None = None
    prompt: Prompt | None = None
    first_text_ms: float | None = None
    output_tokens: int = 0
    answer: str = ""
    tokens_at: list[tuple[int, int]] = field(default_factory=list)

    def count(self, tokens: int, characters: int) -> None:
        """`tokens` more came out of the engine, and the text is now `characters` long."""
        self.output_tokens += tokens
        self.tokens_at.append((characters, self.output_tokens))

    def chunk(self, text: str) -> AnswerChunk:
        """Cleared text on its way to the client."""
        if self.first_text_ms is None:
            self.first_text_ms = round(self.timeline.elapsed_ms(), 3)
        self.answer += text
        return AnswerChunk(text)

    def last(self, finish: FinishReason) -> AnswerChunk:
        return AnswerChunk("", finish, self.usage(finish), self.report(finish))

    def usage(self, finish: FinishReason) -> Usage:
        """A complete answer wastes nothing: what a stop word cut off belongs to it."""
        complete = finish in {FinishReason.STOP, FinishReason.LENGTH}
        released = max((n for at, n in self.tokens_at if at <= len(self.answer)), default=0)
        wasted = 0 if complete else self.output_tokens - released
        return Usage(len(self.prompt.ids) if self.prompt else 0, self.output_tokens, wasted)

    def report(self, finish: FinishReason) -> dict[str, object]:
        usage = self.usage(finish)
        return {
            "request_id": self.request.request_id,
            "finish_reason": finish.value,
            "total_ms": round(self.timeline.elapsed_ms(), 3),
            "first_text_ms": self.first_text_ms,
            "verdict": _verdict(self.verdict),
            "intent": _intent(self.intent),
            "tokens": {"input": usage.input, "output": usage.output, "wasted": usage.wasted},
            "stages": self.timeline.report(),
        }


def _verdict(verdict: Verdict | None) -> dict[str, object] | None:
    if verdict is None:
        return None
    return {"flagged": verdict.flagged, "category": verdict.category, "source": verdict.source}


def _intent(intent: Intent | None) -> dict[str, object] | None:
    if intent is None:
        return None
    return {
        "name": intent.name,
        "route": intent.route,
        "confidence": round(intent.confidence, 4),
        "source": intent.source,
    }
