"""One plain form of a text before it is judged, so that spelling tricks do not pass."""

import re
import unicodedata

# Letters of other scripts that look Latin, undone only inside words that mix scripts.
_LOOKALIKES = str.maketrans("аеорсухіјѕһԁ" + "αοερτιν", "aeopcyxijshd" + "aoeptiv")
_HAN = r"\u3400-\u9fff"
_MIXED = re.compile(r"\w*(?:[a-zA-Z][\u0370-\u04ff]|[\u0370-\u04ff][a-zA-Z])\w*")
# "k i l l", "k.i.l.l": four single letters or more, with the same one character between them.
_SPACED_LETTERS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]([ .*_\-])(?:[A-Za-z]\1){2,}[A-Za-z](?![A-Za-z0-9])")
# "自.杀", "自 杀": what stands between two Chinese characters and ends no clause.
_SPLIT_HAN = re.compile(rf"(?<=[{_HAN}])[ .*_\-·|/~^+=]{{1,3}}(?=[{_HAN}])")
_SPACES = re.compile(r"\s+")


def normalise(text: str) -> str:
    """NFKC (full-width forms become plain), no invisible characters, single spaces, split words joined again."""
    plain = unicodedata.normalize("NFKC", text)
    if not plain.isascii():
        plain = "".join(character for character in plain if not _invisible(character))
        plain = _MIXED.sub(lambda match: match[0].translate(_LOOKALIKES), plain)
        plain = _SPLIT_HAN.sub("", plain)
    plain = _SPACED_LETTERS.sub(lambda match: match[0].replace(match[1], ""), plain)
    return _SPACES.sub(" ", plain).strip()


def _invisible(character: str) -> bool:
    """Zero-width, direction and soft-hyphen marks (Cf), variation selectors, Hangul fillers, stray controls."""
    if character in "\n\t\r\v\f":
        return False
    return (
        unicodedata.category(character) in {"Cf", "Cc"}
        or "\ufe00" <= character <= "\ufe0f"
        or character in "\u115f\u1160\u3164"
    )
