#!/usr/bin/env python
"""What Triton costs the CPU engine: tokens per second through Triton over tokens per second without it.

One run measures both, turn by turn, so that whatever else the machine does hits both alike:

- *alone* (bench_engine_alone.py): a process with the pipeline and nothing else. It adds the prompts, steps, and reads
  the new ids after each step, as the engine's process does. Same engine folder, engine.toml, prompts, greedy decoding.
- *Triton*: this script starts `chainserve serve` with the `tensorrt_llm` model only and sends the same prompts over one
  gRPC stream, streaming on. The client (bench_engine_client.py) shares the cores with the server, so it does as little
  as it can: less than 0.1 ms a message, where gRPC's Python client takes 0.2 ms.

A turn is n prompts at once, 120 ids each, none shared, 64 output ids each with no end id, so that both sides compute
the same number of tokens. Its rate is all output ids over the time from the first prompt sent to the last id read:
prefill is inside. The ratio at n streams is the median over the rounds of Triton's rate over the other's rate of the
same round. Order changes from round to round.

`prefix_ttft_ratio` is through Triton: time to the first id of a prompt of 400 ids whose first 350 were just used, over
that of a prompt that nothing was used of (medians).

    scripts/bench_engine.py --json OUT [--rounds 11] [--streams 1,8,16]
"""

import argparse
import json
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_engine_client import LeanStreams
from tritonclient.grpc import service_pb2

from chainserve.tokenizer import Tokenizer

ROOT = Path(__file__).parents[1]
PROMPT, OUTPUT = 120, 64
SHARED, LONG = 350, 400
TEXT = (
    "the city river old stone bridge market morning people walk slowly under grey "
    "sky children play music bread coffee window light story about machine language number "
    "answer question teacher science water mountain small house garden winter summer letter friend "
    "journey road train station night star dream history book paper colour green blue "
    "voice song island ocean wind cloud rain field farm horse bird tree forest "
    "leaf "
)


@dataclass(frozen=True)
class Turn:
    """Output ids and seconds of one measurement."""

    tokens: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds


class Prompts:
    """Prompts of plain English words, each different from its first word on; the same for the same seed."""

    def __init__(self, engine_dir: Path) -> None:
        self._tokenizer, self._random = Tokenizer.load(engine_dir), random.Random(7)

    def new(self, length: int) -> list[int]:
        words = [str(self._random.randrange(10**6)), *self._random.choices(TEXT.split(), k=length)]
        return self._tokenizer.encode(" ".join(words))[:length]


