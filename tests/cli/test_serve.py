from pathlib import Path

import pytest
from typer.testing import CliRunner

from chainserve.cli import app as command_line
from chainserve.cli import serve as serve_command
from chainserve.errors import Unavailable
from chainserve.serving.options import LogLevel, Ports, Profile, ServeOptions


def options_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> ServeOptions:
    seen: list[ServeOptions] = []
    monkeypatch.setattr(serve_command, "run_server", lambda options, _say: seen.append(options))
    result = CliRunner().invoke(command_line.app, ["serve", *arguments])
    assert result.exit_code == 0, result.output
    return seen[0]


def test_folders_follow_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = options_of(monkeypatch, f"--model-repository={tmp_path / 'models'}", "--http-port=8100")
    assert options.engine_dir == tmp_path / "engines/cpu"
    assert options.data_dir == tmp_path / "var"
    assert options.run_dir == tmp_path / "var/run/8100"


def test_the_checkout_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    options = options_of(monkeypatch)
    assert options.repository == Path(__file__).parents[2] / "model_repository"
    assert options.ports == Ports(8000, 8001, 8002)
    assert (options.host, options.profile, options.open_admin) == ("127.0.0.1", Profile.CPU, False)


def test_options_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    options = options_of(
        monkeypatch, "--model=intent", "--model=chain", "--log-level=verbose", "--drain-timeout=3", "--open-admin"
    )
    assert options.models == ("intent", "chain")
    assert (options.log_level, options.drain_timeout, options.open_admin) == (LogLevel.VERBOSE, 3.0, True)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (Unavailable("port 8001 is in use"), "chainserve: port 8001 is in use\n"),
        (PermissionError(13, "Permission denied", "/var/x"), "chainserve: /var/x: Permission denied\n"),
        (OSError(28, "No space left on device"), "chainserve: No space left on device\n"),
    ],
)
def test_a_known_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, line: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(command_line, "app", fail)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == line
