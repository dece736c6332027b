"""The figures of the prefix cache, which the library does not report, against the steps that prompts really take."""

from dataclasses import replace

import pytest
from running_server import ENGINE

from chainserve.engine.cpu.openvino_pipeline import OpenVinoPipeline
from chainserve.engine.cpu.pipeline import Cost
from chainserve.engine.cpu.requests import Decoding, SequenceRequest
from chainserve.engine.cpu.settings import EngineSettings
from chainserve.engine.manifest import EngineManifest

pytestmark = pytest.mark.server

STEP = 32
GENERATED = 4


@pytest.fixture(scope="module")
def pipeline() -> OpenVinoPipeline:
    settings = EngineSettings(max_num_batched_tokens=STEP, kv_blocks=32)
    return OpenVinoPipeline(ENGINE, settings, EngineManifest.load(ENGINE))


def run(pipeline: OpenVinoPipeline, number: int, ids: range | list[int]) -> tuple[Cost, int, list[int]]:
    """What one prompt cost, how many steps its first token took, and what it answered."""
    pipeline.add(number, SequenceRequest(tuple(ids), Decoding(max_tokens=GENERATED, end_ids=())))
    steps, first, answer, cost = 0, 0, [], Cost()
    while pipeline.busy():
        steps += 1
        for _, piece in pipeline.step():
            first = first or steps
            answer += piece.ids
            cost = piece.cost
    return replace(cost, scheduled_ns=0), first, answer


def test_the_figures_are_what_the_steps_say(pipeline: OpenVinoPipeline) -> None:
    base = range(1000, 1300)
    prompts: list[tuple[list[int], Cost]] = [
        ([*base], Cost(0, 300, 10, 0)),
        ([*base], Cost(0, 12, 1, 9)),
        ([*base[:200], *range(5000, 5100)], Cost(0, 108, 4, 6)),
        ([*range(7000, 7050), *base], Cost(0, 350, 12, 0)),
    ]
    for number, (ids, expected) in enumerate(prompts):
        cost, steps, answer = run(pipeline, number, ids)
        assert cost == expected
        assert steps == -(-cost.computed_tokens // STEP)
    follow_up = [*ids, *answer[:-1], *range(9000, 9100)]
    cost, steps, _ = run(pipeline, 100, follow_up)
    assert (cost.computed_tokens, cost.reused_blocks) == (100, 12)
    assert steps == -(-cost.computed_tokens // STEP)


def test_a_full_cache_forgets_what_was_used_longest_ago(pipeline: OpenVinoPipeline) -> None:
    old = [*range(20_000, 20_256)]
    assert run(pipeline, 200, old)[0].computed_tokens == 256
    for number in range(3):
        run(pipeline, 201 + number, range(30_000 + 1000 * number, 30_400 + 1000 * number))
    cost, steps, _ = run(pipeline, 300, old)
    assert steps == -(-cost.computed_tokens // STEP)
    assert cost.computed_tokens == 256
