from pathlib import Path

import pytest

from chainserve.context.documents import MAX_FILE_BYTES, read_documents
from chainserve.errors import InvalidInput, NotFound

CORPUS = Path(__file__).parents[2] / "corpus"


def test_what_is_read(tmp_path: Path) -> None:
    for name in ("b.md", "a/c.txt", "a/README.md", "LICENSE.txt", ".hidden.md", ".git/x.md", "picture.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes("\ufeff中文".encode())
    assert [(document.source, document.text) for document in read_documents(tmp_path)] == [
        ("a/c.txt", "中文"),
        ("b.md", "中文"),
    ]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no \.md or \.txt file in"):
        read_documents(tmp_path)
    with pytest.raises(NotFound, match="documents: no folder .*nowhere"):
        read_documents(tmp_path / "nowhere")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9 noir")
    with pytest.raises(InvalidInput, match=r"latin\.md: must be UTF-8 text, is not at byte 3"):
        read_documents(tmp_path)
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(InvalidInput, match=r"big\.md: 16000001 bytes, the limit is 16000000"):
        read_documents(tmp_path)


def test_the_corpus_has_its_licence_and_both_languages() -> None:
    documents = read_documents(CORPUS)
    chinese = [document for document in documents if "的" in document.text]
    assert len(documents) >= 15
    assert len(chinese) >= 4
    assert "CC0-1.0" in (CORPUS / "LICENSE").read_text()
