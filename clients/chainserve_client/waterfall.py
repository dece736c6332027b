"""The stages of one request, drawn as bars on a time axis."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from chainserve_client.answer import Report, Stage

_STYLES = {
    "ok": "green",
    "fallback": "yellow",
    "timeout": "red",
    "error": "red",
    "skipped": "dim",
    "cancelled": "magenta",
}
_OTHER_STYLE = "cyan"
_MIN_BAR = 8
_MAX_NAME = 24
_MS_WIDTH = 9
_FIRST_TEXT = "first text"


@dataclass(frozen=True)
class _Axis:
    """Milliseconds to columns. `width` is in terminal cells, `span_ms` is what they stand for."""

    width: int
    span_ms: float

    def column(self, ms: float) -> int:
        """The column, 0 to width - 1, that holds the moment `ms`."""
        share = ms / self.span_ms if self.span_ms > 0 else 0.0
        return int(min(max(share, 0.0) * self.width, self.width - 1))

    def bar(self, start_ms: float, end_ms: float, mark: str) -> str:
        """At least one mark: a stage that ran is seen."""
        first, last = self.column(start_ms), self.column(end_ms)
        length = max(1, last - first + (1 if end_ms >= self.span_ms else 0))
        return (" " * first + mark * length).ljust(self.width)


class Waterfall:
    """A rich renderable: one row a stage, with its bar, its milliseconds and its outcome.

    It fills the width of the console, draws with plain ASCII where the console cannot do better, and needs no colour.
    """

    def __init__(self, report: Report) -> None:
        self._report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stages = self._report.stages
        if not stages:
            yield Text("the report names no stages", style="dim")
            return
        names = min(_MAX_NAME, max(cell_len(name) for name in (_FIRST_TEXT, *(stage.name for stage in stages))))
        outcomes = max(cell_len(stage.outcome) for stage in stages)
        width = max(_MIN_BAR, options.max_width - names - _MS_WIDTH - outcomes - 4)
        axis = _Axis(width, max(self._report.total_ms, *map(_last_moment, stages)))
        yield from self._rows(axis, names, ascii_only=options.ascii_only)

    def _rows(self, axis: _Axis, names: int, *, ascii_only: bool) -> Iterator[Text]:
        yield _row(" " * names, _scale(axis), "", "", style="dim")
        for stage in self._report.stages:
            yield _stage_row(stage, axis, names, "#" if ascii_only else "█")
        first = self._report.first_text_ms
        if first is not None:
            mark = axis.bar(first, first, "^" if ascii_only else "▲")
            yield _row(set_cell_size(_FIRST_TEXT, names), mark[: axis.width], f"{first:.1f}", "", style="bold")


def _last_moment(stage: Stage) -> float:
    return stage.start_ms if stage.end_ms is None else max(stage.start_ms, stage.end_ms)


def _scale(axis: _Axis) -> str:
    end = f"{axis.span_ms:.0f} ms"
    return "0" + end.rjust(axis.width - 1)


def _stage_row(stage: Stage, axis: _Axis, names: int, mark: str) -> Text:
    end = axis.span_ms if stage.end_ms is None else stage.end_ms
    took = "open" if stage.end_ms is None else f"{stage.end_ms - stage.start_ms:.1f}"
    bar = axis.bar(stage.start_ms, end, mark)[: axis.width]
    return _row(set_cell_size(stage.name, names), bar, took, stage.outcome, style=_style(stage.outcome))


def _style(outcome: str) -> str:
    return _STYLES.get(outcome, _OTHER_STYLE)


def _row(name: str, bar: str, took: str, outcome: str, *, style: str) -> Text:
    row = Text(no_wrap=True, overflow="crop", end="\n")
    row.append(name + " ")
    row.append(bar, style=style)
    row.append(f" {took.rjust(_MS_WIDTH)} ")
    row.append(outcome, style=style)
    return row
