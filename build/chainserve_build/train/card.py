"""The tables of the model cards come out of the metrics that training wrote: no figure is typed."""

import json
import re
from pathlib import Path

_MARKED = re.compile(r"(<!-- figures -->\n).*?(\n<!-- end -->)", re.DOTALL)


def with_figures(card: str, metrics: dict[str, float | dict[str, float]]) -> str:
    """The card's text with its table between the marks written anew."""
    return _MARKED.sub(lambda marks: f"{marks[1]}{_table(metrics)}{marks[2]}", card)


def update_card(card: Path, metrics: Path) -> None:
    figures = json.loads(metrics.read_text(encoding="utf-8"))
    card.write_text(with_figures(card.read_text(encoding="utf-8"), figures), encoding="utf-8")


def _table(metrics: dict[str, float | dict[str, float]]) -> str:
    rows = "\n".join(f"| {name} | {_cell(value)} |" for name, value in metrics.items())
    return f"| measured | result |\n|---|---|\n{rows}"


def _cell(value: float | dict[str, float]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_number(part)}" for name, part in value.items())
    return _number(value)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
