from pathlib import Path

import pytest

from chainserve.serving.server_log import error_line

START = 'E1201 01:16:47.890720 8071 server.cc:241] "CudaDriverHelper has not been initialized."\n'


def logged(folder: Path, text: str) -> str:
    log = folder / "log"
    log.write_text(START + text, encoding="utf-8")
    return error_line(log)


def test_the_first_model_that_failed_is_named(tmp_path: Path) -> None:
    text = (
        'I1201 01:16:47.9 8071 model_lifecycle.cc:472] "loading: bad:1"\n'
        "E1201 01:16:47.9 8071 model_lifecycle.cc:642] \"failed to load 'bad' version 1: Internal: "
        "ModuleNotFoundError: No module named 'x'\\n\\nAt:\\n  /model.py(1): <module>\\n\"\n"
        "E1201 01:16:48.9 8071 model_lifecycle.cc:642] \"failed to load 'worse' version 1: Internal: why\"\n"
        "error: creating server: Internal - failed to load all models\n"
    )
    assert logged(tmp_path, text) == "model bad: ModuleNotFoundError: No module named 'x'"


def test_a_line_that_announces_the_cause_brings_it(tmp_path: Path) -> None:
    text = (
        "E1201 01:16:47.9 8071 model_lifecycle.cc:642] \"failed to load 'm' version 1: Internal: In x.cpp:\\nwhy\\n\""
    )
    assert logged(tmp_path, text) == "model m: In x.cpp: why"


def test_else_the_last_error(tmp_path: Path) -> None:
    text = (
        'E1201 01:16:47.9 8071 http_server.cc:1] "first"\n'
        "error: failed to start HTTP service: Unavailable - Socket '127.0.0.1:8000' already in use\n"
        'I1201 01:16:47.9 8071 server.cc:1] "goodbye"\n'
    )
    assert logged(tmp_path, text) == (
        "failed to start HTTP service: Unavailable - Socket '127.0.0.1:8000' already in use"
    )


def test_an_ensemble_that_does_not_fit_is_told(tmp_path: Path) -> None:
    text = (
        'E1201 01:45:27.3 3 model_repository_manager.cc:703] "Invalid argument: in ensemble x, why"\n'
        'E1201 01:45:27.3 3 ensemble_scheduler.cc:1] "unable to create stream for ensemble: CUDA driver is old"\n'
        "error: creating server: Internal - failed to load all models\n"
    )
    assert logged(tmp_path, text) == "Invalid argument: in ensemble x, why"


@pytest.mark.parametrize("text", ["", 'I1201 01:16:47.9 8071 server.cc:1] "fine"\n', "not a log line\n"])
def test_no_error_is_no_line(tmp_path: Path, text: str) -> None:
    assert logged(tmp_path, text) == ""


def test_no_log_is_no_line(tmp_path: Path) -> None:
    assert error_line(tmp_path / "none") == ""


def test_bytes_that_are_not_text_are_survived(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\xff\xfe\nerror: last\n")
    assert error_line(tmp_path / "log") == "last"
