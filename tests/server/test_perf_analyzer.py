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
    ("model", "inputs"),
    [
        ("chain", "questions.json"),
        ("chain_ensemble", "questions.json"),
        ("ensemble", "prompts.json"),
        ("tensorrt_llm", "token_ids.json"),
    ],
)
def test_model_streams_to_perf_analyzer(server: Any, tmp_path: Path, model: str, inputs: str) -> None:
    export = tmp_path / "export.json"
    command = [perf_analyzer(), "-m", model, "-u", server.grpc, "-i", "grpc", "--async", "--streaming"]
    command += ["--input-data", str(INPUTS / inputs), "--concurrency-range", "2", "--request-count", "8"]
    command += ["--profile-export-file", str(export)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    requests = json.loads(export.read_text())["experiments"][0]["requests"]
    assert len(requests) >= 8
    assert all(len(request["response_timestamps"]) >= 1 for request in requests)
    assert any(len(request["response_timestamps"]) > 1 for request in requests), "no answer was streamed"
