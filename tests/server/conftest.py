"""The real server, once for the whole session or one for a test."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running_server import COMMANDS, ENGINE, ROOT, Server, running_server


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of this session's own, with the index of the corpus."""
    folder = tmp_path_factory.mktemp("data")
    build = [str(COMMANDS / "chainserve-build"), "index"]
    subprocess.run([*build, f"--documents={ROOT / 'corpus'}", f"--out={folder / 'index'}"], check=True)
    return folder


@pytest.fixture(scope="session")
def server(data_dir: Path) -> Iterator[Server]:
    """One server with the whole repository for the whole session."""
    if not (ENGINE / "engine.json").is_file():
        pytest.fail(f"no engine in {ENGINE}: run `.venv/bin/chainserve-build engine --profile cpu`")
    with running_server(data_dir) as running:
        yield running


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server of the test's own: `start_server("--model=intent", ports=..., data_dir=...)`."""
    with ExitStack() as stack:

        def start(*options: str, ports: Sequence[int] | None = None, data_dir: Path | None = None) -> Server:
            return stack.enter_context(running_server(data_dir or tmp_path / "data", *options, ports=ports))

        yield start
