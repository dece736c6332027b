"""The Python blocks of docs/clients.md run as they are, against the small Triton."""

import re
from pathlib import Path

import pytest
from fake_triton import PIECES, fake_triton

BLOCKS = re.findall(
    r"^```python\n(.*?)^```$",
    (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs_and_prints_the_answer(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_triton() as triton:
        assert "127.0.0.1:8001" in block
        exec(compile(block.replace("127.0.0.1:8001", triton.url), "docs/clients.md", "exec"), {})
    assert "".join(PIECES) in capsys.readouterr().out


def test_both_clients_are_shown() -> None:
    assert [("AsyncChainClient" in block) for block in BLOCKS] == [False, True]
