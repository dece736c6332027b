"""What of a text is judged: its sentences one by one, and windows over all of it. The worst one counts.

A sentence alone shows harm that its neighbours would thin out; a window shows what two sentences only say together.
"""

import re
from collections.abc import Iterator

from chainserve.encoder import SentenceEncoder

# Chinese full stops need no space after them, Latin ones do ("3.5", "e.g.x").
_SENTENCE = re.compile(r".+?(?:[。！？；…!?]+|[.;](?=\s)|$)", re.DOTALL)


def segments(text: str, encoder: SentenceEncoder, tokens: int, overlap: int) -> list[str]:
    """Each at most `tokens` tokens of `encoder`; windows share `overlap`. No segment twice; none for an empty text."""
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(text)]
    wholes = encoder.windows(text, tokens, overlap) if text else []
    return list(dict.fromkeys([*wholes, *_bounded(sentences, encoder, tokens, overlap)]))


def _bounded(sentences: list[str], encoder: SentenceEncoder, tokens: int, overlap: int) -> Iterator[str]:
    for sentence in dict.fromkeys(sentences):
        if sentence:
            yield from encoder.windows(sentence, tokens, overlap)
