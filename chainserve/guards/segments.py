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
    pieces = [text, *sentences(text)] if text else []
    bounded = (window for piece in dict.fromkeys(pieces) for window in encoder.windows(piece, tokens, overlap))
    return list(dict.fromkeys(bounded))


def sentences(text: str) -> Iterator[str]:
    """None is empty."""
    return (sentence for match in _SENTENCE.findall(text) if (sentence := match.strip()))
