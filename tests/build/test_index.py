import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chainserve.context.index import DocumentIndex
from chainserve.context.retrieval import Search
from chainserve.context.settings import SearchLimits
from chainserve.encoder import load_encoder
from chainserve.errors import InvalidInput, NotFound
from chainserve.guards.language import language_of
from chainserve_build import index as subject
from chainserve_build.cli import app

CORPUS = Path(__file__).parents[2] / "corpus"
ENCODER = load_encoder("use")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "index"
    result = CliRunner().invoke(app, ["index", "--documents", str(CORPUS), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# Paris\n\nParis is the capital of France.")
    return folder


def build(documents: Path, out: Path, *more: str) -> str:
    result = CliRunner().invoke(app, ["index", "--documents", str(documents), "--out", str(out), *more])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return re.sub(r"\s+", " ", result.output)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the capital of France?", "Paris"),
        ("How do I make pancakes?", "batter"),
        ("How high is Mount Fuji?", "3,776"),
        ("What is chainserve?", "model repository"),
        ("What is an IBAN?", "34 letters"),
        ("中国最长的河流是什么？", "长江"),
        ("番茄炒蛋怎么做？", "鸡蛋"),
        ("我的行李丢了怎么办？", "登记"),
        ("Hello, how are you?", ""),
        ("Tell me a joke.", ""),
        ("Who wrote Hamlet?", ""),
        ("你好", ""),
        ("写一首关于春天的诗", ""),
        ("今天天气怎么样？", ""),
    ],
)
def test_the_corpus_answers_its_questions_and_no_others(built: Path, question: str, words: str) -> None:
    limits = SearchLimits(top_k=6, min_score=0.28, max_drop=0.15, max_chars=1500, max_query_chars=1000)
    search = Search(DocumentIndex.load(built, ENCODER, "use"), ENCODER, limits, language_of)
    (passages,) = search.passages([question])
    assert words in passages[0].text if words else passages == ()


def test_it_is_built_once(documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    assert f"index {out} is ready: 1 documents, 1 passages" in build(documents, out)
    before = (out / "index.json").stat().st_ino
    assert "is up to date" in build(documents, out)
    assert (out / "index.json").stat().st_ino == before
    assert "is ready" in build(documents, out, "--force")


@pytest.mark.parametrize("change", ["document", "more", "width", "damage"])
def test_a_change_builds_it_again(documents: Path, tmp_path: Path, change: str) -> None:
    out = tmp_path / "index"
    build(documents, out)
    if change == "document":
        (documents / "a.md").write_text("Paris.")
    if change == "more":
        (documents / "b.txt").write_text("北京是中国的首都。")
    if change == "damage":
        (out / "vectors.npy").write_bytes(b"")
    assert "is ready" in build(documents, out, *(["--width", "300"] if change == "width" else []))
    assert DocumentIndex.load(out, ENCODER, "use").search(ENCODER.encode(["Paris"]), 1)[0][0].source == "a.md"


def test_near_duplicates_are_dropped(documents: Path, tmp_path: Path) -> None:
    (documents / "b.md").write_text("# Paris\n\nParis is the capital of FRANCE!")
    build(documents, tmp_path / "index")
    assert len((tmp_path / "index" / "passages.jsonl").read_text().splitlines()) == 1


def test_an_interrupted_build_leaves_the_old_index(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "index"
    build(documents, out)
    (documents / "b.md").write_text("New text.")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subject.index_files, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        subject.build_index(documents, out, "use", 400)
    assert list(json.loads((out / "index.json").read_text())["recipe"]["documents"]) == ["a.md"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["documents", "index"]


def test_what_cannot_be_built(documents: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.doc").write_text("years of work")
    with pytest.raises(InvalidInput, match="--out: .* is no index folder; it would be replaced"):
        build(documents, foreign)
    with pytest.raises(NotFound, match="no folder"):
        build(tmp_path / "nowhere", tmp_path / "index")
    with pytest.raises(NotFound, match="encoder"):
        build(documents, tmp_path / "index", "--encoder", str(tmp_path / "minilm"))
    (documents / "a.md").write_text("# Only a title")
    with pytest.raises(InvalidInput, match="the files hold no text"):
        build(documents, tmp_path / "index")
    assert (foreign / "thesis.doc").read_text() == "years of work"
    assert not (tmp_path / "index").exists()
