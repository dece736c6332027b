"""The commands, and how their errors are shown."""

import sys

import typer

from chainserve.cli.ask import ask
from chainserve.cli.serve import serve
from chainserve.errors import ChainserveError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(serve)
app.command()(ask)


@app.callback()
def chainserve() -> None:
    """A guarded LLM chain on NVIDIA's Triton Inference Server."""


def main() -> None:
    """Run the command line; a known error is one line on stderr and exit code 1."""
    try:
        app()
    except ChainserveError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))


def _fail(text: str) -> None:
    print(f"chainserve: {text}", file=sys.stderr)  # noqa: T201 the command line prints
    raise SystemExit(1)
