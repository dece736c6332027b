"""`chainserve-build`: everything that is made once, before serving. A subcommand is a function of its own module."""

import errno
import sys

import typer
from rich.console import Console

from chainserve.errors import ChainserveError
from chainserve_build.engine import engine_command
from chainserve_build.index import index_command

SUPPORTED_PYTHONS = ((3, 11), (3, 12))

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("engine")(engine_command)
app.command("index")(index_command)


@app.callback()
def _root() -> None:
    """Make what the server needs: the engine and the search index."""


def main() -> None:
    """Run the command. An error is one line on stderr and exit code 1."""
    try:
        if sys.version_info[:2] not in SUPPORTED_PYTHONS:
            fail(f"needs Python 3.11 or 3.12, this is {sys.version_info[0]}.{sys.version_info[1]}")
        app()
    except ChainserveError as error:
        fail(str(error))
    except OSError as error:
        fail("the disk is full" if error.errno == errno.ENOSPC else str(error))


def fail(text: str) -> None:
    Console(stderr=True).print(f"chainserve-build: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise SystemExit(1)
