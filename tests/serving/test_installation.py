import sys
from pathlib import Path

import pytest

from chainserve.errors import NotFound, Unsupported
from chainserve.serving.installation import assemble_backend, find_installation
from chainserve.serving.options import Profile

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """As nvidia-pytriton lays it out."""
    backend, stubs = tmp_path / "wheel/backends/python", tmp_path / f"wheel/python_backend_stubs/{VERSION}"
    for folder in (backend, stubs):
        folder.mkdir(parents=True)
    (backend / "libtriton_python.so").touch()
    (stubs / "triton_python_backend_stub").touch()
    return tmp_path / "wheel"


def container(folder: Path, *backends: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/tritonserver").touch()
    for name in backends:
        (folder / "backends" / name).mkdir(parents=True)
    return folder


def test_backend_and_stub_lie_side_by_side(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run/backends/python"
    assemble_backend(wheel, folder)
    assert {file.name for file in folder.iterdir()} == {"libtriton_python.so", "triton_python_backend_stub"}
    assert all(file.resolve().is_relative_to(wheel) for file in folder.iterdir())


def test_assembling_again_mends_what_is_stale(wheel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "python"
    folder.mkdir()
    (folder / "libtriton_python.so").symlink_to(tmp_path / "gone")
    assemble_backend(wheel, folder)
    assemble_backend(wheel, folder)
    assert (folder / "libtriton_python.so").exists()


def test_a_python_without_stub_is_named(wheel: Path, tmp_path: Path) -> None:
    (wheel / f"python_backend_stubs/{VERSION}/triton_python_backend_stub").unlink()
    with pytest.raises(NotFound, match=f"no stub for Python {VERSION}"):
        assemble_backend(wheel, tmp_path / "python")


def test_the_wheel_serves_where_there_is_no_container(tmp_path: Path) -> None:
    found = find_installation(Profile.CPU, tmp_path, container=tmp_path / "none")
    assert found.server.exists()
    assert (found.backends / "python/triton_python_backend_stub").exists()
    assert (found.caches / "local").is_dir()


def test_the_container_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = container(tmp_path / "tritonserver", "python", "tensorrtllm")
    found = find_installation(Profile.GPU, tmp_path / "run", container=folder)
    assert (found.server, found.libpython) == (folder / "bin/tritonserver", None)
    assert not (tmp_path / "run").exists()


def test_the_gpu_profile_needs_its_backend(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="TensorRT-LLM backend"):
        find_installation(Profile.GPU, tmp_path, container=container(tmp_path / "tritonserver", "python"))


def test_neither_container_nor_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chainserve.serving.installation.find_spec", lambda _name: None)
    with pytest.raises(NotFound, match=r"install `chainserve\[cpu\]`"):
        find_installation(Profile.CPU, tmp_path, container=tmp_path / "none")
