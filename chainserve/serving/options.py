"""What one `chainserve serve` was asked to do."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Profile(StrEnum):
    CPU = "cpu"
    GPU = "gpu"


class LogLevel(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    VERBOSE = "verbose"


@dataclass(frozen=True)
class Ports:
    http: int
    grpc: int
    metrics: int


@dataclass(frozen=True)
class ServeOptions:
    """Times in seconds. `models` empty means the whole repository; an ensemble brings the models it is made of."""

    profile: Profile
    repository: Path
    engine_dir: Path
    data_dir: Path
    run_dir: Path
    ports: Ports
    host: str = "127.0.0.1"
    log_level: LogLevel = LogLevel.INFO
    start_timeout: float = 300.0
    drain_timeout: float = 60.0
    exit_timeout: int = 10
    open_admin: bool = False
    models: tuple[str, ...] = ()
