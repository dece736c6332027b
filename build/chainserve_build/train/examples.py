"""Labelled texts for the moderation heads, and what is read from plain files."""

import csv
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chainserve_build.train.intent import read_clinc, read_seeds

CATEGORIES = ("hate", "violence", "self_harm", "sexual", "illicit", "injection")
ALL = frozenset(CATEGORIES)
SEEDS = Path(__file__).parent / "seeds"
FRAMES_AN_ACTION = 5


@dataclass(frozen=True)
class Example:
    """`positive` categories are in it, `unknown` ones may be: neither is learnt from nor measured. The rest are not."""

    text: str
    source: str
    positive: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    weight: float = 1.0


def of(category: str) -> frozenset[str]:
    return frozenset({category})


def read_table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def cold(path: Path, source: str) -> Iterator[Example]:
    """COLD (Deng et al., 2022; Apache-2.0): Chinese comments on race, region and gender, offensive or not."""
    for row in read_table(path):
        offensive = row["label"] == "1"
        unknown = frozenset({"violence", "sexual", "self_harm"}) if offensive else frozenset[str]()
        yield Example(row["TEXT"], source, of("hate") if offensive else frozenset(), unknown)


def davidson(path: Path) -> Iterator[Example]:
    """Davidson et al., 2017 (MIT): English tweets; 0 hate, 1 offensive, 2 neither. Offensive is often only slang."""
    weights = {"0": 1.0, "1": 0.3, "2": 1.0}
    for row in read_table(path):
        bad = row["class"] != "2"
        unknown = frozenset({"violence", "sexual"}) if bad else frozenset[str]()
        yield Example(row["text"], "davidson", of("hate") if bad else frozenset(), unknown, weights[row["class"]])


def clean_queries(data: Path, clinc_parts: tuple[str, ...], bank: str) -> Iterator[Example]:
    """CLINC150 (CC-BY-3.0) and banking77 (CC-BY-4.0): ordinary questions to an assistant."""
    yield from (Example(text, "clinc") for text in read_clinc(data / "clinc.json", *clinc_parts).texts)
    yield from (Example(row["text"], "banking77") for row in read_table(data / bank))


def seeds(weight: float = 3.0) -> Iterator[Example]:
    """Our own sentences: `clean` and one table a category, each by language."""
    for name, languages in _toml("moderation").items():
        for language, texts in languages.items():
            yield from (_own(text, name, language, weight) for text in texts)


def actions(seed: int = 0, weight: float = 1.0) -> Iterator[Example]:
    """Each of our actions in a few frames, drawn with `seed`."""
    tables = _toml("actions")
    frames = tables.pop("frames")
    draw = random.Random(seed)
    for name, languages in tables.items():
        for language, texts in languages.items():
            for text in texts:
                picked = draw.sample(frames[language], FRAMES_AN_ACTION)
                yield from (_own(frame.format(text), name, language, weight) for frame in picked)


def _own(text: str, name: str, language: str, weight: float) -> Example:
    """Whether a request to hurt somebody is also illicit is left open; no harmful one is an injection."""
    positive = frozenset[str]() if name == "clean" else of(name)
    return Example(
        text, f"seeds-{language}", positive, ALL - positive - of("injection") if positive else frozenset(), weight
    )


def _toml(name: str) -> dict[str, dict[str, list[str]]]:
    tables: dict[str, dict[str, list[str]]] = tomllib.loads((SEEDS / f"{name}.toml").read_text(encoding="utf-8"))
    return tables


def intent_seeds() -> Iterator[Example]:
    yield from (Example(text, "seeds-zh", weight=2.0) for text in read_seeds().texts)
