"""The command `chainserve`: one module a command."""

import typer

from chainserve.cli.ask import ask


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="chainserve",
        help="Serve a guarded LLM chain on Triton, and ask it.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_commands)
    app.command()(ask)
    return app


def _commands() -> None:
    """Serve a guarded LLM chain on Triton, and ask it."""


def main() -> None:
    build_app()()
