"""What of a prompt is already in the KV cache.

OpenVINO GenAI does not report how much of a prompt it found in its prefix cache. Its rule is known, so it is followed
here: keys and values are kept in blocks of `block_size` tokens, found by everything from the first token to the end of
the block; blocks of a prompt can be found once they are computed, the last, partly filled block of a sequence once the
sequence has ended; when the cache is full, the block that was used longest ago goes first. (openvino.genai,
src/cpp/src/continuous_batching/cache/block_manager.hpp.) A server test checks the figures against the number of steps
that prompts really take.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reuse:
    blocks: int = 0
    tokens: int = 0


class PrefixLedger:
    """Args: block_size: tokens in a block; capacity: blocks in the cache, 0 where nothing is kept."""

    def __init__(self, block_size: int, capacity: int) -> None:
        self._block_size, self._capacity = block_size, capacity
        self._known: OrderedDict[int, None] = OrderedDict()

    def find(self, ids: Sequence[int]) -> Reuse:
        """What a prompt finds if it is queued now. The last token is always computed: it gives the first output."""
        blocks, tokens = 0, 0
        for key, end in self._blocks(ids):
            if key not in self._known:
                break
            self._known.move_to_end(key)
            blocks, tokens = blocks + 1, end
        tail = self._longest_tail(ids, tokens)
        return Reuse(blocks + (tail > 0), min(tokens + tail, max(0, len(ids) - 1)))

    def keep(self, ids: Sequence[int], *, ended: bool) -> None:
        """Blocks of `ids` are computed; the partly filled last one counts once the sequence has `ended`."""
        for key, end in self._blocks(ids):
            if ended or end % self._block_size == 0:
                self._known[key] = None
                self._known.move_to_end(key)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)

    def _blocks(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """A key for each block, the last one maybe partly filled, and where the block ends."""
        key = 0
        for start in range(0, len(ids), self._block_size):
            block = tuple(ids[start : start + self._block_size])
            key = hash((key, block))
            yield key, start + len(block)

    def _longest_tail(self, ids: Sequence[int], start: int) -> int:
        """Tokens of a partly filled block that continue the prompt after `start`: the shortest is taken."""
        key = self._key_at(ids, start)
        rest = tuple(ids[start : start + self._block_size - 1])
        found = (size for size in range(1, len(rest)) if hash((key, rest[:size])) in self._known)
        return next(found, 0)

    def _key_at(self, ids: Sequence[int], end: int) -> int:
        return next((key for key, place in self._blocks(ids) if place == end), 0)
