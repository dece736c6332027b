"""The command line and the environment of tritonserver."""

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from chainserve.environment import DATA_DIR, ENGINE_DIR, RUN_DIR
from chainserve.serving.installation import Installation
from chainserve.serving.options import LogLevel, Profile, ServeOptions

ADMIN_APIS = "model-repository,shared-memory,trace,logging"
ADMIN_HEADER = "chainserve-admin"

# Each blocking call of a model into Triton holds a thread of this pool; streams are pumped from such threads.
_BACKEND_THREADS = 128
# Eleven stubs that import an engine at once on two cores take longer than Triton's 30 seconds.
_STUB_TIMEOUT_S = 180
_LEVELS = (LogLevel.ERROR, LogLevel.WARNING, LogLevel.INFO)


def server_command(options: ServeOptions, installation: Installation, shm_prefix: str) -> list[str]:
    return [
        str(installation.server),
        f"--model-repository={options.repository}",
        f"--backend-directory={installation.backends}",
        f"--cache-directory={installation.caches}",
        f"--exit-timeout-secs={options.exit_timeout}",
        f"--backend-config=python,thread-pool-size={_BACKEND_THREADS}",
        f"--backend-config=python,stub-timeout-seconds={_STUB_TIMEOUT_S}",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        "--metrics-config=summary_latencies=true",
        *_addresses(options),
        *_profile(options.profile),
        *_models(options),
        *_log(options.log_level),
        *([] if options.open_admin else closed_admin()),
    ]


def _addresses(options: ServeOptions) -> list[str]:
    names = ("http", "grpc", "metrics")
    return [
        *(f"--{name}-address={options.host}" for name in names),
        *(f"--{name}-port={getattr(options.ports, name)}" for name in names),
    ]


def _profile(profile: Profile) -> list[str]:
    """Triton takes `configs/cpu.pbtxt` where a model has one and `config.pbtxt` elsewhere."""
    if profile is Profile.GPU:
        return []
    return ["--model-config-name=cpu", "--allow-gpu-metrics=false", "--pinned-memory-pool-byte-size=0"]


def _models(options: ServeOptions) -> list[str]:
    """Loading by name exists in the explicit mode only, and so does a model that unloads itself when its engine died.

    Whether a client may load and unload is decided by the admin APIs, which are closed unless opened.
    """
    return ["--model-control-mode=explicit", *(f"--load-model={name}" for name in options.models or ("*",))]


def _log(level: LogLevel) -> list[str]:
    chosen = len(_LEVELS) if level is LogLevel.VERBOSE else _LEVELS.index(level)
    flags = [f"--log-{name}={str(index <= chosen).lower()}" for index, name in enumerate(_LEVELS)]
    return [*flags, f"--log-verbose={int(level is LogLevel.VERBOSE)}"]


def closed_admin() -> list[str]:
    """Shut the APIs that change a running server, on both protocols.

    Triton opens them to whoever sends a header with the right value, and any local user can read a command line. So
    the value holds a line break: neither HTTP nor gRPC can carry that in a header. It is also random.
    """
    setting = f"{ADMIN_APIS}:{ADMIN_HEADER}={secrets.token_hex(16)}\n{secrets.token_hex(16)}"
    return [f"--http-restricted-api={setting}", f"--grpc-restricted-protocol={setting}"]


def server_environment(
    options: ServeOptions, installation: Installation, inherited: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The stub runs isolated: it finds this Python's packages only through the first `python` on PATH."""
    environment = dict(inherited) | {
        "PATH": f"{Path(sys.prefix, 'bin')}:{inherited.get('PATH', '')}",
        ENGINE_DIR: str(options.engine_dir),
        DATA_DIR: str(options.data_dir),
        RUN_DIR: str(options.run_dir),
    }
    if installation.libpython is not None:
        folder = link_library(installation.libpython, options.run_dir / "lib")
        environment["LD_LIBRARY_PATH"] = f"{folder}:{inherited.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    return environment


def link_library(library: Path, folder: Path) -> Path:
    """A folder with this one library: its own folder may hold others that must not replace tritonserver's."""
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / library.name
    link.unlink(missing_ok=True)
    link.symlink_to(library)
    return folder
