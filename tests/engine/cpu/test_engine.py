"""The engine over a real pipe to the host's loop in a thread; only the pipeline is a fake."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from typing import Any

import pytest

from chainserve.engine.cpu.engine import CpuEngine, Totals
from chainserve.engine.cpu.host import EngineHost
from chainserve.engine.cpu.link import EngineLink
from chainserve.engine.cpu.pipeline import Pieces, ScriptedPipeline
from chainserve.engine.cpu.requests import Decoding, Increment, SequenceRequest
from chainserve.engine.cpu.sequence import Submission
from chainserve.errors import EngineDead, InvalidInput, Unavailable
from chainserve.messages import FinishReason, Guide

SCRIPT = [5, 6, 7, 8, 9]
WAIT_S = 20


@dataclass
class Ear:
    """A listener that remembers; `ended` is set by the last thing it hears."""

    heard: list[Increment] = field(default_factory=list)
    error: Exception | None = None
    left: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def receive(self, increment: Increment) -> None:
        self.heard.append(increment)
        if increment.finish is not None:
            self.ended.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.ended.set()

    def gone(self) -> bool:
        return self.left

    @property
    def ids(self) -> tuple[int, ...]:
        assert self.ended.wait(WAIT_S)
        return tuple(number for increment in self.heard for number in increment.ids)

    @property
    def finish(self) -> FinishReason | None:
        assert self.ended.wait(WAIT_S)
        return self.heard[-1].finish


class Gate(ScriptedPipeline):
    """Steps only when it is let."""

    def __init__(self, script: list[int]) -> None:
        super().__init__(script)
        self.turns = threading.Semaphore(0)

    def step(self) -> Pieces:
        assert self.turns.acquire(timeout=WAIT_S)
        return super().step()


@dataclass
class Bench:
    engine: CpuEngine
    link: EngineLink
    totals: list[Totals]
    deaths: list[EngineDead]

    def submit(self, request_id: str = "a", **decoding: Any) -> Ear:
        ear = Ear()
        request = SequenceRequest((1, 2), Decoding(**{"max_tokens": 5, "end_ids": (9,)} | decoding))
        self.engine.submit(Submission(request_id, request, ear))
        return ear


@contextmanager
def running(pipeline: ScriptedPipeline, max_waiting: int = 8) -> Iterator[Bench]:
    ours, theirs = Pipe()
    host = EngineHost(pipeline, theirs, lambda decoding: decoding.guide.text if decoding.guide else "")

    def run_host() -> None:
        with theirs, suppress(ArithmeticError):  # the failure that a test asked for: the process would end here
            host.run()

    thread = threading.Thread(target=run_host, daemon=True)
    thread.start()
    link, totals, deaths = EngineLink(ours), [], []
    engine = CpuEngine(link, lambda number: bytes([number]), max_waiting, totals.append, deaths.append)
    engine.start()
    try:
        yield Bench(engine, link, totals, deaths)
    finally:
        link.close()
        engine.join()
        thread.join()
        ours.close()


def test_ids_come_one_step_at_a_time_without_the_end_id() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        ear = bench.submit()
        assert (ear.ids, ear.finish) == ((5, 6, 7, 8), FinishReason.STOP)
        assert [increment.ids for increment in ear.heard] == [(5,), (6,), (7,), (8,), ()]


def test_the_budget_ends_it() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        ear = bench.submit(max_tokens=2)
        assert (ear.ids, ear.finish) == ((5, 6), FinishReason.LENGTH)


def test_a_stop_word_ends_it_and_is_part_of_it() -> None:
    pipeline = ScriptedPipeline(SCRIPT)
    with running(pipeline) as bench:
        ear = bench.submit(stop_words=((6, 7),))
        assert (ear.ids, ear.finish) == ((5, 6, 7), FinishReason.STOP)
        assert pipeline.stopped == [1]


def test_without_an_end_id_only_the_budget_ends_it() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        ear = bench.submit(end_ids=())
        assert (ear.ids, ear.finish) == ((5, 6, 7, 8, 9), FinishReason.LENGTH)


def test_log_probs_come_with_their_ids() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        ear = bench.submit(log_probs=True)
        assert ear.ids == (5, 6, 7, 8)
        assert [probability for increment in ear.heard for probability in increment.log_probs] == [-0.5] * 4


def test_characters_leave_whole() -> None:
    with running(ScriptedPipeline([0xE4, 0xBD, 0xA0, 65, 9])) as bench:
        ear = bench.submit()
        assert ear.ids == (0xE4, 0xBD, 0xA0, 65)
        assert [increment.ids for increment in ear.heard if increment.ids] == [(0xE4, 0xBD, 0xA0), (65,)]


def test_requests_run_side_by_side() -> None:
    gate = Gate(SCRIPT)
    with running(gate) as bench:
        first = bench.submit("a")
        second = bench.submit("b")
        for _ in range(9):
            gate.turns.release()
        assert first.ids == second.ids == (5, 6, 7, 8)
        assert len(gate.added) == 2


def test_cancel_by_name() -> None:
    gate = Gate(SCRIPT)
    with running(gate) as bench:
        stays, goes = bench.submit("stays"), bench.submit("goes")
        bench.engine.cancel("goes")
        bench.engine.cancel("nobody")
        bench.engine.cancel("")
        for _ in range(9):
            gate.turns.release()
        assert goes.finish is FinishReason.CANCELLED
        assert stays.ids == (5, 6, 7, 8)
        assert gate.stopped == [2]


def test_a_listener_that_left_is_stopped() -> None:
    endless = ScriptedPipeline([5] * 10_000_000)
    with running(endless) as bench:
        ear = bench.submit(max_tokens=10_000_000)
        ear.left = True
        assert ear.finish is FinishReason.CANCELLED
        assert endless.stopped == [1]


def test_a_grammar_with_a_problem_is_refused_and_others_run() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        bad = bench.submit(guide=Guide("regex", "not closed"))
        good = bench.submit(guide=Guide("regex", ""))
        assert good.ids == (5, 6, 7, 8)
        assert bad.ended.wait(WAIT_S)
        assert isinstance(bad.error, InvalidInput)
        assert str(bad.error) == "guided_decoding_guide: not closed"


def test_a_full_engine_refuses_all_of_a_request() -> None:
    gate = Gate(SCRIPT)
    with running(gate, max_waiting=1) as bench:
        taken = bench.submit()
        with pytest.raises(Unavailable, match="at most 1"):
            bench.submit()
        for _ in range(9):
            gate.turns.release()
        assert taken.ids == (5, 6, 7, 8)


def test_when_the_pipeline_dies_everybody_is_told() -> None:
    gate = Gate(SCRIPT)
    with running(gate) as bench:
        ears = [bench.submit(), bench.submit()]
        gate.failure = ArithmeticError()
        gate.turns.release()
        for ear in ears:
            assert ear.ended.wait(WAIT_S)
            assert isinstance(ear.error, EngineDead)
        bench.engine.join()
        assert len(bench.deaths) == 1
        with pytest.raises(EngineDead, match="not running"):
            bench.submit()


def test_totals() -> None:
    with running(ScriptedPipeline(SCRIPT)) as bench:
        assert bench.submit().ids
        assert bench.submit().ids
    last = bench.totals[-1]
    assert (last.requests, last.output_tokens, last.active) == (2, 10, 0)
