"""`chainserve ask`: one question to a running server, its answer on the terminal."""

import io
import json
import re
import sys
from dataclasses import asdict
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from chainserve_client import (
    Answer,
    AnswerStream,
    ChainClient,
    ChainClientError,
    ChainOptions,
    NoServer,
    Question,
    Waterfall,
)

# A model's text must not move the cursor or set the title of the reader's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def ask(  # noqa: PLR0913 a command has an argument for each of its options
    question: Annotated[str, typer.Argument(help="The question, or - to read it from standard input.")],
    *,
    url: Annotated[str, typer.Option(help="host:port of the server's gRPC endpoint.")] = "127.0.0.1:8001",
    model: Annotated[str, typer.Option(help="chain, chain_ensemble or ensemble.")] = "chain",
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to generate at most.")] = 128,
    system: Annotated[str | None, typer.Option(help="A system message before the question.")] = None,
    session: Annotated[str | None, typer.Option(help="Session id: the history that belongs to the question.")] = None,
    timeout_ms: Annotated[int | None, typer.Option(min=1, help="Give up after this many milliseconds.")] = None,
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Print the text while it is made.")] = True,
    trace: Annotated[bool, typer.Option("--trace", help="Draw the stages of the request after the answer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Ask a running server one question."""
    _survive_any_encoding()
    asked = _messages(system, _text(question))
    options = ChainOptions(max_tokens=max_tokens, session_id=session, timeout_ms=timeout_ms)
    try:
        with ChainClient(url, model=model) as client:
            answer = (
                _streamed(client.stream(asked, options), show=not as_json) if stream else client.ask(asked, options)
            )
    except NoServer as error:
        _fail(f"{error} (start one with: chainserve serve)")
    except ChainClientError as error:
        _fail(str(error))
    if as_json:
        typer.echo(_as_json(answer))
        return
    if not stream:
        typer.echo(_printable(answer.text))
    if trace:
        _draw(answer)


def _survive_any_encoding() -> None:
    # A terminal that is not UTF-8 shows a ? where it cannot show the character: better than no answer.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _text(question: str) -> str:
    text = sys.stdin.read().strip() if question == "-" else question
    if not text.strip():
        _fail("the question is empty")
    return text


def _messages(system: str | None, text: str) -> Question:
    if system is None:
        return text
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _streamed(stream: AnswerStream, *, show: bool) -> Answer:
    try:
        for piece in stream:
            if show:
                typer.echo(_printable(piece), nl=False)
                sys.stdout.flush()
    finally:
        if show and stream.answer.text:
            typer.echo()  # what follows, an error too, starts on its own line
    return stream.answer


def _printable(text: str) -> str:
    return _CONTROL.sub("", text)


def _draw(answer: Answer) -> None:
    console = Console(highlight=False)
    console.print()
    if answer.report is not None:
        console.print(Waterfall(answer.report))
    console.print(_summary(answer), style="bold", soft_wrap=True)


def _summary(answer: Answer) -> str:
    ttft = "no text" if answer.ttft_s is None else f"TTFT {answer.ttft_s * 1e3:.0f} ms"
    tokens = f"{answer.usage.output_tokens} tokens in {answer.total_s:.2f} s"
    return f"{ttft} | {answer.tokens_per_s:.1f} tokens/s | {tokens} | finish reason: {answer.finish_reason or 'none'}"


def _as_json(answer: Answer) -> str:
    fields = asdict(answer)
    fields["report"] = None if answer.report is None else answer.report.raw
    return json.dumps(fields, ensure_ascii=False)


def _fail(problem: str) -> NoReturn:
    typer.echo(f"chainserve: {problem}", err=True)
    raise typer.Exit(1)
