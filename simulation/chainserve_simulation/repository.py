"""A model repository whose chain is the real one and whose stages are simulated."""

import shutil
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from chainserve_simulation.settings import EngineSettings, StageSettings

REAL = ("chain_ensemble", "ensemble", "generation", "postprocessing", "preprocessing", "prompt_assembly", "release")
CLASSES = {
    "moderation": "stages import SimulatedModeration",
    "intent": "stages import SimulatedIntent",
    "context": "stages import SimulatedContext",
    "tensorrt_llm": "engine import SimulatedEngine",
}


@dataclass
class SimulatedRepository:
    """`policy` is merged into the real chain.toml, table by table."""

    folder: Path
    real: Path
    moderation: StageSettings = field(default_factory=StageSettings)
    intent: StageSettings = field(default_factory=StageSettings)
    context: StageSettings = field(default_factory=StageSettings)
    tensorrt_llm: EngineSettings = field(default_factory=EngineSettings)
    policy: dict[str, Any] = field(default_factory=dict)

    def write(self) -> Path:
        """Make the repository; the folder must be new or empty."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in REAL:
            (self.folder / name).symlink_to(self.real / name)
        shutil.copytree(self.real / "chain", self.folder / "chain")
        policy = self.folder / "chain/1/chain.toml"
        policy.write_text(tomli_w.dumps(_merged(tomllib.loads(policy.read_text()), self.policy)))
        for name, import_line in CLASSES.items():
            self._simulated(name, import_line)
        return self.folder

    def set(self, stage: str, **changes: Any) -> None:
        """Change a stage of a running server: its next request sees it."""
        settings = getattr(self, stage).model_copy(update=changes)
        path = self.folder / stage / "1/stage.toml"
        new = path.with_suffix(".new")
        new.write_text(tomli_w.dumps(settings.model_dump(exclude_none=True)))
        new.replace(path)

    def _simulated(self, name: str, import_line: str) -> None:
        version = self.folder / name / "1"
        version.mkdir(parents=True)
        real = self.real / name
        config = real / "configs/cpu.pbtxt"
        shutil.copy(config if config.exists() else real / "config.pbtxt", self.folder / name / "config.pbtxt")
        for policy in (real / "1").glob("*.toml"):
            shutil.copy(policy, version)
        (version / "model.py").write_text(f"from chainserve_simulation.{import_line} as TritonPythonModel\n")
        self.set(name)


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`changes` over `base`, table by table."""
    merged = dict(base)
    for key, value in changes.items():
        both_tables = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = _merged(base[key], value) if both_tables else value
    return merged
