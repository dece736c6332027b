"""How well the moderation model as served does on texts it has not learnt from, per category and language."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from chainserve.config import load_toml
from chainserve.guards.decision import Check, Guard
from chainserve.guards.moderator import Moderator
from chainserve.guards.rules import RuleGuard
from chainserve.guards.settings import ModerationSettings, RulesSettings
from chainserve_build.train.embedding import EmbeddingCache
from chainserve_build.train.examples import CATEGORIES, Example, clean_queries, cold
from chainserve_build.train.moderation import fit, training_examples
from chainserve_build.train.network import Recipe
from chainserve_build.train.wheels import Wheels

Metrics = dict[str, dict[str, float]]
_BATCH = 256


def evaluate(model_dir: Path, data: Path, wheels: Wheels, prompts: Path) -> Metrics:
    """Both guards as committed, with their policies."""
    moderator = Moderator.load(model_dir, load_toml(model_dir / "moderation.toml", ModerationSettings))
    rules = RuleGuard.load(model_dir, load_toml(model_dir / "rules.toml", RulesSettings))
    second = measure(rules, data, wheels, prompts)
    return measure(moderator, data, wheels, prompts) | {f"second guard, {name}": row for name, row in second.items()}


def measure(guard: Guard, data: Path, wheels: Wheels, prompts: Path) -> Metrics:
    injections = [*wheels.injections("test")]
    clean = {
        "CLINC150 and banking77, test (en)": clean_queries(data, ("test", "oos_test"), "bank_test.csv"),
        "reviews, held out (zh)": wheels.reviews(8000, 10000),
        "S-Labs, harmless test rows (en)": (example for example in injections if not example.positive),
        "COLD, harmless dev rows (zh)": (e for e in cold(data / "cold_dev.csv", "cold") if not e.positive),
    }
    return {
        **{f"false alarms: {name}": _alarms(guard, [*rows]) for name, rows in clean.items()},
        "hate: COLD dev (zh)": _category(guard, [*cold(data / "cold_dev.csv", "cold")], "hate"),
        "injection: S-Labs test (en)": _category(guard, injections, "injection"),
        **_prompts(guard, prompts),
    }


def by_source(data: Path, wheels: Wheels, cache: EmbeddingCache, recipe: Recipe, threshold: float) -> Metrics:
    """Recall on a source that training did not see: what a new source of harmful requests may expect."""
    examples = [*training_examples(data, wheels)]
    return {
        f"source left out: {source}": _left_out(examples, source, cache, recipe, threshold)
        for source in ("do-not-answer", "harmbench", "seeds-zh")
    }


def _left_out(
    examples: Sequence[Example], source: str, cache: EmbeddingCache, recipe: Recipe, t: float
) -> dict[str, float]:
    head = fit([example for example in examples if example.source != source], cache, recipe)
    bad = [example.text for example in examples if example.source == source and example.positive]
    scores = 1 / (1 + np.exp(-head.logits(cache.encode(bad), bad)))
    return {"n": len(bad), "recall": _share((scores >= t).any(axis=1))}


def _flags(guard: Guard, texts: Sequence[str]) -> list[str]:
    """The category that a user's text is flagged with, "" where it is not."""
    starts = range(0, len(texts), _BATCH)
    batches = ([Check(text) for text in texts[start : start + _BATCH]] for start in starts)
    return [verdict.category for batch in batches for verdict in guard.moderate(batch)]


def _alarms(guard: Guard, examples: Sequence[Example]) -> dict[str, float]:
    flags = _flags(guard, [example.text for example in examples])
    return {"n": len(flags), "flagged": _share(flag != "" for flag in flags)}


def _category(guard: Guard, examples: Sequence[Example], category: str) -> dict[str, float]:
    flags = np.array([flag != "" for flag in _flags(guard, [example.text for example in examples])])
    truth = np.array([category in example.positive for example in examples])
    return {"n": len(truth), "precision": _share(truth[flags]), "recall": _share(flags[truth])}


def _prompts(guard: Guard, path: Path) -> Metrics:
    """Our own held-out prompts, `language category text`; recall counts any flag, `named` the right category."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    flags = _flags(guard, [text for _, _, text in rows])
    metrics: Metrics = {}
    for language in ("en", "zh"):
        for category in (*CATEGORIES, ""):
            mine = [f for f, (lang, cat, _) in zip(flags, rows, strict=True) if (lang, cat) == (language, category)]
            row = {"n": len(mine), "flagged": _share(flag != "" for flag in mine)}
            named = {"named": _share(flag == category for flag in mine)} if category else {}
            metrics[f"own prompts: {category or 'harmless, made to look harmful'} ({language})"] = row | named
    return metrics


def _share(hits: Iterable[bool]) -> float:
    values = [*hits]
    return round(float(np.mean(values)), 4) if values else 0.0
