# Development commands. `just` lists them.

python := ".venv/bin/python"

default:
    @just --list

# Format, lint, types, import rules
check:
    .venv/bin/ruff format --check .
    .venv/bin/ruff check .
    .venv/bin/mypy
    .venv/bin/lint-imports

# Unit tests only: no server
unit:
    {{python}} -m pytest -m "not server"

# Everything, as CI runs it
test:
    scripts/test.sh

# Pin every dependency again, with hashes and without naming an index
lock:
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --extra cpu --extra dev pyproject.toml -o requirements/cpu.txt
