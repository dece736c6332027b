import threading
from dataclasses import dataclass

from chainserve.triton_io.cancellation import CancelWatch


@dataclass(eq=False)
class Client:
    left: bool = False

    def gone(self) -> bool:
        return self.left


def test_only_who_left_is_reported_and_only_once() -> None:
    watch, told, second = CancelWatch(poll_s=0.001), [], threading.Event()

    def first_left() -> None:
        told.append("first")
        watch.add(Client(left=True), second.set)

    watch.add(Client(), lambda: told.append("nobody"))
    watch.add(Client(left=True), first_left)
    watch.start()
    assert second.wait(60)
    watch.stop()
    assert told == ["first"]


def test_who_was_removed_is_not_asked() -> None:
    watch, asked = CancelWatch(poll_s=0.001), threading.Event()
    removed = Client(left=True)
    watch.add(removed, lambda: None)
    watch.remove(removed)
    watch.add(Client(left=True), asked.set)
    watch.start()
    assert asked.wait(60)
    watch.stop()
