"""Weights to engine folder, for the `cpu` profile: OpenVINO IR with INT8 weights unless the source says otherwise."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from gguf import GGUFReader
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from chainserve.engine.manifest import FILE_NAME, EngineManifest, sha256_of
from chainserve.errors import ChainserveError, InvalidInput
from chainserve.serving.locations import default_engine_dir, default_repository
from chainserve.serving.options import Profile
from chainserve.tokenizer import GENERATION_FILE, TEMPLATE_FILE, TOKENIZER_FILE, Tokenizer
from chainserve_build import gguf_file, hub, openvino_ir
from chainserve_build.folder import built_folder, require_space
from chainserve_build.gguf_tokenizer import save_tokenizer
from chainserve_build.sources import SMOLLM2, GgufFile, Source, Weights

PROFILES = ("cpu",)

# Raised when this package makes something else out of the same weights.
RECIPE = "1"

_PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers", "gguf")
_ENGINE_FILES = (*openvino_ir.IR_FILES, TOKENIZER_FILE, GENERATION_FILE, TEMPLATE_FILE)


def engine_command(
    profile: Annotated[str, typer.Option(help="cpu; the GPU profiles are not built by this version")] = "cpu",
    gguf: Annotated[Path | None, typer.Option(help="Build from this GGUF file")] = None,
    hub_id: Annotated[
        str | None, typer.Option("--hub", help="Build from a hub: ORG/REPO[@REVISION][:FILE.gguf]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The engine folder; default: where `chainserve serve` looks, engines/PROFILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build even if the engine is up to date")] = False,
) -> None:
    """Turn weights into an engine folder. Without --gguf or --hub: SmolLM2-135M-Instruct."""
    if profile not in PROFILES:
        raise InvalidInput("--profile", f"must be one of {', '.join(PROFILES)}")
    build_engine(choose_source(gguf, hub_id), out or default_out(profile), force=force)


def default_out(profile: str) -> Path:
    return default_engine_dir(default_repository(), Profile(profile))


def choose_source(gguf: Path | None, hub_id: str | None) -> Source:
    if gguf is not None and hub_id is not None:
        raise InvalidInput("--gguf", "cannot be given together with --hub")
    if gguf is not None:
        return GgufFile(gguf)
    return hub.Hub(hub_id) if hub_id is not None else SMOLLM2


def build_engine(source: Source, out: Path, *, force: bool = False) -> None:
    """Build into `out`, or leave it as it is when it is whole and up to date."""
    console = Console(stderr=True)
    refuse_foreign(out)
    if not force and up_to_date(source, out):
        console.print(f"engine {out} is up to date")
        return
    with built_folder(out) as folder, _progress(console) as progress:
        require_space(out.parent, source.space)
        _build(source, folder, progress)
    console.print(f"engine {out} is ready")


def up_to_date(source: Source, out: Path) -> bool:
    try:
        manifest = EngineManifest.load(out)
    except ChainserveError:
        return False
    return (
        source.is_origin(manifest.source, manifest.source_sha256)
        and manifest.versions == _versions()
        and not manifest.damaged_files(out)
    )


def refuse_foreign(out: Path) -> None:
    """Raises: InvalidInput when `out` holds something that is no engine: a build would replace it."""
    if out.exists() and not (out / FILE_NAME).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput("--out", f"{out} exists and is no engine folder; it would be replaced")


def _build(source: Source, folder: Path, progress: Progress) -> None:
    download = folder / "download"
    download.mkdir()
    with _step(progress, "fetch weights"):
        weights = source.fetch(download)
    make = _from_gguf if weights.path.is_file() else _from_ir
    context_length = make(weights, folder, progress)
    shutil.rmtree(download)
    with _step(progress, "check tokenizer"):
        openvino_ir.check_tokenizers(folder)
    with _step(progress, "hash files"):
        _manifest(weights, folder, context_length).save(folder)


def _from_gguf(weights: Weights, folder: Path, progress: Progress) -> int:
    reader = gguf_file.open_gguf(weights.path)
    metadata = gguf_file.metadata_of(reader)
    context_length = gguf_file.context_length(metadata)
    save_tokenizer(metadata, folder)
    exact = folder / "weights.gguf"
    if gguf_file.is_exact(reader):
        exact.symlink_to(weights.path)
    else:
        _repack(reader, exact, progress)
    with _step(progress, "convert to OpenVINO"):
        openvino_ir.convert(exact)
    exact.unlink()
    return context_length


def _repack(reader: GGUFReader, target: Path, progress: Progress) -> None:
    task = progress.add_task("repack to Q8_0", total=len(reader.tensors))
    gguf_file.repack(reader, target, lambda done, total: progress.update(task, completed=done, total=total))


def _from_ir(weights: Weights, folder: Path, progress: Progress) -> int:
    with _step(progress, "complete the IR"):
        context_length = hub.complete_ir(weights.path)
        for name in _ENGINE_FILES:
            if not (weights.path / name).is_file():
                raise InvalidInput("--hub", f"the repository has no {name}")
            (weights.path / name).rename(folder / name)
        openvino_ir.check_whole(folder)
    return context_length


def _manifest(weights: Weights, folder: Path, context_length: int) -> EngineManifest:
    tokenizer = Tokenizer.load(folder)
    return EngineManifest(
        name=weights.name,
        profile="cpu",
        precision=openvino_ir.precision(folder / openvino_ir.IR_FILE),
        vocab_size=tokenizer.vocab_size,
        eos_ids=tokenizer.eos_ids,
        context_length=context_length,
        source=weights.source,
        source_sha256=weights.sha256,
        files={name: sha256_of(folder / name) for name in _ENGINE_FILES},
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    return {"recipe": RECIPE} | {package: version(package) for package in _PACKAGES}


@contextmanager
def _step(progress: Progress, text: str) -> Iterator[None]:
    """A line of progress that spins until the block ends."""
    task = progress.add_task(text, total=None)
    yield
    progress.update(task, total=1, completed=1)


def _progress(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)
