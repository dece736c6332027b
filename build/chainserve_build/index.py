"""`chainserve-build index`: a folder of documents to a search index."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from chainserve.context import index_files
from chainserve.context.chunks import passages_of
from chainserve.context.documents import Document, read_documents
from chainserve.context.duplicates import distinct
from chainserve.encoder import SentenceEncoder, Vectors, load_encoder
from chainserve.errors import ChainserveError, InvalidInput
from chainserve.messages import Passage
from chainserve_build.folder import built_folder, require_space

DEFAULT_OUT = Path("var", "index")
_BATCH = 32
# Text, vectors and the old index beside the new one, as multiples of the documents' bytes.
_GROWTH = 12


def index_command(
    documents: Annotated[Path, typer.Option(help="A folder with .md and .txt files")] = Path("corpus"),
    out: Annotated[Path, typer.Option(help="The index folder")] = DEFAULT_OUT,
    encoder: Annotated[str, typer.Option(help='"use", or an ONNX folder; as in context.toml')] = "use",
    width: Annotated[int, typer.Option(min=80, help="Columns of a passage; a Chinese character is two")] = 400,
    force: Annotated[bool, typer.Option("--force", help="Build even if the index is up to date")] = False,
) -> None:
    """Cut documents into passages and encode them, for the context model to search."""
    build_index(documents, out, encoder, width, force=force)


def build_index(documents: Path, out: Path, encoder: str, width: int, *, force: bool = False) -> None:
    """Build into `out`, or leave it as it is when it is whole and up to date."""
    console = Console(stderr=True)
    _refuse_foreign(out)
    read = read_documents(documents)
    recipe = index_files.Recipe(
        encoder=index_files.encoder_name(encoder),
        width=width,
        documents={document.source: document.sha256 for document in read},
    )
    if not force and _up_to_date(out, recipe):
        console.print(f"index {out} is up to date")
        return
    passages = make_passages(read, width)
    with built_folder(out) as folder, Progress(console=console) as progress:
        require_space(folder, _GROWTH * sum(len(document.text) for document in read))
        vectors = _encode(load_encoder(encoder), passages, progress)
        index_files.save(folder, recipe, passages, vectors)
    console.print(f"index {out} is ready: {len(read)} documents, {len(passages)} passages")


def make_passages(documents: list[Document], width: int) -> list[Passage]:
    """Every passage once, in the order of the documents.

    Raises:
        InvalidInput: there is no text in the documents.
    """
    passages = [Passage(text, document.source) for document in documents for text in passages_of(document.text, width)]
    if not passages:
        raise InvalidInput("--documents", "the files hold no text")
    return [passages[place] for place in distinct([passage.text for passage in passages])]


def _encode(encoder: SentenceEncoder, passages: list[Passage], progress: Progress) -> Vectors:
    starts = progress.track(range(0, len(passages), _BATCH), description="encode passages")
    return np.concatenate([encoder.encode([p.text for p in passages[at : at + _BATCH]]) for at in starts])


def _up_to_date(out: Path, recipe: index_files.Recipe) -> bool:
    try:
        manifest = index_files.IndexManifest.load(out)
    except ChainserveError:
        return False
    return manifest.recipe == recipe and index_files.is_whole(out, manifest)


def _refuse_foreign(out: Path) -> None:
    """Raises: InvalidInput when `out` holds something that is no index: a build would replace it."""
    if out.exists() and not (out / index_files.FILE_NAME).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput("--out", f"{out} exists and is no index folder; it would be replaced")
