"""A model's process dies, as by a crash or for want of memory: nobody waits for ever, and the server ends."""

import os
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running_server import Server, free_ports, serve_command

from chainserve_client import ChainClient, ChainClientError

pytestmark = pytest.mark.server

LONG = {"max_tokens": 400, "min_tokens": 400}


@contextmanager
def serving(data_dir: Path, *options: str) -> Iterator["tuple[subprocess.Popen[str], list[int]]"]:
    """A server that need not end well, and its ports."""
    ports = free_ports()
    command = serve_command(ports, data_dir, *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert any("ready on" in line for line in process.stdout or ())
            yield process, ports
        finally:
            process.terminate()


def stub(data_dir: Path, ports: list[int], model: str) -> int:
    started_from = str(data_dir / "run" / str(ports[0]))
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        command = file.read_text(errors="replace")
        if command.startswith(started_from) and f"/{model}/1/model.py" in command:
            return int(file.parent.name)
    pytest.fail(f"{model} has no process")


def test_whoever_waits_for_the_chain_is_told(data_dir: Path) -> None:
    with (
        serving(data_dir) as (process, ports),
        ChainClient(f"127.0.0.1:{ports[1]}") as client,
        client.stream("Tell me a long story about a lighthouse.", **LONG) as answer,
    ):
        pieces = iter(answer)
        next(pieces)
        os.kill(stub(data_dir, ports, "chain"), signal.SIGKILL)
        _, errors = process.communicate(timeout=30)
        with pytest.raises(ChainClientError):
            list(pieces)
    assert process.returncode == 1
    assert errors.startswith("chainserve: the process of model chain was killed by SIGKILL, and Triton does not start")
    assert errors.count("\n") == 1


def test_a_model_that_answers_at_once_is_not_started_again_either(tmp_path: Path) -> None:
    with serving(tmp_path, "--model=moderation") as (process, ports):
        os.kill(stub(tmp_path, ports, "moderation"), signal.SIGSEGV)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the process of model moderation was killed by SIGSEGV" in errors


def test_a_model_that_is_unloaded_did_not_die(start_server: Callable[..., Server]) -> None:
    server = start_server("--model=intent", "--open-admin")
    for action in ("unload", "load"):
        request = urllib.request.Request(server.url(f"v2/repository/models/intent/{action}"), data=b"{}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200
    assert "stopped" in server.stop()
