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
# What Triton refuses before a model sees it comes without a code: most of it is the request's own fault.
_REFUSED: tuple[tuple[str, type[ChainClientError]], ...] = (
    (_DEADLINE_TEXT, DeadlineExceeded),
    ("unknown model", NotFound),
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


def from_message(text: str, *, by_model: bool) -> ChainClientError:
    """The error for a message inside a stream, which has no code.

    Args:
        text: Triton's message.
        by_model: a model sent it: the server ignored our request for status codes. Else Triton refused the request.
    """
    text = _one_line(text)
    otherwise: type[ChainClientError] = ServerFailed if by_model else InvalidRequest
    return next((kind for words, kind in _REFUSED if words in text.lower()), otherwise)(text)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
