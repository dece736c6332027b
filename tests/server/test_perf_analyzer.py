"""NVIDIA's perf_analyzer drives every front door, with the commands that docs/perf_analyzer.md shows."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.server

INPUTS = Path(__file__).parents[2] / "scripts" / "perf"


def perf_analyzer() -> str:
    found = os.environ.get("PERF_ANALYZER") or shutil.which("perf_analyzer")
    if found is None:
        pytest.skip("perf_analyzer is not on PATH, and PERF_ANALYZER names none")
    return found


@pytest.mark.parametrize(
    ("model", "streams"),
    [
        ("chain", True),
        ("chain_ensemble", False),  # a static ensemble checks the whole text before any of it leaves
        ("ensemble", True),
        ("tensorrt_llm", True),
    ],
)
def test_model_answers_perf_analyzer(server: Any, tmp_path: Path, model: str, streams: bool) -> None:
    export = tmp_path / "export.json"
    command = [perf_analyzer(), "-m", model, "-u", server.grpc, "-i", "grpc", "--async", "--streaming"]
    command += ["--input-data", str(INPUTS / f"{model}.json"), "--concurrency-range", "2", "--request-count", "8"]
    command += ["--profile-export-file", str(export)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    requests = json.loads(export.read_text())["experiments"][0]["requests"]
    assert len(requests) >= 8
    responses = [len(request["response_timestamps"]) for request in requests]
    assert min(responses) >= 1
    assert (max(responses) > 1) == streams
