"""The command line `chainserve`. One module per command; each error is one line."""

from chainserve.cli.app import main

__all__ = ["main"]
