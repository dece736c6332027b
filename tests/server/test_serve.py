"""`chainserve serve` from outside: start, admin APIs, drain, and each way to fail."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from running_server import ROOT, Server, free_ports, running_server, serve_command
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.server

REPOSITORY = Path(__file__).parent / "ticker_repository"
TICKER = f"--model-repository={REPOSITORY}"
StartServer = Callable[..., Server]


class Stream:
    """A gRPC stream of the ticker."""

    def __init__(self, server: Server, count: int) -> None:
        self.events: Queue[Any] = Queue()
        self.client = grpc_client.InferenceServerClient(server.grpc)
        self.client.start_stream(lambda result, error: self.events.put(error or result))
        tensor = grpc_client.InferInput("count", [1, 1], "INT32")
        tensor.set_data_from_numpy(np.array([[count]], np.int32))
        self.client.async_stream_infer("ticker", [tensor], enable_empty_final_response=True)

    def __iter__(self) -> Iterator[int]:
        while True:
            event = self.events.get(timeout=30)
            if isinstance(event, Exception):
                raise event
            if event.get_response().parameters["triton_final_response"].bool_param:
                return
            yield int(event.as_numpy("number")[0, 0])

    def close(self) -> None:
        self.client.stop_stream(cancel_requests=True)
        self.client.close()


@pytest.fixture(scope="module")
def ticker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("ticker"), TICKER) as running:
        yield running


def post(url: str, headers: dict[str, str] | None = None, body: bytes = b"{}") -> tuple[int, str]:
    request = urllib.request.Request(url, data=body, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def failing(*options: str, ports: list[int] | None = None, data: Path) -> str:
    """The one line of a start that fails."""
    command = serve_command(ports or free_ports(), data, *options)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == 1
    return ended.stderr


def test_health_metadata_statistics_and_metrics_are_open(ticker: Server) -> None:
    client = grpc_client.InferenceServerClient(ticker.grpc)
    assert client.is_server_ready()
    assert client.get_model_metadata("ticker").name == "ticker"
    assert client.get_model_config("ticker").config.name == "ticker"
    assert client.get_inference_statistics("ticker").model_stats
    client.close()
    with urllib.request.urlopen(ticker.metrics_url, timeout=10) as answer:
        assert b'chainserve_in_flight{model="ticker"} 0' in answer.read()


@pytest.mark.parametrize(
    "path",
    [
        "v2/repository/index",
        "v2/repository/models/ticker/unload",
        "v2/repository/models/ticker/load",
        "v2/systemsharedmemory/region/mine/register",
        "v2/cudasharedmemory/region/mine/register",
        "v2/trace/setting",
        "v2/logging",
    ],
)
def test_admin_apis_are_closed_over_http(ticker: Server, path: str) -> None:
    status, body = post(ticker.url(path))
    assert status == 403
    assert "restricted" in body


def test_admin_apis_are_closed_over_grpc(ticker: Server) -> None:
    client = grpc_client.InferenceServerClient(ticker.grpc)
    calls: list[Callable[[], object]] = [
        client.get_model_repository_index,
        lambda: client.load_model("ticker"),
        lambda: client.unload_model("ticker"),
        lambda: client.register_system_shared_memory("mine", "/mine", 8),
        client.get_cuda_shared_memory_status,
        client.get_trace_settings,
        client.get_log_settings,
    ]
    for call in calls:
        with pytest.raises(InferenceServerException, match="restricted"):
            call()
    client.close()


def test_the_key_on_the_command_line_opens_nothing(ticker: Server) -> None:
    """Any local user can read it, and no protocol can carry it: it holds a line break."""
    key = admin_key(ticker)
    host, port = ticker.http.split(":")
    for sent in (key, key.replace("\n", "\r\n "), key.replace("\n", "\r\n\t"), key.replace("\n", " ")):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            head = f"POST /v2/repository/index HTTP/1.1\r\nHost: x\r\nchainserve-admin: {sent}\r\nContent-Length: 2\r\n"
            connection.sendall(head.encode() + b"Connection: close\r\n\r\n{}")
            assert b" 200 " not in connection.recv(4096).split(b"\r\n")[0]
    client = grpc_client.InferenceServerClient(ticker.grpc)
    for sent in (key.replace("\n", ""), key.replace("\n", " "), key.split("\n")[0]):
        with pytest.raises(InferenceServerException):
            client.get_model_repository_index(headers={"chainserve-admin": sent})
    client.close()


def admin_key(server: Server) -> str:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    arguments = Path(f"/proc/{children[0]}/cmdline").read_text().split("\0")
    return next(text for text in arguments if text.startswith("--http-restricted-api=")).split("chainserve-admin=")[1]


def test_admin_apis_can_be_opened(start_server: StartServer) -> None:
    server = start_server(TICKER, "--open-admin")
    status, body = post(server.url("v2/repository/index"))
    assert status == 200
    assert json.loads(body)[0]["state"] == "READY"
    assert post(server.url("v2/repository/models/ticker/unload"))[0] == 200


def test_a_running_stream_is_not_lost_at_the_end(start_server: StartServer) -> None:
    server = start_server(TICKER)
    stream = Stream(server, count=40)
    numbers = iter(stream)
    received = [next(numbers)]
    server.ask_to_stop()
    received += numbers
    assert received == list(range(40))
    # The client keeps its idle stream open: that must not hold the server back.
    assert "draining: 1 in flight" in server.stop()
    stream.close()


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    command = serve_command(free_ports(), tmp_path, TICKER)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(process, "ready on")
        server = Server(*addresses(command), tmp_path, process)
        stream = Stream(server, count=2000)
        next(iter(stream))
        process.send_signal(signal.SIGTERM)
        wait_for(process, "in flight")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        stream.close()
    assert process.returncode == 1
    assert "stopped at once" in errors


def test_requests_over_the_drain_timeout_are_cut_and_counted(tmp_path: Path) -> None:
    command = serve_command(free_ports(), tmp_path, TICKER, "--drain-timeout=0.2")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(process, "ready on")
        stream = Stream(Server(*addresses(command), tmp_path, process), count=2000)
        next(iter(stream))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        stream.close()
    assert process.returncode == 1
    assert "1 requests cut" in errors


def addresses(command: list[str]) -> tuple[str, str, str]:
    http, grpc, metrics = (f"127.0.0.1:{flag.split('=')[1]}" for flag in command if "-port=" in flag)
    return http, grpc, metrics


def wait_for(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), process.stderr


def test_it_starts_again_at_once_on_the_same_ports(start_server: StartServer, tmp_path: Path) -> None:
    ports = free_ports()
    first = start_server(TICKER, ports=ports, data_dir=tmp_path)
    first.stop()
    second = start_server(TICKER, ports=ports, data_dir=tmp_path)
    assert list(three_numbers(second)) == [0, 1, 2]


def three_numbers(server: Server) -> list[int]:
    stream = Stream(server, count=3)
    numbers = list(stream)
    stream.close()
    return numbers


def test_a_killed_supervisor_takes_the_server_with_it(tmp_path: Path, start_server: StartServer) -> None:
    ports = free_ports()
    command = serve_command(ports, tmp_path, TICKER)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for(process, "ready on")
        process.kill()
    wait_until_free(ports[0])
    assert three_numbers(start_server(TICKER, ports=ports, data_dir=tmp_path)) == [0, 1, 2]


def wait_until_free(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
    pytest.fail(f"port {port} is still in use")


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    ports = free_ports()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports[1]))
        taken.listen()
        assert failing(TICKER, ports=ports, data=tmp_path).startswith(f"chainserve: port {ports[1]} is in use")


def test_a_run_folder_in_use_is_one_line(ticker: Server, tmp_path: Path) -> None:
    run_dir = ticker.data_dir / "run" / ticker.http.split(":")[1]
    assert "another server runs in" in failing(TICKER, f"--run-dir={run_dir}", data=tmp_path)


def test_a_model_that_does_not_load_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "repository" / "broken"
    (broken / "1").mkdir(parents=True)
    config = (REPOSITORY / "ticker" / "config.pbtxt").read_text().replace('"ticker"', '"broken"')
    (broken / "config.pbtxt").write_text(config)
    (broken / "1" / "model.py").write_text("import no_such_module\n")
    line = failing(f"--model-repository={broken.parent}", data=tmp_path)
    assert "model broken: ModuleNotFoundError: No module named 'no_such_module'" in line
    assert "tritonserver.log" in line


def test_a_missing_engine_names_the_command_that_builds_it(tmp_path: Path) -> None:
    line = failing(f"--model-repository={ROOT / 'model_repository'}", f"--engine={tmp_path}", data=tmp_path)
    assert line == f"chainserve: no engine in {tmp_path}: run `chainserve-build engine --profile cpu`\n"


def test_a_missing_repository_is_one_line(tmp_path: Path) -> None:
    assert "no model repository at" in failing(f"--model-repository={tmp_path / 'none'}", data=tmp_path)


def test_the_gpu_profile_without_its_backend_is_one_line(tmp_path: Path) -> None:
    assert "TensorRT-LLM backend" in failing(TICKER, "--profile=gpu", data=tmp_path)


def test_a_dead_server_ends_the_command(tmp_path: Path) -> None:
    command = serve_command(free_ports(), tmp_path, TICKER)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for(process, "ready on")
        child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        os.kill(int(child), signal.SIGKILL)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "tritonserver was killed by SIGKILL" in errors


def test_nothing_stays_in_shared_memory(start_server: StartServer) -> None:
    server = start_server(TICKER)
    mine = shared_memory_of(server)
    assert len(mine) > 1
    server.stop()
    assert not any(file.exists() for file in mine)


def shared_memory_of(server: Server) -> list[Path]:
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    arguments = Path(f"/proc/{children[0]}/cmdline").read_text()
    prefix = arguments.split("shm-region-prefix-name=")[1].split("\0")[0]
    return list(Path("/dev/shm").glob(f"{prefix}*"))
