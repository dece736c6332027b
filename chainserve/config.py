"""Configuration files: TOML, read once at load, frozen, unknown keys rejected."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chainserve.errors import InvalidInput, NotFound


class Settings(BaseModel):
    """Base of every configuration model."""

    model_config = ConfigDict(extra="forbid", frozen=True)


AnySettings = TypeVar("AnySettings", bound=Settings)


def load_toml(path: Path, model: type[AnySettings]) -> AnySettings:
    """Read `path` into `model`.

    Raises:
        NotFound: there is no such file.
        InvalidInput: not TOML, an unknown key, or a value of the wrong kind; names file and key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"configuration {path}: {error.strerror}") from error
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(str(path), f"not TOML: {error}") from error
    except ValidationError as error:
        raise InvalidInput(str(path), _first_problem(error)) from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
