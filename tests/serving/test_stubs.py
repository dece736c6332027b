import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from chainserve.clock import ManualClock
from chainserve.serving.stubs import SETTLE_S, StubWatch

SERVER = 10


@dataclass
class FakeProc:
    """Some of /proc, as files."""

    folder: Path

    def process(self, pid: int, command: str, *, parent: int = SERVER, state: str = "S", exit_code: int = 0) -> None:
        home = self.folder / str(pid)
        home.mkdir(exist_ok=True)
        comm = command.split(maxsplit=1)[0].rsplit("/", 1)[-1][:15]
        fields = [state, str(parent), *["0"] * 47, str(exit_code)]
        (home / "stat").write_text(f"{pid} ({comm}) {' '.join(fields)}\n")
        (home / "cmdline").write_text("" if state == "Z" else "\0".join([*command.split(), ""]))

    def stub(self, pid: int, model: str, *, parent: int = SERVER) -> None:
        self.process(
            pid, f"/run/triton_python_backend_stub /models/{model}/1/model.py region 1 {model}_0", parent=parent
        )

    def die(self, pid: int, exit_code: int, *, parent: int = SERVER) -> None:
        self.process(pid, "triton_python_backend_stub", parent=parent, state="Z", exit_code=exit_code)

    def collected(self, pid: int) -> None:
        for file in (self.folder / str(pid)).iterdir():
            file.unlink()


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def watch(proc: FakeProc, clock: ManualClock) -> StubWatch:
    return StubWatch(SERVER, clock, proc.folder)


def settled(watch: StubWatch, clock: ManualClock) -> str:
    first = watch.dead()
    clock.advance(SETTLE_S)
    assert first is None
    return str(watch.dead() or "")


@pytest.mark.parametrize(
    ("exit_code", "told"),
    [
        (9, "the process of model chain was killed by SIGKILL"),
        (0x80 | 11, "the process of model chain was killed by SIGSEGV"),
        (3 << 8, "the process of model chain ended (3)"),
    ],
)
def test_a_dead_stub_is_named_and_how_it_ended(
    proc: FakeProc, clock: ManualClock, watch: StubWatch, exit_code: int, told: str
) -> None:
    proc.stub(11, "chain")
    proc.stub(12, "intent")
    assert settled(watch, clock) == ""
    proc.die(11, exit_code)
    assert settled(watch, clock) == told


def test_a_stub_that_triton_ends_is_not_dead(proc: FakeProc, clock: ManualClock, watch: StubWatch) -> None:
    proc.stub(11, "chain")
    assert watch.dead() is None
    proc.die(11, 0)
    assert watch.dead() is None
    proc.collected(11)
    assert settled(watch, clock) == ""


def test_a_process_id_used_again_is_another_stub(proc: FakeProc, clock: ManualClock, watch: StubWatch) -> None:
    proc.stub(11, "chain")
    assert watch.dead() is None
    proc.stub(11, "intent")
    assert watch.dead() is None
    proc.die(11, 9)
    assert settled(watch, clock) == "the process of model intent was killed by SIGKILL"


def test_others_may_die(proc: FakeProc, clock: ManualClock, watch: StubWatch) -> None:
    """Another server's stub, and a child of this one that is no stub."""
    proc.die(11, 9, parent=99)
    proc.process(12, "sh", state="Z", exit_code=9)
    assert settled(watch, clock) == ""


def test_one_that_was_never_seen_alive(proc: FakeProc, clock: ManualClock, watch: StubWatch) -> None:
    proc.die(11, 9)
    assert settled(watch, clock) == "the process of model unknown was killed by SIGKILL"


def test_the_kernel_tells_it_so(clock: ManualClock, tmp_path: Path) -> None:
    stub, script = tmp_path / "triton_python_backend_stub", tmp_path / "chain/1/model.py"
    stub.symlink_to(shutil.which("cat") or "cat")
    script.parent.mkdir(parents=True)
    os.mkfifo(script)  # that nobody writes to: the stub waits
    watch = StubWatch(os.getpid(), clock)
    with subprocess.Popen([stub, script]) as process:
        assert settled(watch, clock) == ""
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert settled(watch, clock) == "the process of model chain was killed by SIGKILL"
