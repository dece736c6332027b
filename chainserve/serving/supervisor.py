"""One server from start to end."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chainserve.clock import MonotonicClock
from chainserve.environment import DRAINING_FILE
from chainserve.errors import Cancelled, NotFound, Unavailable
from chainserve.serving import probe
from chainserve.serving.command import server_command, server_environment
from chainserve.serving.installation import find_installation
from chainserve.serving.options import Profile, ServeOptions
from chainserve.serving.ports import check_ports
from chainserve.serving.process import ServerProcess
from chainserve.serving.shared_memory import shared_memory
from chainserve.serving.signals import Signals, caught_signals
from chainserve.serving.stubs import StubWatch

LOG = "tritonserver.log"
_POLL_S = 0.1
_WATCH_S = 0.3
# A request that Triton already took may not have reached the gauge yet, and an ensemble still has its last step to do.
_QUIET_S = 0.5
_UNLOAD_S = 5.0
_ENGINE_PROFILE = {Profile.CPU: "cpu", Profile.GPU: "fp8"}

Say = Callable[[str], None]


def serve(options: ServeOptions, say: Say) -> None:
    """Serve until a signal asks to stop, then drain. `say` gets each line meant for the person who started it.

    Raises:
        NotFound, Unsupported, InvalidInput: it cannot be started like this.
        Unavailable: a port is taken, a model failed to load, the server or a model's process died, or requests were cut
            at the end.
        Cancelled: stopped while loading, or told twice to stop.
    """
    _check(options)
    with caught_signals() as signals, _run_dir(options), shared_memory() as prefix:
        process = _start(options, prefix)
        server = Supervisor(options, say, process, signals, StubWatch(process.pid, MonotonicClock()))
        try:
            server.wait_ready()
            server.wait_for_signal()
            server.drain()
            server.stop()
        finally:
            server.process.kill()


def _check(options: ServeOptions) -> None:
    if not options.repository.is_dir():
        raise NotFound(f"no model repository at {options.repository}")
    needs_engine = (options.repository / "tensorrt_llm").is_dir()
    if needs_engine and not (options.engine_dir / "engine.json").is_file():
        build = f"chainserve-build engine --profile {_ENGINE_PROFILE[options.profile]}"
        raise NotFound(f"no engine in {options.engine_dir}: run `{build}`")
    check_ports(options.host, options.ports)


@contextmanager
def _run_dir(options: ServeOptions) -> Iterator[None]:
    """The run folder, ours alone while the server runs."""
    options.run_dir.mkdir(parents=True, exist_ok=True)
    with (options.run_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Unavailable(f"another server runs in {options.run_dir}: give it another --run-dir") from None
        (options.run_dir / DRAINING_FILE).unlink(missing_ok=True)
        yield


def _start(options: ServeOptions, prefix: str) -> ServerProcess:
    installation = find_installation(options.profile, options.run_dir)
    command = server_command(options, installation, prefix)
    return ServerProcess(command, server_environment(options, installation), options.run_dir / LOG)


@dataclass(frozen=True)
class Supervisor:
    options: ServeOptions
    say: Say
    process: ServerProcess
    signals: Signals
    stubs: StubWatch

    def wait_ready(self) -> None:
        self.say(f"loading models from {self.options.repository} (log: {self.process.log})")
        deadline = time.monotonic() + self.options.start_timeout
        while not probe.ready(self.options.host, self.options.ports.http):
            self._check_alive()
            if self.signals.wait(_POLL_S):
                raise Cancelled("stopped while loading")
            if time.monotonic() > deadline:
                raise Unavailable(f"not ready after {self.options.start_timeout:g} s [log: {self.process.log}]")
        self._check_healthy()
        ports = self.options.ports
        self.say(f"ready on {self.options.host}: http {ports.http}, grpc {ports.grpc}, metrics {ports.metrics}")

    def wait_for_signal(self) -> None:
        while not self.signals.wait(_WATCH_S):
            self._check_healthy()

    def drain(self) -> None:
        """Admit nothing new and let what runs finish: a BLS call after SIGTERM would fail with "Server not ready"."""
        (self.options.run_dir / DRAINING_FILE).touch()
        self.say("draining; once more to stop at once")
        deadline = time.monotonic() + self.options.drain_timeout
        quiet_since, shown = time.monotonic(), 0
        while (now := time.monotonic()) - quiet_since < _QUIET_S:
            self._check_healthy()
            held = probe.in_flight(self.options.host, self.options.ports.metrics)
            quiet_since = now if held else quiet_since
            shown = self._show(held, shown)
            if now > deadline:
                raise Unavailable(
                    f"{held} requests cut: not finished {self.options.drain_timeout:g} s after the signal"
                )
            self._pause()

    def stop(self) -> None:
        """Signal tritonserver; it waits itself for the requests that no gauge counts, then unloads the models.

        A client that keeps an idle gRPC stream open keeps a model from being unloaded, and tritonserver then hangs: by
        that time nothing runs any more, and it may be killed.
        """
        self.process.terminate()
        if not self._exits_within(self.options.exit_timeout, unless=self.process.models_stopped):
            self._exits_within(_UNLOAD_S)
        if not self.process.models_stopped():
            raise Unavailable(f"requests cut: not finished {self.options.exit_timeout} s after the drain")
        self.say("stopped")

    def _exits_within(self, seconds: float, unless: Callable[[], bool] = lambda: False) -> bool:
        deadline = time.monotonic() + seconds
        while self.process.exit_code() is None and time.monotonic() < deadline and not unless():
            self._pause()
        return self.process.exit_code() is not None

    def _show(self, held: int | None, shown: int) -> int:
        if held and held != shown:
            self.say(f"draining: {held} in flight")
        return held or shown

    def _pause(self) -> None:
        if self.signals.wait(_POLL_S):
            raise Cancelled("stopped at once, without waiting for running requests")

    def _check_alive(self) -> None:
        if self.process.exit_code() is not None:
            raise Unavailable(self.process.last_words())

    def _check_healthy(self) -> None:
        """While no model is being stopped: a dead one would hold its requests, and fail others, for ever."""
        self._check_alive()
        if dead := self.stubs.dead():
            raise Unavailable(f"{dead}, and Triton does not start it again: server stopped [log: {self.process.log}]")
