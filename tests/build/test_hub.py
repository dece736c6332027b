import json
from pathlib import Path

import pytest

from chainserve.errors import InvalidInput, NotFound, Unavailable, Unsupported
from chainserve_build.hub import Hub, complete_ir, hub_error, wanted_files
from chainserve_build.openvino_ir import IR_FILES


class Answer(Exception):
    """As the hub's client raises it."""

    def __init__(self, status: int) -> None:
        self.response = type("Response", (), {"status_code": status})()


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["m-q4_0.gguf", "m-Q8_0.gguf", "m-f16.gguf"], ["m-Q8_0.gguf"]),
        (["m-q4_0.gguf", "m-F16.gguf"], ["m-F16.gguf"]),
        (["m-q4_k_m.gguf", "README.md"], ["m-q4_k_m.gguf"]),
        ([*IR_FILES, "tokenizer.json", "config.json", "a.png"], [*IR_FILES, "tokenizer.json", "config.json"]),
    ],
)
def test_what_is_fetched_of_a_repository(files: list[str], wanted: list[str]) -> None:
    assert wanted_files(files, None) == wanted


def test_the_users_choice_goes_first() -> None:
    assert wanted_files(["a.gguf", "b-q8_0.gguf"], "a.gguf") == ["a.gguf"]
    with pytest.raises(NotFound, match=r"c\.gguf"):
        wanted_files(["a.gguf"], "c.gguf")


def test_several_files_want_a_choice() -> None:
    with pytest.raises(InvalidInput, match=r"a-q4\.gguf, b-q5\.gguf"):
        wanted_files(["b-q5.gguf", "a-q4.gguf"], None)


@pytest.mark.parametrize("files", [[], ["model.safetensors"], ["m-00001-of-00002.gguf"]])
def test_nothing_usable_is_refused(files: list[str]) -> None:
    with pytest.raises(Unsupported, match="neither a GGUF"):
        wanted_files(files, None)


@pytest.mark.parametrize("identifier", ["", "noslash", "a/b/c", "a/b:file.bin", "https://x/a/b"])
def test_what_is_no_id_is_refused(identifier: str) -> None:
    with pytest.raises(InvalidInput, match="ORG/REPO"):
        Hub(identifier)


def test_an_id_in_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    asked: dict[str, object] = {}

    def download(repo: str, *, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        asked.update(repo=repo, revision=revision, files=allow_patterns)
        (local_dir / "m.gguf").write_bytes(b"abc")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", lambda *_args, **_more: ["m.gguf", "n.gguf"])
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    weights = Hub("org/repo@v1:m.gguf").fetch(tmp_path)
    assert asked == {"repo": "org/repo", "revision": "v1", "files": ["m.gguf"]}
    assert (weights.name, weights.path, weights.source) == ("repo", tmp_path / "m.gguf", "hub:org/repo@v1:m.gguf")
    assert Hub("org/repo@v1:m.gguf").is_origin(weights.source, weights.sha256)
    assert not Hub("org/repo@v2:m.gguf").is_origin(weights.source, weights.sha256)


def test_no_network_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    def fail(*_args: object, **_more: object) -> None:
        raise ConnectionError("long\nstory")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", fail)
    with pytest.raises(Unavailable, match="--gguf PATH") as caught:
        Hub("org/repo").fetch(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 404])
def test_a_repository_that_is_not_there(status: int) -> None:
    assert isinstance(hub_error("org/repo", Answer(status)), NotFound)
    assert isinstance(hub_error("org/repo", Answer(503)), Unavailable)


def test_an_ir_repository_is_completed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 4096, "eos_token_id": 7}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "hello"}))
    assert complete_ir(tmp_path) == 4096
    assert json.loads((tmp_path / "generation_config.json").read_text()) == {"eos_token_id": 7}
    assert (tmp_path / "chat_template.jinja").read_text() == "hello"


def test_an_ir_without_what_a_chat_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="chat template"):
        complete_ir(tmp_path)
    (tmp_path / "chat_template.jinja").touch()
    with pytest.raises(InvalidInput, match="max_position_embeddings"):
        complete_ir(tmp_path)
