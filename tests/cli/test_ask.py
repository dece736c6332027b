import json
from collections.abc import Iterator

import pytest
from fake_triton import PIECES, REPORT, FakeTriton, fake_triton
from typer.testing import CliRunner, Result

from chainserve.cli.app import app


@pytest.fixture
def triton() -> Iterator[FakeTriton]:
    with fake_triton() as fake:
        yield fake


def ask(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["ask", *arguments], input=stdin)


def test_answer_is_streamed_to_the_terminal(triton: FakeTriton) -> None:
    result = ask("hello", "--url", triton.url, "--max-tokens", "9", "--session", "s1")
    assert (result.exit_code, result.stdout) == (0, "".join(PIECES) + "\n")
    sent = triton.seen[0]
    assert (sent["stream"], sent["max_tokens"], sent["session_id"]) == ([True], [9], ["s1"])


def test_no_stream_asks_for_one_response(triton: FakeTriton) -> None:
    result = ask("hello", "--url", triton.url, "--no-stream")
    assert (result.exit_code, result.stdout) == (0, "".join(PIECES) + "\n")
    assert triton.seen[0]["stream"] == [False]


def test_trace_draws_the_stages_and_one_line_of_figures(triton: FakeTriton) -> None:
    lines = ask("hello", "--url", triton.url, "--trace").stdout.splitlines()
    assert any(line.startswith("moderation") and "█" in line and "8.1 ok" in line for line in lines)
    assert lines[-1].startswith("TTFT ")
    assert lines[-1].endswith("finish reason: stop")


def test_json_is_one_object_with_everything(triton: FakeTriton) -> None:
    answer = json.loads(ask("hello", "--url", triton.url, "--json").stdout)
    assert (answer["text"], answer["finish_reason"], answer["report"]) == ("".join(PIECES), "stop", REPORT)
    assert answer["usage"] == {"input_tokens": 7, "output_tokens": 5}
    assert answer["ttft_s"] <= answer["total_s"]


def test_system_message_goes_before_the_question(triton: FakeTriton) -> None:
    ask("hello", "--url", triton.url, "--system", "Be brief.")
    assert [m["role"] for m in json.loads(triton.seen[0]["messages"][0])] == ["system", "user"]


def test_question_from_standard_input(triton: FakeTriton) -> None:
    assert ask("-", "--url", triton.url, stdin="hello 你好\n").exit_code == 0
    assert triton.seen[0]["text_input"] == ["hello 你好"]


def test_another_model(triton: FakeTriton) -> None:
    ask("hello", "--url", triton.url, "--model", "chain_ensemble", "--system", "Be brief.")
    assert triton.seen[0]["text_input"] == ["hello"]


@pytest.mark.parametrize(("question", "stdin"), [("", None), ("-", " \n")])
def test_empty_question(question: str, stdin: str | None) -> None:
    result = ask(question, stdin=stdin)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "chainserve: the question is empty\n")


def test_no_server() -> None:
    result = ask("hello", "--url", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        result.stderr == "chainserve: no server at 127.0.0.1:1: connection refused (start one with: chainserve serve)\n"
    )


def test_error_after_some_text_starts_its_own_line(triton: FakeTriton) -> None:
    result = ask("refuse INTERNAL engine: failed", "--url", triton.url)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "half \n", "chainserve: engine: failed\n")


def test_answer_cannot_drive_the_terminal(triton: FakeTriton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fake_triton.PIECES", ["a\x1b[2J", "\tb\nc\x07"])
    assert ask("hello", "--url", triton.url).stdout == "a[2J\tb\nc\n"
