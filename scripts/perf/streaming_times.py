"""Streaming latencies of a perf_analyzer run: `streaming_times.py EXPORT.json`, made with --profile-export-file.

perf_analyzer prints the time to the last response; first and next responses are in its export, in nanoseconds.
"""

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any


def main(path: str) -> None:
    for experiment in json.loads(Path(path).read_text(encoding="utf-8"))["experiments"]:
        print(f"{experiment['experiment']['mode']} {experiment['experiment']['value']}")
        for line in report(experiment["requests"]):
            print(f"  {line}")


def report(requests: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One line a measure: p50, p90 and the largest, in milliseconds."""
    times = [[request["timestamp"], *request["response_timestamps"]] for request in requests]
    yield f"{len(requests)} requests, {sum(len(moments) - 1 for moments in times)} responses"
    yield line("first response", [moments[1] - moments[0] for moments in times])
    yield line("between responses", [later - earlier for moments in times for earlier, later in pairwise(moments[1:])])
    yield line("whole request", [moments[-1] - moments[0] for moments in times])


def line(name: str, nanoseconds: Sequence[int]) -> str:
    if not nanoseconds:
        return f"{name:<18} none"
    ranked = sorted(span / 1e6 for span in nanoseconds)
    p90 = ranked[min(len(ranked) - 1, round(0.9 * (len(ranked) - 1)))]
    return f"{name:<18} p50 {statistics.median(ranked):9.2f} ms   p90 {p90:9.2f} ms   max {ranked[-1]:9.2f} ms"


if __name__ == "__main__":
    if len(sys.argv) != 2:  # noqa: PLR2004 the program and its file
        sys.exit("usage: streaming_times.py EXPORT.json")
    main(sys.argv[1])
