"""What is known beside a question: the user's profile, the session's history, passages that fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chainserve.context.duplicates import distinct
from chainserve.context.interfaces import ContextStore, PassageIndex, Session
from chainserve.context.settings import ContextSettings, SearchLimits
from chainserve.encoder import SentenceEncoder
from chainserve.messages import Context, Passage


@dataclass(frozen=True)
class Query:
    text: str
    session: Session


@dataclass(frozen=True)
class Search:
    """Passages for questions. One pass of the encoder for all of them."""

    index: PassageIndex
    encoder: SentenceEncoder
    limits: SearchLimits
    language_of: Callable[[str], str]

    def passages(self, texts: Sequence[str]) -> list[tuple[Passage, ...]]:
        vectors = self.encoder.encode([self._ends(text) for text in texts])
        found = self.index.search(vectors, self.limits.top_k)
        return [self._chosen(self._readable(text, passages)) for text, passages in zip(texts, found, strict=True)]

    def _ends(self, text: str) -> str:
        half = self.limits.max_query_chars // 2
        return text if len(text) <= 2 * half else f"{text[:half]} {text[-half:]}"

    def _readable(self, text: str, found: Sequence[Passage]) -> list[Passage]:
        """The relevant ones in the language of the question; if there are none, those in another.

        A text that is there in both languages would else be given twice, and a small model follows the language of
        what it reads.
        """
        relevant = [passage for passage in found if passage.score >= self.limits.min_score]
        language = self.language_of(text)
        return [passage for passage in relevant if self.language_of(passage.text) == language] or relevant

    def _chosen(self, found: Sequence[Passage]) -> tuple[Passage, ...]:
        """Near the best one, each said once, best first, whole, and not too long together."""
        floor = max((passage.score for passage in found), default=0.0) - self.limits.max_drop
        relevant = [passage for passage in found if passage.score >= floor]
        room, chosen = self.limits.max_chars, list[Passage]()
        for place in distinct([passage.text for passage in relevant]):
            if len(relevant[place].text) <= room:
                chosen.append(relevant[place])
                room -= len(relevant[place].text)
        return tuple(chosen)


@dataclass(frozen=True)
class Retrieval:
    """`search` is None where no index was built: no passages, and no time spent on the encoder."""

    store: ContextStore
    search: Search | None
    settings: ContextSettings

    def fetch(self, queries: Sequence[Query]) -> list[Context]:
        """One context for each query.

        Raises:
            Unavailable: the store cannot be reached.
        """
        found = self._passages([query.text for query in queries])
        return [self._context(query.session, passages) for query, passages in zip(queries, found, strict=True)]

    def _passages(self, texts: Sequence[str]) -> list[tuple[Passage, ...]]:
        asked = [place for place, text in enumerate(texts) if text.strip()]
        answers = self.search.passages([texts[place] for place in asked]) if self.search and asked else []
        found = dict(zip(asked, answers, strict=False))
        return [found.get(place, ()) for place in range(len(texts))]

    def _context(self, session: Session, passages: tuple[Passage, ...]) -> Context:
        return Context(
            profile=self.store.profile(session.tenant, session.user_id),
            history=self.store.last_turns(session, self.settings.history_turns),
            passages=passages,
        )
