import asyncio
import threading
from typing import Any

import triton_python_backend_utils as pb_utils

from chainserve.errors import Unavailable
from chainserve.triton_io.service import DecoupledModel, RequestSender


class Echo(DecoupledModel):
    """Answers once its gate is open; fails for a request named bad."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.start("echo", workers=1)

    async def answer(self, request: Any, sender: RequestSender) -> None:
        if request.request_id() == "bad":
            raise RuntimeError("secret")
        await self.gate.wait()
        sender.close([])

    def open(self) -> None:
        self.loop.call_soon(self.gate.set)


class Sender(pb_utils.ResponseSender):
    """Tells when it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.done = threading.Event()

    def send(self, response: Any = None, flags: int = 0) -> None:
        super().send(response, flags)
        if self.closed:
            self.done.set()


def ask(model: Echo, name: str = "good") -> Sender:
    sender = Sender()
    model.execute([pb_utils.Request({}, name, sender)])
    return sender


def test_many_requests_are_held_and_all_answered() -> None:
    model = Echo()
    senders = [ask(model) for _ in range(3)]
    model.open()
    assert all(sender.done.wait(60) for sender in senders)
    assert all(len(sender.sent) == 1 and not sender.sent[0].has_error() for sender in senders)
    model.finalize()


def test_a_failure_is_answered_without_its_secrets() -> None:
    model = Echo()
    sender = ask(model, "bad")
    assert sender.done.wait(60)
    assert sender.sent[0].error.message() == "server: internal error, see the log"
    model.finalize()


def test_a_client_that_left_ends_its_request() -> None:
    model = Echo()
    sender = ask(model)
    sender.cancelled = True
    assert sender.done.wait(60)
    assert sender.sent[0].error.code() == pb_utils.TritonError.CANCELLED
    model.finalize()


def test_an_error_closes_once() -> None:
    sender = pb_utils.ResponseSender()
    answer = RequestSender(sender)
    answer.fail(Unavailable("full"))
    answer.fail(Unavailable("again"))
    assert [r.error.code() for r in sender.sent] == [pb_utils.TritonError.UNAVAILABLE]
    assert sender.closed


def test_a_closed_request_is_not_asked_whether_its_client_left() -> None:
    answer = RequestSender(pb_utils.ResponseSender(cancelled=True))
    assert answer.gone()
    answer.close([])
    assert not answer.gone()
