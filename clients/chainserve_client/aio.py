"""The client for asyncio."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import grpc
from tritonclient.grpc import service_pb2_grpc

from chainserve_client.answer import Answer
from chainserve_client.channel import CHANNEL_OPTIONS, DEFAULT_MODEL, DEFAULT_URL, metadata
from chainserve_client.errors import Cancelled, from_status
from chainserve_client.options import NO_OPTIONS, ChainOptions, Question
from chainserve_client.progress import Progress
from chainserve_client.wire import build_request


class AsyncAnswerStream:
    """An answer while it is made: `async for` once over its pieces of text.

    Leaving the `async with` block, or `close`, cancels the request on the server at once; a loop left by `break` does
    so as soon as the event loop turns. `answer` holds what is known so far, and all of it after the end.
    """

    def __init__(self, call: Any, url: str) -> None:
        self._call, self._url = call, url
        self._progress = Progress()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Pieces of text, none of them empty. Raises a ChainClientError if the request fails."""
        try:
            async for response in self._call:
                if text := self._progress.take(response):
                    yield text
            self._progress.end()
        except grpc.RpcError as error:
            raise from_status(error.code(), error.details(), self._url) from None
        except asyncio.CancelledError:
            # gRPC raises it for `close` as well, which is not a cancellation of the task that reads.
            if self._task_is_cancelled():
                raise
            raise Cancelled("the caller closed the stream") from None
        finally:
            self.close()

    @staticmethod
    def _task_is_cancelled() -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    @property
    def answer(self) -> Answer:
        return self._progress.answer()

    def close(self) -> None:
        """Cancel the request if it still runs. More than once is fine."""
        self._progress.stop()
        if not self._progress.final:
            self._call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncChainClient:
    """Asks one model of one server over one gRPC channel, any number of streams at once. Arguments as for ChainClient.

    It belongs to the event loop that sends its first request.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        model: str = DEFAULT_MODEL,
        headers: Mapping[str, str] | None = None,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        self._url, self._model, self._metadata = url, model, metadata(headers)
        self._credentials = credentials
        self._channel: Any = None
        self._stub: Any = None

    async def ask(self, question: Question, options: ChainOptions = NO_OPTIONS, **changes: Any) -> Answer:
        """As ChainClient.ask."""
        stream = self._start(question, replace(options, **changes), stream=False)
        async for _ in stream:
            pass
        return stream.answer

    def stream(self, question: Question, options: ChainOptions = NO_OPTIONS, **changes: Any) -> AsyncAnswerStream:
        """As ChainClient.stream; call it where an event loop runs."""
        return self._start(question, replace(options, **changes), stream=True)

    def _start(self, question: Question, options: ChainOptions, *, stream: bool) -> AsyncAnswerStream:
        request = build_request(self._model, question, options, stream=stream)
        call = self._connected().ModelStreamInfer(iter([request]), metadata=self._metadata)
        return AsyncAnswerStream(call, self._url)

    def _connected(self) -> Any:
        # An aio channel ties itself to the running loop: it is made with the first request, not with the client.
        if self._stub is None:
            self._channel = (
                grpc.aio.secure_channel(self._url, self._credentials, options=CHANNEL_OPTIONS)
                if self._credentials
                else grpc.aio.insecure_channel(self._url, options=CHANNEL_OPTIONS)
            )
            self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)
        return self._stub

    async def close(self) -> None:
        """Cancel what still runs, and close the channel."""
        if self._channel is not None:
            await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
