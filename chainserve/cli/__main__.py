"""`python -m chainserve.cli`, where the console script is not installed."""

from chainserve.cli.app import main

main()
