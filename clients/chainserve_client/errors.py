"""Everything that can go wrong between a caller and the chain.

ChainClientError
├── InvalidRequest      INVALID_ARGUMENT   the request cannot be served as it is; the text names the field
├── NotFound            NOT_FOUND          no such model or session
├── Unsupported         UNIMPLEMENTED      this server cannot do that
├── Unavailable         UNAVAILABLE        full, draining or broken off: try again later or elsewhere
│   └── NoServer        UNAVAILABLE        nothing answers at that address
├── DeadlineExceeded    CANCELLED with "deadline exceeded", DEADLINE_EXCEEDED
├── Cancelled           CANCELLED          the caller or the server stopped the request
└── ServerFailed        every other code   the server broke, or sent what cannot be read
"""

from collections.abc import Collection

import grpc


class ChainClientError(Exception):
    """The root. The text is one line and names no internals."""


class InvalidRequest(ChainClientError):
    pass


class NotFound(ChainClientError):
    pass


class Unsupported(ChainClientError):
    pass


class Unavailable(ChainClientError):
    pass


class NoServer(Unavailable):
    pass


class DeadlineExceeded(ChainClientError):
    pass


class Cancelled(ChainClientError):
    pass


class ServerFailed(ChainClientError):
    pass


_BY_CODE: dict[grpc.StatusCode, type[ChainClientError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.UNIMPLEMENTED: Unsupported,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
}

# Triton has no deadline code: a passed deadline is CANCELLED with this text.
_DEADLINE_TEXT = "deadline exceeded"
# gRPC's words for a connection that never was: no listener, or no such host. The reason comes last.
_NO_SERVER = ("failed to connect to all addresses", "DNS resolution failed", "errors resolving")
# Triton puts errors into a stream as text, without a code. What it refuses itself is mostly the request's own fault.
_REFUSED: tuple[tuple[str, type[ChainClientError]], ...] = (
    (_DEADLINE_TEXT, DeadlineExceeded),
    ("cancelled by the client", Cancelled),
    ("unknown model", NotFound),
    ("lane is full", Unavailable),
    ("engine is full", Unavailable),
    ("engine is not running", Unavailable),
    ("going down", Unavailable),
    ("not ready", Unavailable),
    ("stopping", Unavailable),
    ("stopped accepting", Unavailable),
    ("unload", Unavailable),
)


def from_status(code: grpc.StatusCode, details: str | None, url: str) -> ChainClientError:
    """The error for a gRPC status that ended a call to `url`."""
    text = _one_line(details) or code.name.lower().replace("_", " ")
    if code is grpc.StatusCode.UNAVAILABLE and text.startswith(_NO_SERVER):
        return NoServer(f"no server at {url}: {text.rsplit(': ', 1)[-1].strip(']').lower()}")
    if code is grpc.StatusCode.CANCELLED and _DEADLINE_TEXT in text.lower():
        return DeadlineExceeded(text)
    return _BY_CODE.get(code, ServerFailed)(text)


def from_message(text: str, *, by_model: bool, inputs: Collection[str] = ()) -> ChainClientError:
    """The error for a message inside a stream, which has no code.

    Triton can be asked for status codes instead (`triton_grpc_error`), but release 24.10 crashes on some such streams.

    Args:
        text: Triton's message.
        by_model: a model sent it; else Triton refused the request.
        inputs: names of the model's inputs: a message that begins with one tells what is wrong with that input.
    """
    text = _one_line(text)
    if text.partition(": ")[0] in inputs:
        return InvalidRequest(text)
    otherwise: type[ChainClientError] = ServerFailed if by_model else InvalidRequest
    return next((kind for words, kind in _REFUSED if words in text.lower()), otherwise)(text)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
