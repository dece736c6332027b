import threading

from chainserve.triton_io.loop import EventLoopThread


def test_blocking_calls_wait_in_the_pool_while_the_loop_goes_on() -> None:
    loop = EventLoopThread("test", workers=1)
    loop.start()
    gate = threading.Event()

    async def wait() -> bool:
        return await loop.blocking(lambda: gate.wait(timeout=60))

    async def open_gate() -> None:
        gate.set()

    waiting = loop.submit(wait())
    loop.submit(open_gate()).result(timeout=60)
    assert waiting.result(timeout=60) is True
    loop.stop()
