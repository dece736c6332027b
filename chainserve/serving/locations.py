"""Where things are unless an option says otherwise."""

from pathlib import Path

import chainserve
from chainserve.serving.options import Ports, Profile

DEFAULT_PORTS = Ports(http=8000, grpc=8001, metrics=8002)


def default_repository() -> Path:
    """`model_repository` of the checkout that this package is installed from, else of the current folder."""
    checkout = Path(chainserve.__file__).parents[1] / "model_repository"
    return checkout if checkout.is_dir() else Path.cwd() / "model_repository"


def default_engine_dir(repository: Path, profile: Profile) -> Path:
    return repository.parent / "engines" / profile


def default_data_dir(repository: Path) -> Path:
    return repository.parent / "var"


def default_run_dir(data_dir: Path, ports: Ports) -> Path:
    """One per HTTP port: a second server on the machine gets its own, and a restart finds the same."""
    return data_dir / "run" / str(ports.http)
