"""Documents into passages: whole paragraphs where they fit, else whole sentences, English and Chinese."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
# Chinese ends a sentence without a space; a Latin full stop needs one, or 3.14 would be two sentences.
_SENTENCES = re.compile(r"(?<=[。！？；])|(?<=[.!?])\s+")
_WIDE = {"W", "F"}


def passages_of(text: str, width: int) -> list[str]:
    """Passages of at most `width`, in order. A Markdown heading leads each passage below it; sections are not mixed.

    Width is in columns, where a Chinese character counts two: it also says about twice as much.
    """
    return [passage for heading, body in _sections(text) for passage in _packed(heading, body, width)]


def columns(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(character) in _WIDE for character in text)


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """A heading ("" before the first) and the paragraphs below it."""
    heading, body = "", list[str]()
    for paragraph in _paragraphs(text):
        if found := _HEADING.match(paragraph):
            yield heading, body
            heading, body = found[1], []
        else:
            body.append(paragraph)
    yield heading, body


def _paragraphs(text: str) -> Iterator[str]:
    """Headings stand alone, with or without an empty line after them; other line breaks are the author's wrapping."""
    for block in _PARAGRAPHS.split(text.replace("\r\n", "\n")):
        lines = [line.strip() for line in block.split("\n") if line.strip()]
        while lines and _HEADING.match(lines[0]):
            yield lines.pop(0)
        if lines:
            yield _joined(lines)


def _joined(lines: list[str]) -> str:
    text = lines[0]
    for line in lines[1:]:
        text += line if _wide(text[-1]) and _wide(line[0]) else f" {line}"
    return text


def _packed(heading: str, paragraphs: Iterable[str], width: int) -> Iterator[str]:
    lead = f"{heading}: " if heading else ""
    room = max(1, width - columns(lead))
    held = ""
    for piece in (piece for paragraph in paragraphs for piece in _pieces(paragraph, room)):
        joined = f"{held}\n{piece}" if held else piece
        if columns(joined) > room:
            yield lead + held
            joined = piece
        held = joined
    if held:
        yield lead + held


def _pieces(paragraph: str, room: int) -> Iterator[str]:
    """The paragraph, or runs of its sentences, or cuts of a sentence that is too long itself."""
    if columns(paragraph) <= room:
        yield paragraph
        return
    held = ""
    for sentence in filter(None, _SENTENCES.split(paragraph)):
        joined = f"{held}{_gap(held, sentence)}{sentence}"
        if held and columns(joined) > room:
            yield from _cut(held, room)
            joined = sentence
        held = joined
    yield from _cut(held, room)


def _gap(before: str, after: str) -> str:
    return " " if before and not (_wide(before[-1]) or _wide(after[0])) else ""


def _cut(text: str, room: int) -> Iterator[str]:
    """At the last space that fits, else where the room ends."""
    start = 0
    while (end := _reach(text, start, room)) < len(text):
        space = text.rfind(" ", start + 1, end + 1)
        end = space if space > 0 else end
        yield text[start:end].strip()
        start = end
    if text[start:].strip():
        yield text[start:].strip()


def _reach(text: str, start: int, room: int) -> int:
    """Where the `room` columns that begin at `start` end; one character at least."""
    used = 0
    for place in range(start, len(text)):
        used += columns(text[place])
        if used > room:
            return max(start + 1, place)
    return len(text)


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in _WIDE
