import hashlib
from pathlib import Path

import pytest

from chainserve.engine.manifest import EngineManifest, sha256_of
from chainserve.errors import InvalidInput, NotFound


def manifest(**changes: object) -> EngineManifest:
    fields: dict[str, object] = {
        "name": "tiny",
        "profile": "cpu",
        "precision": "int8",
        "vocab_size": 10,
        "eos_ids": (2,),
        "context_length": 128,
        "source": "file:tiny.gguf",
        "source_sha256": "0" * 64,
        "files": {"model.bin": hashlib.sha256(b"weights").hexdigest()},
        "versions": {"gguf": "1"},
    }
    return EngineManifest.model_validate(fields | changes)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    manifest().save(tmp_path)
    assert EngineManifest.load(tmp_path) == manifest()


def test_no_engine_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="chainserve-build engine"):
        EngineManifest.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"vocab_size": 0}, "vocab_size"),
        ({"eos_ids": ()}, "eos_ids"),
        ({"source_sha256": "abc"}, "source_sha256"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_value_names_file_and_key(tmp_path: Path, change: dict[str, object], place: str) -> None:
    import json

    text = manifest().model_dump(mode="json") | change
    (tmp_path / "engine.json").write_text(json.dumps(text))
    with pytest.raises(InvalidInput, match=f"engine.json: {place}"):
        EngineManifest.load(tmp_path)


def test_a_half_file_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "engine.json").write_text('{"name": ')
    with pytest.raises(InvalidInput, match="not JSON"):
        EngineManifest.load(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    assert manifest().damaged_files(tmp_path) == ["model.bin"]
    (tmp_path / "model.bin").write_bytes(b"weights")
    assert manifest().damaged_files(tmp_path) == []
    (tmp_path / "model.bin").write_bytes(b"weightz")
    assert manifest().damaged_files(tmp_path) == ["model.bin"]


def test_the_hash_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert sha256_of(tmp_path / "file") == hashlib.sha256(b"abc").hexdigest()