class Alone:
    """The pipeline in a process of its own, driven over its standard input and output."""

    def __init__(self, engine_dir: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, ROOT / "scripts/bench_engine_alone.py", engine_dir, str(OUTPUT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, prompts: list[list[int]]) -> Turn:
        if not (self._process.stdin and self._process.stdout):
            raise SystemExit("the pipeline's process has no pipes")
        print(json.dumps(prompts), file=self._process.stdin, flush=True)
        return Turn(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


class ThroughTriton:
    """Prompts over one gRPC stream. Messages are taken apart after the clock has stopped."""

    def __init__(self, port: int) -> None:
        self._streams = LeanStreams(port)

    def turn(self, prompts: list[list[int]]) -> Turn:
        requests = [_request(ids, OUTPUT) for ids in prompts]
        start = time.perf_counter()
        arrivals = self._streams.receive(self._streams.send(requests))
        seconds = time.perf_counter() - start
        return Turn(sum(map(_ids_in, arrivals.messages())), seconds)

    def first_token(self, ids: list[int]) -> float:
        """Seconds to the first id of a prompt."""
        start = time.perf_counter()
        stream = self._streams.send([_request(ids, 2)])
        self._streams.receive(stream, first_only=True)
        seconds = time.perf_counter() - start
        self._streams.receive(stream)
        return seconds

    def close(self) -> None:
        self._streams.close()


def _request(ids: list[int], output: int) -> Any:
    request = service_pb2.ModelInferRequest(model_name="tensorrt_llm")
    for name, values, shape in (
        ("input_ids", ids, [1, len(ids)]),
        ("input_lengths", [len(ids)], [1, 1]),
        ("request_output_len", [output], [1, 1]),
        ("end_id", [-1], [1, 1]),
    ):
        request.inputs.add(name=name, datatype="INT32", shape=shape).contents.int_contents.extend(values)
    request.inputs.add(name="streaming", datatype="BOOL", shape=[1, 1]).contents.bool_contents.append(True)
    return request


def _ids_in(answer: Any) -> int:
    if answer.error_message:
        raise SystemExit(f"the server answered: {answer.error_message}")
    return next(tensor.shape[2] for tensor in answer.infer_response.outputs if tensor.name == "output_ids")


@contextmanager
def triton(engine_dir: Path) -> Iterator[int]:
    """A server with the engine alone; gives its gRPC port, and ends it whatever happens."""
    http, grpc_port, metrics = _free_ports(3)
    with tempfile.TemporaryDirectory() as run_dir:
        command = ["chainserve", "serve", "--profile=cpu", "--model=tensorrt_llm", f"--engine={engine_dir}"]
        ports = [f"--http-port={http}", f"--grpc-port={grpc_port}", f"--metrics-port={metrics}"]
        path = Path(sys.executable).parent / command[0]
        log = (Path(run_dir) / "server.log").open("wb")
        server = subprocess.Popen(
            [path, *command[1:], *ports, f"--run-dir={run_dir}"], stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_ready(server, http, Path(log.name))
            yield grpc_port
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=90)


def _wait_until_ready(server: Any, http: int, log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{http}/v2/health/ready", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server was not ready after two minutes")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def measure(alone: Alone, server: ThroughTriton, prompts: Prompts, streams: list[int], rounds: int) -> dict[str, float]:
    """Ratio at each number of streams."""
    ratios: dict[int, list[float]] = {count: [] for count in streams}
    for place in range(rounds + 1):
        for count in streams:
            batch = [prompts.new(PROMPT) for _ in range(count)]
            sides = (alone, server) if place % 2 else (server, alone)
            rates = {type(side): side.turn(batch).rate for side in sides}
            ratio = rates[ThroughTriton] / rates[Alone]
            rows = f"alone {rates[Alone]:6.1f} tok/s, Triton {rates[ThroughTriton]:6.1f}"
            print(f"{count:3} streams: {rows}, {ratio:.3f}")
            ratios[count] += [ratio] if place else []  # the first round warms both up
    return {str(count): round(statistics.median(ratios[count]), 4) for count in streams}


def prefix_ratio(server: ThroughTriton, prompts: Prompts, rounds: int) -> float:
    cold, warm = [], []
    for _ in range(rounds):
        shared = prompts.new(SHARED)
        cold.append(server.first_token(shared + prompts.new(LONG - SHARED)))
        warm.append(server.first_token(shared + prompts.new(LONG - SHARED)))
    print(f"first token: {statistics.median(cold) * 1e3:.0f} ms cold, {statistics.median(warm) * 1e3:.0f} ms warm")
    return round(statistics.median(warm) / statistics.median(cold), 4)


def run(engine_dir: Path, streams: list[int], rounds: int) -> dict[str, Any]:
    prompts, alone = Prompts(engine_dir), Alone(engine_dir)
    try:
        with triton(engine_dir) as port:
            server = ThroughTriton(port)
            ratio = measure(alone, server, prompts, streams, rounds)
            prefix = prefix_ratio(server, prompts, rounds)
            server.close()
    finally:
        alone.close()
    return {"ratio": ratio, "prefix_ttft_ratio": prefix}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--streams", default="1,8,16")
    parser.add_argument("--engine-dir", type=Path, default=ROOT / "engines/cpu")
    arguments = parser.parse_args()
    result = run(arguments.engine_dir, [int(count) for count in arguments.streams.split(",")], arguments.rounds)
    print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
