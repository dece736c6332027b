import errno
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chainserve_build import cli


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[object, str]]:
    def run(*words: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["chainserve-build", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr().err

    return run


def test_an_error_is_one_line_and_exit_code_1(run: Callable[..., tuple[object, str]], tmp_path: Path) -> None:
    code, text = run("engine", "--gguf", str(tmp_path / "missing.gguf"))
    assert code == 1
    assert text.startswith("chainserve-build: --gguf")
    assert text.count("\n") == 1


def test_a_profile_that_is_not_built_here_is_named(run: Callable[..., tuple[object, str]]) -> None:
    code, text = run("engine", "--profile", "fp8")
    assert (code, text) == (1, "chainserve-build: --profile: must be one of cpu\n")


def test_another_python_is_refused(run: Callable[..., tuple[object, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "SUPPORTED_PYTHONS", ())
    code, text = run("engine")
    assert code == 1
    assert text.startswith("chainserve-build: needs Python 3.11 or 3.12")


def test_a_full_disk_is_one_line(run: Callable[..., tuple[object, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli, "app", full)
    assert run("engine") == (1, "chainserve-build: the disk is full\n")
