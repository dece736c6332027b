"""How both clients reach the server."""

from collections.abc import Mapping
from typing import Any

from tritonclient.grpc import MAX_GRPC_MESSAGE_SIZE

DEFAULT_URL = "127.0.0.1:8001"
DEFAULT_MODEL = "chain"

CHANNEL_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_send_message_length", MAX_GRPC_MESSAGE_SIZE),
    ("grpc.max_receive_message_length", MAX_GRPC_MESSAGE_SIZE),
]


def metadata(headers: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Metadata of a call: the caller's headers (authorization, traceparent, ...)."""
    return tuple((name.lower(), value) for name, value in (headers or {}).items())
