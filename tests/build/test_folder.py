import os
from pathlib import Path

import pytest

from chainserve.errors import Unavailable
from chainserve_build.folder import built_folder, require_space


def build(target: Path, text: str) -> None:
    with built_folder(target) as folder:
        (folder / "file").write_text(text)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_a_finished_build_takes_its_place(tmp_path: Path) -> None:
    build(tmp_path / "deep" / "cpu", "one")
    assert (tmp_path / "deep" / "cpu" / "file").read_text() == "one"
    assert names(tmp_path / "deep") == {"cpu"}


def test_a_later_build_replaces_it_whole(tmp_path: Path) -> None:
    build(tmp_path / "cpu", "one")
    (tmp_path / "cpu" / "extra").touch()
    build(tmp_path / "cpu", "two")
    assert (tmp_path / "cpu" / "file").read_text() == "two"
    assert names(tmp_path / "cpu") == {"file"}
    assert names(tmp_path) == {"cpu"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interrupted_build_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    build(tmp_path / "cpu", "one")
    with pytest.raises(error), built_folder(tmp_path / "cpu") as folder:
        raise error((folder / "file").write_text("half"))
    assert (tmp_path / "cpu" / "file").read_text() == "one"
    assert names(tmp_path) == {"cpu"}


def test_what_a_killed_build_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".cpu.building-x1").mkdir()
    (tmp_path / ".gpu.building-x1").mkdir()
    build(tmp_path / "cpu", "one")
    assert names(tmp_path) == {"cpu", ".gpu.building-x1"}


def test_one_build_of_a_target_at_a_time(tmp_path: Path) -> None:
    with (
        built_folder(tmp_path / "cpu"),
        pytest.raises(Unavailable, match="another build"),
        built_folder(tmp_path / "cpu"),
    ):
        pass


def test_the_folder_is_readable_by_others(tmp_path: Path) -> None:
    build(tmp_path / "cpu", "one")
    assert os.stat(tmp_path / "cpu").st_mode & 0o777 == 0o755  # noqa: PTH116 the mode is the point


def test_a_full_disk_is_seen_before_the_work(tmp_path: Path) -> None:
    require_space(tmp_path, 1)
    with pytest.raises(Unavailable, match="MB of free disk"):
        require_space(tmp_path, 1 << 60)
