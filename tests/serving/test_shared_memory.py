import fcntl
from pathlib import Path

from chainserve.serving.shared_memory import shared_memory, sweep


def test_own_regions_go_at_the_end_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "other_region").touch()
    with shared_memory(tmp_path) as prefix:
        (tmp_path / f"{prefix}region").touch()
    assert [file.name for file in tmp_path.iterdir()] == ["other_region"]


def test_two_servers_do_not_share_a_prefix(tmp_path: Path) -> None:
    with shared_memory(tmp_path) as one, shared_memory(tmp_path) as two:
        assert not one.startswith(two)
        assert not two.startswith(one)
        assert len(list(tmp_path.iterdir())) == 2


def test_the_next_server_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    (tmp_path / "chainserve_0a_lock").touch()
    (tmp_path / "chainserve_0a_region").touch()
    with shared_memory(tmp_path):
        assert not list(tmp_path.glob("chainserve_0a_*"))


def test_a_living_server_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "chainserve_0a_region").touch()
    with (tmp_path / "chainserve_0a_lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sweep(tmp_path)
        assert (tmp_path / "chainserve_0a_region").exists()
