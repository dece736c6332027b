r"""Personal data by rule: each kind is a pattern and, where the number carries one, its checksum.

Patterns end at characters that could go on with the number, never at `\b`: Chinese has no spaces around it.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Rule:
    """`score` is how surely a match is somebody's; `holds` says whether a match is a real one."""

    kind: str
    pattern: re.Pattern[str]
    score: float
    holds: Callable[[str], bool]


def find(text: str) -> Iterator[tuple[str, float]]:
    """The kinds of personal data in `text` (normalised), each once, with its score."""
    for rule in _RULES:
        if any(rule.holds(match[0]) for match in rule.pattern.finditer(text)):
            yield rule.kind, rule.score


def score(text: str) -> float:
    """The surest find, 0 where there is none."""
    return max((value for _, value in find(text)), default=0.0)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _always(_: str) -> bool:
    return True


def luhn(text: str) -> bool:
    """The checksum of payment cards (ISO/IEC 7812-1)."""
    digits = [int(digit) for digit in reversed(_digits(text))]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def chinese_id(text: str) -> bool:
    """The resident identity number (GB 11643-1999): a real date of birth, and ISO 7064 MOD 11-2."""
    try:
        date.fromisoformat(text[6:14])
    except ValueError:
        return False
    weighted = sum(int(digit) * pow(2, 17 - index, 11) for index, digit in enumerate(text[:17]))
    return "10X98765432"[weighted % 11] == text[17].upper()


def iban(text: str) -> bool:
    """ISO 13616: the number with its first four characters moved to the end is 1 modulo 97."""
    plain = text.replace(" ", "")
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _public_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False


def _private_mail(text: str) -> bool:
    """Not a name reserved for examples (RFC 2606)."""
    domain = text.rsplit("@", 1)[1].lower()
    return not re.search(r"(^|\.)(example\.(com|org|net)|example|test|invalid|localhost)$", domain)


def _phone(text: str) -> bool:
    """Eight to fifteen digits (ITU-T E.164), and not a toll-free line."""
    digits = _digits(text)
    return 8 <= len(digits) <= 15 and not re.match(r"1?8(00|88|77|66|55|44|33)", digits)  # noqa: PLR2004 E.164


def _rule(kind: str, pattern: str, score: float, holds: Callable[[str], bool] = _always) -> Rule:
    return Rule(kind, re.compile(pattern), score, holds)


# Sixteen digits in fours, fifteen as American Express prints them, or thirteen to nineteen in a row.
_CARD = (
    r"(?<![\d.])(?:[3-6]\d{3}([- ]?)\d{4}\1\d{4}\1\d{4}(?![- ]?\d)"
    r"|3[47]\d{2}([- ]?)\d{6}\2\d{5}(?!\d)|[3-6]\d{12,18}(?!\d))"
)
_RULES = (
    _rule(
        "email",
        r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24}",
        0.95,
        _private_mail,
    ),
    _rule("chinese_mobile", r"(?<![\d.])(?:\+?86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)", 0.95),
    _rule("chinese_landline", r"(?<![\d.])0\d{2,3}[- ]\d{7,8}(?!\d)", 0.9),
    _rule("phone", r"(?<![\w.])(?:\+?1[-. ]?)?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[-. ])\d{3}[-. ]\d{4}(?!\d)", 0.9, _phone),
    _rule("phone", r"(?<![\w.+])\+[1-9]\d{0,2}(?:[- ]?\(?\d{1,4}\)?){2,5}(?!\d)", 0.9, _phone),
    _rule("card", _CARD, 0.95, luhn),
    _rule("ssn", r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])", 0.95),
    _rule("chinese_id", r"(?<!\d)[1-9]\d{16}[\dXx](?![\dA-Za-z])", 1.0, chinese_id),
    _rule("iban", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", 1.0, iban),
    # An address is somebody's only with a provider's help, and a version number may look like one.
    _rule("ip", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", 0.6, _public_address),
)
