"""What goes into a prompt besides the question, and in which order it is left out when there is no room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from chainserve.messages import Context, Passage
from chainserve.prompt.conversation import Turn
from chainserve.prompt.policy import Budgets

Item = TypeVar("Item")


@dataclass(frozen=True)
class Selection:
    """`passages` best first, `turns` oldest first."""

    profile: str = ""
    passages: tuple[Passage, ...] = ()
    turns: tuple[Turn, ...] = ()

    def less(self) -> "Selection":
        """Without its least valuable item: the oldest turn, else the lowest passage, else the profile."""
        if self.turns:
            return replace(self, turns=self.turns[1:])
        if self.passages:
            return replace(self, passages=self.passages[:-1])
        return Selection()


@dataclass(frozen=True)
class Costs:
    """Tokens of one item with what frames it; `reference` frames all passages together.

    Joined text may take a few more or less: the caller checks the whole.
    """

    profile: Callable[[str], int]
    reference: int
    passage: Callable[[Passage], int]
    turn: Callable[[Turn], int]


def select(context: Context, turns: Sequence[Turn], budgets: Budgets, room: int, costs: Costs) -> Selection:
    """The most valuable items that fit into `room` tokens. Items are whole; each is counted once, newest turn first.

    A passage that does not fit gives its place to the next. A turn that does not fit ends the history: a gap would
    change what the later turns mean.
    """
    profile, left = _fitting([context.profile] if context.profile else [], budgets.profile, room, costs.profile)
    ranked = sorted(context.passages, key=lambda passage: -passage.score)
    passages, inside = _fitting(ranked, budgets.passages - costs.reference, left - costs.reference, costs.passage)
    left = inside if passages else left
    latest = _latest(turns, min(budgets.history, left), costs.turn)
    return Selection("".join(profile), tuple(passages), latest)


def _fitting(items: Sequence[Item], budget: int, room: int, cost: Callable[[Item], int]) -> tuple[list[Item], int]:
    """The items that fit into `budget` and `room`, in order, and the room that is left."""
    taken, left = [], min(budget, room)
    for item in items:
        tokens = cost(item)
        if tokens <= left:
            taken.append(item)
            left -= tokens
    return taken, room - (min(budget, room) - left)


def _latest(turns: Sequence[Turn], left: int, cost: Callable[[Turn], int]) -> tuple[Turn, ...]:
    kept = len(turns)
    while kept and (tokens := cost(turns[kept - 1])) <= left:
        kept -= 1
        left -= tokens
    return tuple(turns[kept:])
