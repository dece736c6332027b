"""Client library: ask a served chain, stream its answers. It stands alone: tritonclient, numpy and rich below it.

with ChainClient("127.0.0.1:8001") as client, client.stream("What is the capital of France?") as answer:
    for piece in answer:
        print(piece, end="", flush=True)
"""

from chainserve_client.aio import AsyncAnswerStream, AsyncChainClient
from chainserve_client.answer import Answer, Report, Stage, Usage
from chainserve_client.client import AnswerStream, ChainClient
from chainserve_client.errors import (
    Cancelled,
    ChainClientError,
    DeadlineExceeded,
    InvalidRequest,
    NoServer,
    NotFound,
    ServerFailed,
    Unavailable,
    Unsupported,
)
from chainserve_client.options import ChainOptions, Question
from chainserve_client.waterfall import Waterfall

__all__ = [
    "Answer",
    "AnswerStream",
    "AsyncAnswerStream",
    "AsyncChainClient",
    "Cancelled",
    "ChainClient",
    "ChainClientError",
    "ChainOptions",
    "DeadlineExceeded",
    "InvalidRequest",
    "NoServer",
    "NotFound",
    "Question",
    "Report",
    "ServerFailed",
    "Stage",
    "Unavailable",
    "Unsupported",
    "Usage",
    "Waterfall",
]
