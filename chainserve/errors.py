"""Every error that may reach a client.

ChainserveError
├── InvalidInput          INVALID_ARG   names the field, the limit and the kind of the value
├── NotFound              NOT_FOUND     a file, a model or a session that should be there is not
├── Unsupported           UNSUPPORTED   well formed, but this build cannot do it
├── Unavailable           UNAVAILABLE   full, draining, or a breaker is open: try again elsewhere or later
│   └── EngineDead        UNAVAILABLE   the engine is gone; the model is unready until it is loaded again
├── DeadlineExceeded      CANCELLED     "deadline exceeded", and the stage that held the request
├── Cancelled             CANCELLED     the client went away, or asked to stop
└── StageFailed           INTERNAL      a stage broke; the text names the stage and nothing else

A refusal is not an error: it is an answer with `finish_reason=content_filter`.
"""

from typing import ClassVar


class ChainserveError(Exception):
    """The root. `code` is the name of the Triton error code."""

    code: ClassVar[str] = "INTERNAL"


class InvalidInput(ChainserveError):
    """The client sent something that cannot be served.

    Args:
        field: name of the tensor or of the configuration key.
        problem: what is wrong, with the limit and the kind of the value; never the value itself, it may be private.
    """

    code = "INVALID_ARG"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class NotFound(ChainserveError):
    code = "NOT_FOUND"


class Unsupported(ChainserveError):
    code = "UNSUPPORTED"


class Unavailable(ChainserveError):
    code = "UNAVAILABLE"


class EngineDead(Unavailable):
    BEGINNING: ClassVar[str] = "the engine is not running"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{self.BEGINNING}: {reason}")


class DeadlineExceeded(ChainserveError):
    code = "CANCELLED"

    def __init__(self, stage: str) -> None:
        super().__init__(f"deadline exceeded in {stage}")
        self.stage = stage


class Cancelled(ChainserveError):
    code = "CANCELLED"

    def __init__(self, reason: str = "cancelled by the client") -> None:
        super().__init__(reason)


class StageFailed(ChainserveError):
    """A stage failed in a way the client cannot mend. The cause goes to the server's log, not to the client."""

    def __init__(self, stage: str, reason: str = "failed") -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage


def public_error(error: BaseException) -> ChainserveError:
    """The error a client may see: our own as it is, anything else without its text."""
    return error if isinstance(error, ChainserveError) else StageFailed("server", "internal error, see the log")
