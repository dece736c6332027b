import pytest

from chainserve.guards.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the capital of France?", "en"),
        ("法国的首都是哪里？", "zh"),
        ("帮我写一个 Python function", "zh"),
        ("Translate 你好 into English for me please", "en"),
        ("What does 好 mean?", "en"),
        ("", "en"),
        ("123 🙂", "en"),
        ("天气 OK 吗", "zh"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language
