"""What is known of an answer while it streams: shared by the sync and the async stream."""

import time
from dataclasses import dataclass, field
from typing import Any

from chainserve_client.answer import Answer, Report, Usage
from chainserve_client.errors import ChainClientError, Unavailable
from chainserve_client.wire import Piece, read_response


def _added(before: Usage, new: Usage) -> Usage:
    """The chain counts once, in its last response; `ensemble` counts the output of each response."""
    return Usage(new.input_tokens, before.output_tokens + new.output_tokens)


@dataclass
class Progress:
    """Collects pieces. All times are seconds since the request was sent.

    After `final` the server ends the stream by itself. It is not cancelled then, and an error inside of it is raised at
    its end: Triton 24.10 can crash when a cancellation meets the end of a stream.
    """

    started: float = field(default_factory=time.perf_counter)
    texts: list[str] = field(default_factory=list)
    finish_reason: str = ""
    usage: Usage = field(default_factory=Usage)
    report: Report | None = None
    ttft_s: float | None = None
    total_s: float | None = None
    final: bool = False
    failure: ChainClientError | None = None

    def take(self, response: Any) -> str:
        """Take in one response; its text. An error that it carries is kept for `end`."""
        try:
            return self._add(read_response(response))
        except ChainClientError as error:
            self.failure, self.final = self.failure or error, True
            return ""

    def _add(self, piece: Piece) -> str:
        if piece.text:
            self.texts.append(piece.text)
            self.ttft_s = self.elapsed_s() if self.ttft_s is None else self.ttft_s
        self.finish_reason = piece.finish_reason or self.finish_reason
        self.usage = self.usage if piece.usage is None else _added(self.usage, piece.usage)
        self.report = piece.report or self.report
        self.final = piece.final
        return piece.text

    def end(self) -> None:
        """The stream is over. Raises the error it carried; Unavailable if it broke off before its last response."""
        self.stop()
        if self.failure is not None:
            raise self.failure
        if not self.final:
            raise Unavailable("the answer broke off before its end")

    def stop(self) -> None:
        """Nothing more will come: the answer stays what it was."""
        if self.total_s is None:
            self.total_s = self.elapsed_s()

    def elapsed_s(self) -> float:
        return time.perf_counter() - self.started

    def answer(self) -> Answer:
        total_s = self.elapsed_s() if self.total_s is None else self.total_s
        return Answer(
            text="".join(self.texts),
            finish_reason=self.finish_reason,
            usage=self.usage,
            report=self.report,
            ttft_s=self.ttft_s,
            tokens_per_s=self.usage.output_tokens / total_s if total_s > 0 else 0.0,
            total_s=total_s,
        )
