"""context.toml: how much is kept, and how much is given."""

from pydantic import Field

from chainserve.config import Settings


class StoreLimits(Settings):
    """Retention. What is over a limit goes when the next turn is saved."""

    max_turns: int = Field(default=50, ge=1, description="of one session; the oldest go")
    max_turn_chars: int = Field(default=8000, ge=1, description="of a question and of an answer; the rest is cut off")
    max_profile_chars: int = Field(default=2000, ge=1)
    busy_timeout_ms: int = Field(default=2000, ge=0, description="wait for another process that writes")


class SearchLimits(Settings):
    top_k: int = Field(ge=1, le=100)
    min_score: float = Field(ge=-1, le=1, description="cosine; less is not relevant")
    max_drop: float = Field(ge=0, le=2, description="so much below the best one is not relevant beside it")
    max_chars: int = Field(ge=0, description="of all passages together")
    max_query_chars: int = Field(ge=2, description="a longer question is searched by its two ends")


class ContextSettings(Settings):
    """`history_turns` are given with a request, at most."""

    encoder: str = "use"
    threads: int = Field(default=1, ge=1)
    history_turns: int = Field(ge=0)
    store: StoreLimits = StoreLimits()
    search: SearchLimits
