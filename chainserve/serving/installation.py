"""The tritonserver on this machine: NVIDIA's container, or the one inside the nvidia-pytriton wheel.

Of the wheel only the binary, the Python backend, its stub and the response cache are used, never PyTriton's API.
"""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from chainserve.errors import NotFound, Unsupported
from chainserve.serving.libpython import find_libpython
from chainserve.serving.options import Profile

CONTAINER = Path("/opt/tritonserver")


@dataclass(frozen=True)
class Installation:
    """`libpython` is None where the system's loader finds what the stub needs by itself."""

    server: Path
    backends: Path
    caches: Path
    libpython: Path | None


def find_installation(profile: Profile, run_dir: Path, container: Path = CONTAINER) -> Installation:
    """Prepare `run_dir` where that is needed.

    Raises:
        NotFound: no tritonserver, no stub for this Python, or no libpython; one line says what to install.
        Unsupported: the profile needs a backend that is not there.
    """
    if (container / "bin" / "tritonserver").exists():
        found = Installation(container / "bin" / "tritonserver", container / "backends", container / "caches", None)
    else:
        found = _from_wheel(_wheel_folder(), run_dir)
    if profile is Profile.GPU and not (found.backends / "tensorrtllm").is_dir():
        raise Unsupported(f"profile gpu needs Triton's TensorRT-LLM backend, and {found.backends} has none: use cpu")
    return found


def _wheel_folder() -> Path:
    spec = find_spec("pytriton")  # finds the package without running any of it
    if spec is None or spec.origin is None:
        raise NotFound("no tritonserver here: install `chainserve[cpu]`, or run inside NVIDIA's Triton container")
    return Path(spec.origin).parent / "tritonserver"


def _from_wheel(wheel: Path, run_dir: Path) -> Installation:
    backends = run_dir / "backends"
    assemble_backend(wheel, backends / "python")
    return Installation(wheel / "bin" / "tritonserver", backends, wheel / "caches", find_libpython())


def assemble_backend(wheel: Path, folder: Path) -> None:
    """Links to the Python backend and to the stub of this Python, side by side, as the backend looks for them.

    Raises:
        NotFound: the wheel has no stub for the running Python.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = wheel / "python_backend_stubs" / version / "triton_python_backend_stub"
    if not stub.exists():
        raise NotFound(f"nvidia-pytriton has no stub for Python {version}: use Python 3.11 or 3.12")
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*(wheel / "backends" / "python").iterdir(), stub):
        _link(folder / file.name, file)


def _link(link: Path, target: Path) -> None:
    if not (link.is_symlink() and link.readlink() == target):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
