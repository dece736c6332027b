import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chainserve.serving.command import closed_admin, server_command, server_environment
from chainserve.serving.installation import Installation
from chainserve.serving.options import LogLevel, Ports, Profile, ServeOptions


@pytest.fixture
def options(tmp_path: Path) -> ServeOptions:
    return ServeOptions(
        profile=Profile.CPU,
        repository=tmp_path / "model_repository",
        engine_dir=tmp_path / "engine",
        data_dir=tmp_path / "data",
        run_dir=tmp_path / "run",
        ports=Ports(http=1, grpc=2, metrics=3),
    )


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    library = tmp_path / "lib/libpython.so"
    return Installation(tmp_path / "tritonserver", tmp_path / "backends", tmp_path / "caches", library)


def command(options: ServeOptions, installation: Installation) -> list[str]:
    return server_command(options, installation, "prefix_")


def test_every_address_is_loopback_unless_told_otherwise(options: ServeOptions, installation: Installation) -> None:
    flags = command(options, installation)
    assert {"--http-address=127.0.0.1", "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1"} <= set(flags)
    assert {"--http-port=1", "--grpc-port=2", "--metrics-port=3"} <= set(flags)
    everywhere = command(replace(options, host="0.0.0.0"), installation)
    assert sum(flag.endswith("-address=0.0.0.0") for flag in everywhere) == 3


def test_the_cpu_profile_names_its_configuration(options: ServeOptions, installation: Installation) -> None:
    assert "--model-config-name=cpu" in command(options, installation)
    gpu = command(replace(options, profile=Profile.GPU), installation)
    assert not any(flag.startswith("--model-config-name") for flag in gpu)


def test_a_model_whose_engine_died_can_unload_itself(options: ServeOptions, installation: Installation) -> None:
    assert {"--model-control-mode=explicit", "--load-model=*"} <= set(command(options, installation))


def test_a_subset_is_loaded_by_name(options: ServeOptions, installation: Installation) -> None:
    flags = command(replace(options, models=("intent", "chain")), installation)
    assert [flag for flag in flags if flag.startswith("--load-model")] == ["--load-model=intent", "--load-model=chain"]
    assert "--model-control-mode=explicit" in flags


def test_opened_admin_restricts_nothing(options: ServeOptions, installation: Installation) -> None:
    assert not any("restricted" in flag for flag in command(replace(options, open_admin=True), installation))


def test_closed_admin_covers_both_protocols_with_a_key_no_header_can_carry() -> None:
    http, grpc = closed_admin()
    setting = "model-repository,shared-memory,trace,logging:chainserve-admin="
    assert http.startswith(f"--http-restricted-api={setting}")
    assert grpc.startswith(f"--grpc-restricted-protocol={setting}")
    assert "\n" in http.split("=")[-1]
    assert closed_admin() != [http, grpc]


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (LogLevel.ERROR, ["true", "false", "false", "0"]),
        (LogLevel.WARNING, ["true", "true", "false", "0"]),
        (LogLevel.INFO, ["true", "true", "true", "0"]),
        (LogLevel.VERBOSE, ["true", "true", "true", "1"]),
    ],
)
def test_log_levels(options: ServeOptions, installation: Installation, level: LogLevel, shown: list[str]) -> None:
    flags = command(replace(options, log_level=level), installation)
    names = ("error", "warning", "info", "verbose")
    assert [flag for flag in flags if flag.startswith("--log-")] == [
        f"--log-{name}={value}" for name, value in zip(names, shown, strict=True)
    ]


def test_the_stub_finds_this_python_and_its_library(options: ServeOptions, installation: Installation) -> None:
    environment = server_environment(options, installation, {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/mine"})
    assert environment["PATH"] == f"{sys.prefix}/bin:/usr/bin"
    assert environment["LD_LIBRARY_PATH"] == f"{options.run_dir}/lib:/mine"
    assert (options.run_dir / "lib/libpython.so").readlink() == installation.libpython


def test_models_are_told_their_folders(options: ServeOptions, installation: Installation) -> None:
    environment = server_environment(options, replace(installation, libpython=None), {})
    told = {name: value for name, value in environment.items() if name.startswith("CHAINSERVE_")}
    assert told == {
        "CHAINSERVE_ENGINE_DIR": str(options.engine_dir),
        "CHAINSERVE_DATA_DIR": str(options.data_dir),
        "CHAINSERVE_RUN_DIR": str(options.run_dir),
    }
    assert "LD_LIBRARY_PATH" not in environment
