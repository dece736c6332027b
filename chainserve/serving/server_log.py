"""The one line of tritonserver's log that says what went wrong."""

import re
from pathlib import Path

_ERROR = re.compile(r'^E\d{4} \S+ \d+ \S+\] "?(?P<text>.*?)"?$')
_FATAL = re.compile(r"^error: (?P<text>.*)$")
_LOAD = re.compile(r"^failed to load '(?P<model>[^']+)' version \d+: (?:\w+: )?(?P<why>.*)$", re.DOTALL)
# Said by every start without a GPU driver, and by every start that fails.
_SAYS_NOTHING = (
    "CudaDriverHelper has not been initialized",
    "unable to create stream for ensemble: CUDA driver",
    "creating server: Internal - failed to load all models",
)


def error_line(log: Path) -> str:
    """The first model that failed to load, else the last error, else nothing."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    errors = [text for text in map(_error_text, lines) if text and not text.startswith(_SAYS_NOTHING)]
    for text in errors:
        if failed := _LOAD.match(text):
            return f"model {failed['model']}: {_first_line(failed['why'])}"
    return _first_line(errors[-1]) if errors else ""


def _error_text(line: str) -> str:
    found = _ERROR.match(line) or _FATAL.match(line)
    return found["text"] if found else ""


def _first_line(text: str) -> str:
    """Triton writes a line break as a backslash and an n. A line that ends in a colon says nothing without the next."""
    lines = [line.strip() for line in text.replace("\\n", "\n").strip().split("\n")]
    first = next((index for index, line in enumerate(lines) if not line.endswith(":")), 0)
    return " ".join(lines[: first + 1])
