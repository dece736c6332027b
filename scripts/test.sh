#!/usr/bin/env bash
# Everything that has to be green: lint, types, import rules, unit tests, tests on the real server.
# Arguments go to pytest: scripts/test.sh tests/server -k chain
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/lint-imports
exec .venv/bin/python -m pytest -m "not slow" "$@"
