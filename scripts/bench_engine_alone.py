#!/usr/bin/env python
"""The pipeline and nothing else, for bench_engine.py: a JSON list of prompts a line in, tokens and seconds a line out.

scripts/bench_engine_alone.py ENGINE_DIR OUTPUT_TOKENS
"""

import json
import sys
import time
from pathlib import Path

from chainserve.config import load_toml
from chainserve.engine.cpu.openvino_pipeline import OpenVinoPipeline
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.engine.manifest import EngineManifest

SETTINGS = Path(__file__).parents[1] / "model_repository/tensorrt_llm/1/engine.toml"


def turn(pipeline: OpenVinoPipeline, requests: list[tuple[int, SequenceRequest]]) -> dict[str, float]:
    """All requests at once, to their ends."""
    start, tokens = time.perf_counter(), 0
    for number, request in requests:
        pipeline.add(number, request)
    while pipeline.busy():
        tokens += sum(len(piece.ids) for _, piece in pipeline.step())
    return {"tokens": tokens, "seconds": time.perf_counter() - start}


def main(engine_dir: Path, output: int) -> None:
    pipeline = OpenVinoPipeline(engine_dir, load_toml(SETTINGS, EngineSettings), EngineManifest.load(engine_dir))
    decoding, number = Decoding(max_tokens=output, end_ids=()), 0
    for line in sys.stdin:
        requests = [SequenceRequest(tuple(ids), decoding) for ids in json.loads(line)]
        print(json.dumps(turn(pipeline, list(enumerate(requests, start=number)))), flush=True)
        number += len(requests)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
