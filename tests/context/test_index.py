from pathlib import Path

import numpy as np
import pytest

from chainserve.context import index_files
from chainserve.context.index import DocumentIndex
from chainserve.encoder import FakeEncoder, Vectors
from chainserve.errors import InvalidInput, NotFound
from chainserve.messages import Passage

PASSAGES = [Passage("Paris\u2028France", "a.md"), Passage("北京 中国", "b.md"), Passage("zzz", "c.md")]
ENCODER = FakeEncoder()


class OtherEncoder(FakeEncoder):
    def encode(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        return super().encode([text.upper() + "?" for text in texts])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recipe = index_files.Recipe(encoder="use", width=400, documents={"a.md": "0" * 64})
    index_files.save(tmp_path, recipe, PASSAGES, ENCODER.encode([passage.text for passage in PASSAGES]))
    return tmp_path


def test_the_nearest_first(folder: Path) -> None:
    index = DocumentIndex.load(folder, ENCODER, "use")
    french, chinese = index.search(ENCODER.encode(["Paris, France", "中国北京"]), 2)
    assert french[0].source == "a.md"
    assert (chinese[0].text, chinese[0].source) == ("北京 中国", "b.md")
    assert french[0].text == "Paris\u2028France"
    assert len(french) == 2
    assert 1.0001 >= french[0].score >= french[1].score


def test_more_than_there_is(folder: Path) -> None:
    assert len(DocumentIndex.load(folder, ENCODER, "use").search(ENCODER.encode(["x"]), 50)[0]) == 3


@pytest.mark.parametrize(
    ("encoder", "name", "reason"),
    [
        (ENCODER, "other", r"was made with encoder 'use' \(16 numbers\), not 'other' \(16\)"),
        (FakeEncoder(8), "use", r"was made with encoder 'use' \(16 numbers\), not 'use' \(8\)"),
        (OtherEncoder(), "use", "was made with another encoder that is also called 'use'"),
    ],
)
def test_another_encoder_is_refused(folder: Path, encoder: FakeEncoder, name: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        DocumentIndex.load(folder, encoder, name)


@pytest.mark.parametrize("name", [index_files.PASSAGES_FILE, index_files.VECTORS_FILE])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
def test_damaged_files(folder: Path, name: str, damage: object) -> None:
    damage(folder / name)  # type: ignore[operator]
    with pytest.raises(InvalidInput, match=rf"{name}: is missing or not what was built; run `chainserve-build index"):
        DocumentIndex.load(folder, ENCODER, "use")


def test_a_damaged_manifest(folder: Path) -> None:
    (folder / "index.json").write_text('{"recipe": 1}')
    with pytest.raises(InvalidInput, match=r"index\.json: recipe"):
        DocumentIndex.load(folder, ENCODER, "use")


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no index in .*: run `chainserve-build index`"):
        DocumentIndex.load(tmp_path / "nowhere", ENCODER, "use")


def test_vectors_keep_their_kind(folder: Path) -> None:
    _, vectors = index_files.read(folder, index_files.IndexManifest.load(folder))
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 16)


def test_the_name_of_an_encoder(tmp_path: Path) -> None:
    assert index_files.encoder_name("use") == "use"
    assert index_files.encoder_name(str(tmp_path / "minilm")) == "minilm"
