"""Passages that say the same in the same words, but for a few."""

import math
from collections import defaultdict
from collections.abc import Sequence

NEAR = 0.8
"""Jaccard index of the shingles from which two texts count as one."""

_SHINGLE = 3


class Fingerprint:
    """The character 3-grams of a text, letters and digits only: no spaces needed, so it fits Chinese too."""

    def __init__(self, text: str) -> None:
        letters = "".join(filter(str.isalnum, text.casefold()))
        self.grams = {letters[at : at + _SHINGLE] for at in range(max(1, len(letters) - _SHINGLE + 1))}

    def near(self, other: "Fingerprint") -> bool:
        """Meaning is not compared: "the capital of France" and "the capital of Spain" are near in every encoder."""
        if min(len(self.grams), len(other.grams)) < NEAR * max(len(self.grams), len(other.grams)):
            return False
        return len(self.grams & other.grams) >= NEAR * len(self.grams | other.grams)

    def prefix(self) -> list[str]:
        """So many grams, the first in one order for all texts, that two near texts share one of them.

        Prefix filtering: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins", 2006.
        """
        ordered = sorted(self.grams)
        return ordered[: len(ordered) - math.ceil(NEAR * len(ordered)) + 1]


def distinct(texts: Sequence[str]) -> list[int]:
    """The places of the texts that are near no earlier one."""
    kept: dict[int, Fingerprint] = {}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        fingerprint = Fingerprint(text)
        prefix = fingerprint.prefix()
        if not any(fingerprint.near(kept[other]) for gram in prefix for other in having[gram]):
            kept[place] = fingerprint
            for gram in prefix:
                having[gram].append(place)
    return list(kept)
