"""The whole build, with the real OpenVINO, on a model of one layer."""

import shutil
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType
from tiny_gguf import CONTEXT, tiny_metadata, write_tiny_gguf

from chainserve.engine.manifest import EngineManifest
from chainserve.errors import ChainserveError, InvalidInput, StageFailed, Unavailable, Unsupported
from chainserve.tokenizer import Tokenizer
from chainserve_build import engine, openvino_ir
from chainserve_build.engine import build_engine, choose_source, default_out, up_to_date
from chainserve_build.hub import Hub
from chainserve_build.sources import SMOLLM2, GgufFile, Weights


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny.gguf and the engine made from it."""
    home = tmp_path_factory.mktemp("built")
    write_tiny_gguf(home / "tiny.gguf")
    build_engine(GgufFile(home / "tiny.gguf"), home / "cpu")
    return home


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "home"))


def test_what_the_manifest_says(built: Path) -> None:
    manifest = EngineManifest.load(built / "cpu")
    assert (manifest.name, manifest.profile, manifest.precision) == ("tiny", "cpu", "int8")
    assert manifest.vocab_size == len(tiny_metadata()["tokenizer.ggml.tokens"])
    assert (manifest.eos_ids, manifest.context_length) == ((2, 0), CONTEXT)
    assert manifest.source == "file:tiny.gguf"


def test_the_folder_holds_what_the_manifest_names_and_nothing_else(built: Path) -> None:
    manifest = EngineManifest.load(built / "cpu")
    assert {path.name for path in (built / "cpu").iterdir()} == {*manifest.files, "engine.json"}
    assert manifest.damaged_files(built / "cpu") == []


def test_its_tokenizer_loads(built: Path) -> None:
    assert Tokenizer.load(built / "cpu").eos_token == "<|im_end|>"


def test_its_weights_load_and_generate(built: Path) -> None:
    import openvino_genai

    pipeline = openvino_genai.LLMPipeline(str(built / "cpu"), "CPU")
    config = openvino_genai.GenerationConfig(max_new_tokens=3, apply_chat_template=False)
    assert isinstance(pipeline.generate("END", config), str)


def test_unquantised_weights_stay_so(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf", GGMLQuantizationType.F16)
    build_engine(GgufFile(tmp_path / "tiny.gguf"), tmp_path / "cpu")
    assert EngineManifest.load(tmp_path / "cpu").precision == "fp16"
    assert (tmp_path / "tiny.gguf").is_file()


def test_an_engine_that_is_up_to_date_is_left_alone(home: Path) -> None:
    before = (home / "cpu" / "engine.json").stat().st_mtime_ns
    build_engine(GgufFile(home / "tiny.gguf"), home / "cpu")
    assert (home / "cpu" / "engine.json").stat().st_mtime_ns == before


def test_force_builds_again(home: Path) -> None:
    before = (home / "cpu").stat().st_ino
    build_engine(GgufFile(home / "tiny.gguf"), home / "cpu", force=True)
    assert (home / "cpu").stat().st_ino != before


def test_what_makes_an_engine_out_of_date(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = GgufFile(home / "tiny.gguf")
    assert up_to_date(source, home / "cpu")
    assert not up_to_date(SMOLLM2, home / "cpu")
    assert not up_to_date(source, home / "other")
    with monkeypatch.context() as patch:
        patch.setattr(engine, "RECIPE", "next")
        assert not up_to_date(source, home / "cpu")
    (home / "cpu" / "openvino_model.bin").write_bytes(b"")
    assert not up_to_date(source, home / "cpu")


def test_a_failed_build_leaves_the_old_engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_folder: Path) -> None:
        raise StageFailed("tokenizer check", "differs")

    monkeypatch.setattr(openvino_ir, "check_tokenizers", fail)
    with pytest.raises(StageFailed):
        build_engine(GgufFile(home / "tiny.gguf"), home / "cpu", force=True)
    assert EngineManifest.load(home / "cpu").damaged_files(home / "cpu") == []
    assert not list(home.glob(".cpu.building-*"))


def test_tokenizers_that_differ_fail_the_build(home: Path) -> None:
    path = home / "cpu" / "tokenizer.json"
    path.write_text(path.read_text().replace('"normalizer":null', '"normalizer":{"type":"Lowercase"}'))
    with pytest.raises(StageFailed, match="differ on"):
        openvino_ir.check_tokenizers(home / "cpu")


def test_a_folder_that_is_no_engine_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(InvalidInput, match="no engine folder"):
        build_engine(SMOLLM2, tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_what_openvino_cannot_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(Unsupported, match="OpenVINO cannot read") as caught:
        openvino_ir.convert(tmp_path / "x.gguf")
    assert "\n" not in str(caught.value)


def test_weights_that_are_cut_short_fail_the_build(home: Path) -> None:
    path = home / "cpu" / "openvino_model.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StageFailed, match="cut short"):
        openvino_ir.check_whole(home / "cpu")


def test_a_disk_that_fills_up_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import openvino_genai

    def full(*_args: object, **_more: object) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")

    monkeypatch.setattr(openvino_genai, "LLMPipeline", full)
    with pytest.raises(Unavailable, match="disk is full"):
        openvino_ir.convert(tmp_path / "x.gguf")


def test_the_default_place_does_not_depend_on_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_out("cpu") == Path(__file__).parents[2] / "engines" / "cpu"


def test_the_source_is_chosen_by_the_options(built: Path) -> None:
    assert choose_source(None, None) is SMOLLM2
    assert isinstance(choose_source(built / "tiny.gguf", None), GgufFile)
    assert isinstance(choose_source(None, "org/repo"), Hub)
    with pytest.raises(InvalidInput, match="together"):
        choose_source(built / "tiny.gguf", "org/repo")


class IrFolder:
    """A hub repository with an IR, already downloaded."""

    space = 0

    def __init__(self, origin: Path) -> None:
        self.origin = origin

    def is_origin(self, source: str, sha256: str) -> bool:
        return False

    def fetch(self, folder: Path) -> Weights:
        for path in self.origin.iterdir():
            shutil.copy(path, folder)
        (folder / "config.json").write_text('{"max_position_embeddings": 64}')
        return Weights("repo", folder, "hub:org/repo", "0" * 64)


def test_an_ir_repository_becomes_an_engine(built: Path, tmp_path: Path) -> None:
    build_engine(IrFolder(built / "cpu"), tmp_path / "cpu")
    manifest = EngineManifest.load(tmp_path / "cpu")
    assert (manifest.context_length, manifest.precision, manifest.eos_ids) == (64, "int8", (2, 0))
    assert not (tmp_path / "cpu" / "download").exists()


def test_an_ir_repository_that_lacks_a_file_is_refused(home: Path, tmp_path: Path) -> None:
    (home / "cpu" / "tokenizer.json").unlink()
    with pytest.raises(ChainserveError, match=r"tokenizer\.json"):
        build_engine(IrFolder(home / "cpu"), tmp_path / "cpu")
    assert not (tmp_path / "cpu").exists()
