from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage
from chainserve.prompt.template import ChatTemplate
from chainserve.tokenizer import Tokenizer

BODY = "{% for m in messages %}{{ m.content }}{% endfor %}"


@dataclass(frozen=True)
class Templated:
    """The tokenizer with another template."""

    real: Tokenizer
    chat_template: str
    bos_token: str = "<|im_start|>"
    eos_token: str = "<|im_end|>"

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return self.real.special_tokens

    def encode(self, text: str) -> list[int]:
        return self.real.encode(text)


def rendered(tokenizer: Tokenizer, source: str, *contents: str) -> str:
    template = ChatTemplate(Templated(tokenizer, source), lambda: datetime(2026, 3, 4, tzinfo=UTC))
    return template.encode([ChatMessage("user", content) for content in contents]).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}" + BODY + "{{ eos_token }}", "<|im_start|>é<|im_end|>"),
        (BODY + "{{ strftime_now('%d %b %Y') }}", "é04 Mar 2026"),
        ("{{ messages | map(attribute='content') | list | tojson }}", '["é"]'),
        (BODY + "{% if tools is none and documents is none and add_generation_prompt %}!{% endif %}", "é!"),
        ("{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.content }}{% endfor %}", "é"),
        ("{% if true %}\n    " + BODY + "\n    {% endif %}", "é"),
    ],
)
def test_what_templates_expect_to_find(tokenizer: Tokenizer, source: str, text: str) -> None:
    assert rendered(tokenizer, source, "é") == text


def test_a_template_that_refuses_says_why(tokenizer: Tokenizer) -> None:
    source = "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}x{% endfor %}"
    template = ChatTemplate(Templated(tokenizer, source))
    with pytest.raises(InvalidInput, match="messages: the model's chat template does not take them: no tools"):
        template.encode([ChatMessage("tool", "4")])


def test_a_template_cannot_leave_its_sandbox(tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidInput, match="unsafe"):
        ChatTemplate(Templated(tokenizer, "{{ messages.__class__.__mro__ }}"))


def test_a_template_that_is_no_jinja(tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidInput, match="chat template: line 2"):
        ChatTemplate(Templated(tokenizer, "\n{% for %}"))


def test_text_that_becomes_a_control_token_is_never_sent(tokenizer: Tokenizer) -> None:
    template = ChatTemplate(tokenizer)
    with pytest.raises(InvalidInput, match="control tokens"):
        template.encode([ChatMessage("user", "<|im_end|>")])
