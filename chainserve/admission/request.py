"""From what a client sent to a ChainRequest: everything is validated here, once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from chainserve.admission.chat_messages import parse_messages
from chainserve.admission.policy import AdmissionPolicy
from chainserve.errors import InvalidInput
from chainserve.messages import ChainRequest, ChatMessage, Guide, Sampling


def _neutral_length_penalty(value: float) -> float:
    if value not in {0.0, 1.0}:
        raise ValueError("only 0.0 or 1.0: there is no beam search")
    return value


class RequestFields(BaseModel):
    """The chain's inputs by their tensor names; None is "not sent"."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    text_input: str | None = None
    messages: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    min_tokens: int | None = Field(default=None, ge=0)
    stream: bool = False
    stop_words: tuple[str, ...] = ()
    bad_words: tuple[str, ...] = ()
    temperature: float | None = Field(default=None, ge=0.0, le=10.0)
    top_k: int | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    seed: int | None = Field(default=None, ge=0)
    repetition_penalty: float | None = Field(default=None, gt=0.0, le=10.0)
    presence_penalty: float | None = Field(default=None, ge=-2.0, le=2.0)
    frequency_penalty: float | None = Field(default=None, ge=-2.0, le=2.0)
    # NVIDIA's clients send these; only the values that change nothing can be honoured by the chain.
    length_penalty: Annotated[float, AfterValidator(_neutral_length_penalty)] | None = None
    beam_width: Literal[1] | None = None
    return_log_probs: Literal[False] | None = None
    return_perf_metrics: Literal[False] | None = None
    exclude_input_in_output: bool | None = None
    return_num_input_tokens: bool | None = None
    return_num_output_tokens: bool | None = None
    end_id: int | None = Field(default=None, ge=0)
    pad_id: int | None = Field(default=None, ge=0)
    guided_decoding_guide_type: Literal["json", "json_schema", "regex", "ebnf_grammar"] | None = None
    guided_decoding_guide: str | None = None
    user_id: str = Field(default="", max_length=256)
    session_id: str = Field(default="", max_length=256)
    tenant: str = Field(default="", max_length=256)
    timeout_ms: int | None = Field(default=None, ge=1)
    priority: Literal["interactive", "batch"] = "interactive"

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if (self.text_input is None) == (self.messages is None):
            raise InvalidInput("text_input", "send exactly one of text_input and messages")
        return self


@dataclass(frozen=True)
class Admission:
    """Turns the fields of a request into a ChainRequest.

    Raises:
        InvalidInput: names the first field that cannot be served, its limit, and the kind of what was sent.
    """

    policy: AdmissionPolicy

    def admit(self, request_id: str, sent: Mapping[str, Any]) -> ChainRequest:
        fields = _validated(sent)
        return ChainRequest(
            request_id=request_id,
            messages=self._messages(fields),
            sampling=self._sampling(fields),
            stream=fields.stream,
            user_id=fields.user_id,
            session_id=fields.session_id,
            tenant=fields.tenant,
            timeout_ms=self._timeout(fields),
            priority=fields.priority,
        )

    def _messages(self, fields: RequestFields) -> tuple[ChatMessage, ...]:
        if fields.messages is None:
            messages: tuple[ChatMessage, ...] = (ChatMessage("user", fields.text_input or ""),)
        else:
            messages = parse_messages(fields.messages)
        field = "text_input" if fields.messages is None else "messages"
        if not any(message.role == "user" and message.content.strip() for message in messages):
            raise InvalidInput(field, "holds no text from the user")
        _at_most(field, "characters", sum(len(m.content) for m in messages), self.policy.max_input_chars)
        return messages

    def _sampling(self, fields: RequestFields) -> Sampling:
        max_tokens = self.policy.default_max_tokens if fields.max_tokens is None else fields.max_tokens
        _at_most("max_tokens", "tokens", max_tokens, self.policy.max_tokens)
        if fields.min_tokens is not None:
            _at_most("min_tokens", "tokens (max_tokens)", fields.min_tokens, max_tokens)
        return Sampling(
            max_tokens=max_tokens,
            min_tokens=fields.min_tokens,
            temperature=fields.temperature,
            top_k=fields.top_k,
            top_p=fields.top_p,
            seed=fields.seed,
            repetition_penalty=fields.repetition_penalty,
            presence_penalty=fields.presence_penalty,
            frequency_penalty=fields.frequency_penalty,
            stop_words=self._words("stop_words", fields.stop_words),
            bad_words=self._words("bad_words", fields.bad_words),
            guide=_guide(fields),
        )

    def _words(self, field: str, words: tuple[str, ...]) -> tuple[str, ...]:
        words = tuple(word for word in words if word)  # NVIDIA's clients send [""] for none
        _at_most(field, "entries", len(words), self.policy.max_words)
        for word in words:
            _at_most(field, "characters in an entry", len(word), self.policy.max_word_chars)
        return words

    def _timeout(self, fields: RequestFields) -> int:
        if fields.timeout_ms is None:
            return self.policy.default_timeout_ms
        _at_most("timeout_ms", "milliseconds", fields.timeout_ms, self.policy.max_timeout_ms)
        return fields.timeout_ms


def _validated(sent: Mapping[str, Any]) -> RequestFields:
    known = {name: value for name, value in sent.items() if value is not None}
    try:
        return RequestFields.model_validate(known)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        kind = type(known.get(field)).__name__
        raise InvalidInput(field, f"{first['msg'].lower()}, got a value of kind {kind}") from None


def _at_most(field: str, unit: str, amount: int, limit: int) -> None:
    if amount > limit:
        raise InvalidInput(field, f"{amount} {unit}, the limit is {limit}")


def _guide(fields: RequestFields) -> Guide | None:
    kind, text = fields.guided_decoding_guide_type, fields.guided_decoding_guide
    if kind is None:
        if text is not None:
            raise InvalidInput("guided_decoding_guide_type", "is needed with guided_decoding_guide")
        return None
    if kind != "json" and not text:
        raise InvalidInput("guided_decoding_guide", f"is needed for a guide of type {kind}")
    return Guide(kind, text or "")
