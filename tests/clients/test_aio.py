import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from fake_triton import PIECES, FakeTriton, fake_triton

from chainserve_client import AsyncChainClient, Cancelled, ChainClientError, InvalidRequest, NoServer, Unavailable


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as fake:
        yield fake


def run(url: str, body: Callable[[AsyncChainClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncChainClient(url) as client:
            await body(client)

    asyncio.run(main())


async def cancelled(triton: FakeTriton) -> bool:
    return await asyncio.to_thread(triton.cancelled.wait, 10)


def test_ask(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        answer = await client.ask("hello", max_tokens=5)
        assert (answer.text, answer.finish_reason) == ("".join(PIECES), "stop")
        assert triton.seen[0]["stream"] == [False]

    run(triton.url, body)


def test_stream(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        stream = client.stream("hello")
        assert [piece async for piece in stream] == PIECES
        assert stream.answer.usage.output_tokens == 5
        assert stream.answer.report is not None

    run(triton.url, body)


def test_many_streams_at_once(triton: FakeTriton) -> None:
    async def whole(client: AsyncChainClient, number: int) -> str:
        return "".join([piece async for piece in client.stream(f"together {number}")])

    async def body(client: AsyncChainClient) -> None:
        answers = await asyncio.gather(*(whole(client, number) for number in range(8)))
        assert answers == [f"{number} met" for number in range(8)]
        assert len(triton.peers) == 1

    run(triton.url, body)


def test_leaving_the_loop_cancels(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        stream = client.stream("endless")
        async for _ in stream:
            break
        assert await cancelled(triton)
        assert stream.answer.text == "once "

    run(triton.url, body)


def test_leaving_the_block_cancels(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        async with client.stream("endless") as stream:
            assert await anext(aiter(stream)) == "once "
        assert await cancelled(triton)

    run(triton.url, body)


def test_cancelled_task_cancels_the_request_and_stays_cancelled(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in client.stream("endless"):
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await cancelled(triton)

    run(triton.url, body)


def test_close_ends_the_loop_of_another_task(triton: FakeTriton) -> None:
    async def body(client: AsyncChainClient) -> None:
        stream = client.stream("endless")
        pieces = aiter(stream)
        await anext(pieces)
        asyncio.get_running_loop().call_soon(stream.close)
        with pytest.raises(Cancelled, match="the caller closed the stream"):
            await anext(pieces)

    run(triton.url, body)


@pytest.mark.parametrize(
    ("question", "error"),
    [("refuse INVALID_ARGUMENT top_p: 2", InvalidRequest), ("broken", Unavailable), ("message what", InvalidRequest)],
)
def test_failure(triton: FakeTriton, question: str, error: type[ChainClientError]) -> None:
    async def body(client: AsyncChainClient) -> None:
        with pytest.raises(error):
            await client.ask(question)

    run(triton.url, body)


def test_nobody_listens() -> None:
    async def body(client: AsyncChainClient) -> None:
        with pytest.raises(NoServer, match="no server at 127.0.0.1:1: connection refused"):
            await client.ask("hello")

    run("127.0.0.1:1", body)


def test_client_that_never_asked_closes() -> None:
    asyncio.run(AsyncChainClient("127.0.0.1:1").close())
