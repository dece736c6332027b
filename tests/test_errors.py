import pytest

from chainserve import errors
from chainserve.errors import ChainserveError, InvalidInput, public_error


def subclasses(root: type[ChainserveError]) -> list[type[ChainserveError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in subclasses(child))]


@pytest.mark.parametrize("kind", subclasses(ChainserveError)[1:])
def test_the_tree_in_the_docstring_names_every_error_with_its_code(kind: type[ChainserveError]) -> None:
    line = next(line for line in (errors.__doc__ or "").splitlines() if f" {kind.__name__} " in line)
    assert kind.code in line


def test_our_own_errors_keep_their_text() -> None:
    error = InvalidInput("top_p", "must be at most 1")
    assert str(public_error(error)) == "top_p: must be at most 1"


def test_other_errors_keep_nothing() -> None:
    assert "secret" not in str(public_error(RuntimeError("secret")))
