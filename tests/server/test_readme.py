"""Every block of README.md that can be run is run, against the session's server.

A fenced block is `bash` or `python` and is run, or `text` and is only read. Above a block that must not be run stands
`<!-- not run: why -->`. The default ports and the commands' own defaults become the server's.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from running_server import ROOT, Server

pytestmark = pytest.mark.server

FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n\n?)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
KINDS = {"bash", "python", "text"}


@dataclass(frozen=True)
class Block:
    kind: str
    code: str
    reason: str | None

    def __str__(self) -> str:
        return self.code.splitlines()[0][:60]


def blocks(text: str) -> list[Block]:
    return [Block(found["kind"], found["code"], found["reason"]) for found in FENCE.finditer(text)]


README = (ROOT / "README.md").read_text(encoding="utf-8")
TO_RUN = [block for block in blocks(README) if block.kind in KINDS - {"text"} and block.reason is None]


def for_server(code: str, server: Server) -> str:
    with_url = code.replace("chainserve ask ", "chainserve ask --url 127.0.0.1:8001 ")
    addresses = {"127.0.0.1:8000": server.http, "127.0.0.1:8001": server.grpc, "127.0.0.1:8002": server.metrics}
    return re.sub("|".join(addresses), lambda found: addresses[found[0]], with_url.replace("localhost:", "127.0.0.1:"))


def command_path(code: str, folder: Path) -> str:
    """The venv's commands first; perf_analyzer where $PERF_ANALYZER says, if it is not on PATH."""
    path = f"{Path(sys.executable).parent}:{folder}:{os.environ['PATH']}"
    if "perf_analyzer" in code:
        given = os.environ.get("PERF_ANALYZER") or shutil.which("perf_analyzer", path=path)
        if given is None:
            pytest.skip("perf_analyzer is not on PATH, and PERF_ANALYZER names none")
        (folder / "perf_analyzer").symlink_to(given)
    return path


@pytest.mark.parametrize("block", TO_RUN, ids=str)
def test_a_block_runs_and_shows_something(block: Block, server: Server, tmp_path: Path) -> None:
    code = for_server(block.code, server)
    command = [sys.executable, "-c", code] if block.kind == "python" else ["bash", "-euo", "pipefail", "-c", code]
    environment = os.environ | {"PATH": command_path(code, tmp_path)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.strip()
    assert '"error"' not in ended.stdout


def test_every_block_is_of_a_known_kind() -> None:
    assert README.count("\n```") == 2 * len(blocks(README))
    assert {block.kind for block in blocks(README)} <= KINDS
    assert TO_RUN


def test_no_block_starts_the_tests_again() -> None:
    assert not [block.code for block in TO_RUN if "scripts/test.sh" in block.code]


def test_a_reason_keeps_a_block_from_running() -> None:
    text = "<!-- not run: slow -->\n```bash\none\n```\n\n```python\ntwo\n```\n\n```text\nthree\n```\n"
    assert blocks(text) == [
        Block("bash", "one\n", "slow"),
        Block("python", "two\n", None),
        Block("text", "three\n", None),
    ]
