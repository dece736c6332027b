import sys
from pathlib import Path

import pytest

from chainserve.errors import NotFound
from chainserve.serving import libpython


def test_the_running_python_has_one() -> None:
    assert libpython.find_libpython().name == libpython.library_name(sys.version_info[:2])


def test_the_first_that_exists_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "libpython.so"
    there.touch()
    monkeypatch.setattr(libpython, "_candidates", lambda _name: iter([tmp_path / "missing", there, Path("/later")]))
    assert libpython.find_libpython() == there


def test_none_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libpython, "_candidates", lambda _name: iter(()))
    package = f"libpython3.{sys.version_info.minor}"
    with pytest.raises(NotFound, match=rf"apt-get install {package}`$"):
        libpython.find_libpython()
