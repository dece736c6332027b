"""The language to answer in, by script: cheap, and enough to choose between English and Chinese."""

import re
from typing import Literal

Language = Literal["en", "zh"]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")


def language_of(text: str) -> Language:
    """Chinese where there are as many Chinese characters as Latin words: "帮我写一个 Python function" is Chinese.

    A character carries about as much as a word. Neither script: English.
    """
    han, words = len(_HAN.findall(text)), len(_LATIN_WORD.findall(text))
    return "zh" if han and han >= words else "en"
