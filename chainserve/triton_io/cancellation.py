"""Noticing that a client is gone. Triton tells nobody: each open request has to be asked."""

import threading
from collections.abc import Callable
from typing import Protocol

# The engine's slot is to be free within 50 ms; asking costs a message to the server's process and back.
POLL_S = 0.02


class Leaver(Protocol):
    def gone(self) -> bool:
        """Whether the client has left. Called from the watching thread."""
        ...


class CancelWatch:
    """One thread asks for all requests of a model, so that no event loop waits for the answers."""

    def __init__(self, poll_s: float = POLL_S) -> None:
        self._poll_s = poll_s
        self._watched: dict[Leaver, Callable[[], None]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cancel-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def add(self, client: Leaver, on_gone: Callable[[], None]) -> None:
        """Call `on_gone` once, from the watching thread, when `client` has left."""
        self._watched[client] = on_gone

    def remove(self, client: Leaver) -> None:
        self._watched.pop(client, None)

    def _run(self) -> None:
        while not self._stopped.wait(self._poll_s):
            for client in tuple(self._watched):
                if client.gone():
                    on_gone = self._watched.pop(client, None)
                    if on_gone is not None:
                        on_gone()
