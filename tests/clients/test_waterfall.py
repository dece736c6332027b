import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from chainserve_client import Report, Waterfall
from chainserve_client.answer import Stage

STAGES = (
    Stage("moderation", 0.0, 10.0),
    Stage("上下文", 0.0, 50.0, "timeout"),
    Stage("engine", 50.0, 100.0),
    Stage("history", 99.0, None, "skipped"),
)


def drawn(report: Report, width: int = 80, encoding: str = "utf-8", **console: bool) -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Console(file=file, width=width, **console).print(Waterfall(report))
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


def test_one_row_a_stage_with_its_time_and_outcome() -> None:
    scale, *rows, first = drawn(Report(STAGES, 100.0, 60.0))
    assert scale.split() == ["0", "100", "ms"]
    assert [row.split()[0] for row in rows] == [stage.name for stage in STAGES]
    assert [row.split()[-2:] for row in rows] == [
        ["10.0", "ok"],
        ["50.0", "timeout"],
        ["50.0", "ok"],
        ["open", "skipped"],
    ]
    assert first.split() == ["first", "text", "▲", "60.0"]


def test_bars_lie_on_one_axis() -> None:
    _, moderation, context, engine, *_ = drawn(Report(STAGES, 100.0))
    assert cells_before(moderation, moderation.index("█")) == cells_before(context, context.index("█"))
    assert moderation.count("█") * 4 < context.count("█") <= moderation.count("█") * 6
    # cells, not characters: the Chinese name takes two for each
    assert cells_before(engine, engine.index("█")) == cells_before(context, context.rindex("█") + 1)


def cells_before(row: str, index: int) -> int:
    return cell_len(row[:index])


def test_no_colour_in_a_pipe_and_colour_in_a_terminal() -> None:
    assert not any("\x1b" in row for row in drawn(Report(STAGES, 100.0)))
    assert any("\x1b[31m" in row for row in drawn(Report(STAGES, 100.0), force_terminal=True))


def test_plain_letters_where_the_console_has_no_others() -> None:
    rows = drawn(Report((STAGES[0],), 10.0, 5.0), encoding="ascii")
    assert "###" in rows[1]
    assert "^" in rows[2]


def test_report_without_stages_says_so() -> None:
    assert drawn(Report()) == ["the report names no stages"]


times = st.floats(0, 1e6, allow_nan=False)
stages = st.builds(
    Stage, st.text("abc上下 ", min_size=1, max_size=40), times, st.none() | times, st.sampled_from(["ok", "error", "?"])
)


@given(st.lists(stages, min_size=1, max_size=6), times, st.none() | times, st.integers(20, 200))
def test_any_report_fits_the_console(stages: list[Stage], total: float, first: float | None, width: int) -> None:
    rows = drawn(Report(tuple(stages), total, first), width)
    assert len(rows) == 1 + len(stages) + (first is not None)
    assert all(cell_len(row) <= width for row in rows)


def test_report_reads_the_servers_json() -> None:
    text = json.dumps({"stages": [{"name": "intent", "start_ms": 1, "end_ms": None}], "total_ms": 2, "more": 1})
    report = Report.from_json(text)
    assert report.stages == (Stage("intent", 1.0, None, "ok"),)
    assert (report.total_ms, report.first_text_ms, report.raw["more"]) == (2.0, None, 1)


@pytest.mark.parametrize("end", [0.0, 50.0, 100.0])
def test_moment_at_either_end_has_a_mark(end: float) -> None:
    assert drawn(Report((Stage("x", end, end),), 100.0))[1].count("█") == 1
