from pathlib import Path

import pytest

from chainserve.config import Settings, load_toml
from chainserve.errors import InvalidInput, NotFound


class Limits(Settings):
    turns: int


def write(folder: Path, text: str) -> Path:
    path = folder / "limits.toml"
    path.write_text(text)
    return path


def test_values_are_read(tmp_path: Path) -> None:
    assert load_toml(write(tmp_path, "turns = 3"), Limits).turns == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("turns = 3\nturn = 4", "turn: Extra inputs"), ("turns = 'x'", "turns: .*integer"), ("turns =", "not TOML")],
)
def test_a_bad_file_names_itself_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=f"limits.toml: {complaint}"):
        load_toml(write(tmp_path, text), Limits)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing.toml: No such file"):
        load_toml(tmp_path / "nothing.toml", Limits)
