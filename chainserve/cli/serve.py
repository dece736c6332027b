"""`chainserve serve`."""

from pathlib import Path
from typing import Annotated

import typer

from chainserve.serving import locations
from chainserve.serving.options import LogLevel, Ports, Profile, ServeOptions
from chainserve.serving.supervisor import serve as run_server

_PORTS = locations.DEFAULT_PORTS


def serve(  # noqa: PLR0913 the options of the command
    *,
    profile: Annotated[Profile, typer.Option(help="Which engine: each model's configs/cpu.pbtxt, or the GPU's.")] = (
        Profile.CPU
    ),
    model_repository: Annotated[
        Path | None, typer.Option(help="Default: model_repository of the checkout.", show_default=False)
    ] = None,
    engine: Annotated[
        Path | None, typer.Option(help="Folder with engine.json. Default: engines/PROFILE.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the store and the index. Default: var.", show_default=False)
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Log and state of this run. Default: DATA/run/HTTP_PORT.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every one.")] = "127.0.0.1",
    http_port: int = _PORTS.http,
    grpc_port: int = _PORTS.grpc,
    metrics_port: int = _PORTS.metrics,
    log_level: LogLevel = LogLevel.INFO,
    start_timeout: Annotated[float, typer.Option(min=0, help="Seconds for loading the models.")] = 300.0,
    drain_timeout: Annotated[float, typer.Option(min=0, help="Seconds for running requests after a signal.")] = 60.0,
    open_admin: Annotated[
        bool, typer.Option("--open-admin", help="Open model control, shared memory, trace and log settings.")
    ] = False,
    model: Annotated[
        list[str] | None, typer.Option(help="Load only this model; can be repeated.", show_default=False)
    ] = None,
) -> None:
    """Serve the model repository until Ctrl-C, then finish what runs and stop."""
    repository = (model_repository or locations.default_repository()).resolve()
    ports = Ports(http=http_port, grpc=grpc_port, metrics=metrics_port)
    data_dir = (data or locations.default_data_dir(repository)).resolve()
    options = ServeOptions(
        profile=profile,
        repository=repository,
        engine_dir=(engine or locations.default_engine_dir(repository, profile)).resolve(),
        data_dir=data_dir,
        run_dir=(run_dir or locations.default_run_dir(data_dir, ports)).resolve(),
        ports=ports,
        host=host,
        log_level=log_level,
        start_timeout=start_timeout,
        drain_timeout=drain_timeout,
        open_admin=open_admin,
        models=tuple(model or ()),
    )
    run_server(options, _say)


def _say(line: str) -> None:
    typer.echo(f"chainserve: {line}")
