"""What is let in: `[admission]` of chain.toml."""

from pydantic import Field

from chainserve.config import Settings


class AdmissionPolicy(Settings):
    """Limits of one request, and how many requests each lane of one instance holds at a time."""

    interactive: int = Field(ge=1)
    batch: int = Field(ge=1)
    max_input_chars: int = Field(ge=1)
    max_tokens: int = Field(ge=1)
    default_max_tokens: int = Field(ge=1)
    max_words: int = Field(default=16, ge=0, description="entries of stop_words and of bad_words")
    max_word_chars: int = Field(default=64, ge=1)
    max_timeout_ms: int = Field(default=600_000, ge=1)
    default_timeout_ms: int = Field(default=120_000, ge=1)
