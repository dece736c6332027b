"""The client for threads."""

from collections.abc import Iterator, Mapping
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


class AnswerStream:
    """An answer while it is made: iterate once over its pieces of text.

    Leaving the loop early, leaving the `with` block, or `close` cancels the request on the server. `answer` holds what
    is known so far, and all of it after the end.
    """

    def __init__(self, call: Any, url: str) -> None:
        self._call, self._url = call, url
        self._progress = Progress()

    def __iter__(self) -> Iterator[str]:
        """Pieces of text, none of them empty. Raises a ChainClientError if the request fails."""
        # A generator: when a loop is left by `break`, Python closes it, which lands in `finally`.
        try:
            for response in self._call:
                if text := self._progress.take(response):
                    yield text
            self._progress.end()
        except grpc.RpcError:
            # The call, unlike the exception, knows of a cancellation by `close` in another thread.
            raise self._failure() from None
        finally:
            self.close()

    def _failure(self) -> Exception:
        if self._progress.total_s is not None:
            return Cancelled("the caller closed the stream")
        return from_status(self._call.code(), self._call.details(), self._url)

    @property
    def answer(self) -> Answer:
        return self._progress.answer()

    def close(self) -> None:
        """Cancel the request if it still runs. Safe from any thread, and more than once."""
        self._progress.stop()
        if not self._progress.final:
            self._call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ChainClient:
    """Asks one model of one server over one gRPC channel. Safe from any number of threads at once.

    Args:
        url: host:port of the server's gRPC endpoint.
        model: chain, or a model with the same names: chain_ensemble, ensemble.
        headers: sent with every request, e.g. authorization.
        credentials: for TLS; plain text without.
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
        self._channel = (
            grpc.secure_channel(url, credentials, options=CHANNEL_OPTIONS)
            if credentials
            else grpc.insecure_channel(url, options=CHANNEL_OPTIONS)
        )
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    def ask(self, question: Question, options: ChainOptions = NO_OPTIONS, **changes: Any) -> Answer:
        """The whole answer in one response.

        Args:
            question: one question, or messages in OpenAI's form.
            options: what to ask for.
            **changes: single options by name, over `options`.

        Raises:
            ChainClientError: the request failed; errors.py draws the tree.
        """
        stream = self._start(question, replace(options, **changes), stream=False)
        for _ in stream:
            pass
        return stream.answer

    def stream(self, question: Question, options: ChainOptions = NO_OPTIONS, **changes: Any) -> AnswerStream:
        """The answer piece by piece: the request is sent now. Arguments as for `ask`.

        Raises:
            InvalidRequest: an option does not fit; every other error is raised by the loop over the stream.
        """
        return self._start(question, replace(options, **changes), stream=True)

    def _start(self, question: Question, options: ChainOptions, *, stream: bool) -> AnswerStream:
        # tritonclient's own client allows one stream at a time: the stub below it has one call a request.
        request = build_request(self._model, question, options, stream=stream)
        return AnswerStream(self._stub.ModelStreamInfer(iter([request]), metadata=self._metadata), self._url)

    def close(self) -> None:
        """Cancel what still runs, and close the channel."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
