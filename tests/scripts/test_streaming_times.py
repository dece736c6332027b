import json
import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "perf" / "streaming_times.py"))
MS = 1_000_000


def test_first_and_next_responses_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requests = [
        {"timestamp": 0, "response_timestamps": [10 * MS, 12 * MS, 16 * MS]},
        {"timestamp": 5 * MS, "response_timestamps": [25 * MS]},
    ]
    export = tmp_path / "run.json"
    export.write_text(
        json.dumps({"experiments": [{"experiment": {"mode": "concurrency", "value": 2}, "requests": requests}]})
    )
    SCRIPT["main"](str(export))
    title, counts, first, between, whole = capsys.readouterr().out.splitlines()
    assert title == "concurrency 2"
    assert counts.strip() == "2 requests, 4 responses"
    assert first.split()[3:5] == ["15.00", "ms"]
    assert between.split()[3:5] == ["3.00", "ms"]
    assert whole.split()[3:5] == ["18.00", "ms"]


def test_unstreamed_run_has_nothing_between_responses() -> None:
    lines = list(SCRIPT["report"]([{"timestamp": 0, "response_timestamps": [MS]}]))
    assert lines[2].split() == ["between", "responses", "none"]
