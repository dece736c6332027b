"""The real server: the product's own `chainserve serve`, as a subprocess on free ports."""

import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "engines" / "cpu"
COMMANDS = Path(sys.executable).parent
_START_S = 240


@dataclass
class Server:
    """`grpc`, `http` and `metrics` are "127.0.0.1:port", as tritonclient takes them."""

    http: str
    grpc: str
    metrics: str
    data_dir: Path
    process: "subprocess.Popen[str]"
    asked: bool = False
    said: str = ""

    def url(self, path: str) -> str:
        return f"http://{self.http}/{path.lstrip('/')}"

    @property
    def metrics_url(self) -> str:
        return f"http://{self.metrics}/metrics"

    def ask_to_stop(self) -> None:
        """As a person would, once: a second time would mean "at once"."""
        if not self.asked and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.asked = True

    def stop(self, timeout: float = 90) -> str:
        """What it printed since it was ready. Fails if it does not stop cleanly."""
        self.ask_to_stop()
        if not self.process.stdout.closed:
            self.said, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, self.said
        return self.said


def free_ports(count: int = 3) -> list[int]:
    """Below the range that outgoing connections take theirs from, so that none is taken before the server has it."""
    with ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            with suppress(OSError):
                port = random.randrange(20_000, 32_000)
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        return ports


def serve_command(ports: Sequence[int], data_dir: Path, *options: str) -> list[str]:
    flags = [f"--{name}-port={port}" for name, port in zip(("http", "grpc", "metrics"), ports, strict=True)]
    return [
        str(COMMANDS / "chainserve"),
        "serve",
        *flags,
        f"--data={data_dir}",
        f"--start-timeout={_START_S}",
        *options,
    ]


@contextmanager
def running_server(data_dir: Path, *options: str, ports: Sequence[int] | None = None) -> Iterator[Server]:
    ports = ports or free_ports()
    command = serve_command(ports, data_dir, *options)
    http, grpc, metrics = (f"127.0.0.1:{port}" for port in ports)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        server = Server(http, grpc, metrics, data_dir, process)
        try:
            _wait_ready(server)
            yield server
            server.stop()
        finally:
            process.kill()


def _wait_ready(server: Server) -> None:
    """The command says "ready" or ends; its output until then is the failure's text."""
    assert server.process.stdout is not None
    lines = []
    for line in server.process.stdout:
        lines.append(line)
        if ": ready on " in line:
            return
    pytest.fail("the server did not start:\n" + "".join(lines))
