"""How the parts of a prompt are put into words, and into an order in which the KV cache can reuse them.

    system    the route's text | the caller's system messages | the user's profile
    turns     oldest first
    question  retrieved passages | the question

From what is the same for everybody on a route, over what is the same for one user and one session, to what is new.
"""

from collections.abc import Iterable
from dataclasses import replace

from chainserve.messages import ChatMessage, Context, Passage
from chainserve.prompt.control_tokens import ControlTokens
from chainserve.prompt.conversation import Conversation
from chainserve.prompt.policy import Language, PromptPolicy
from chainserve.prompt.selection import Selection

REFERENCE = ("<reference>", "</reference>")


class Wording:
    """Writes messages. Everything that comes from outside goes through `clean...` first."""

    def __init__(self, policy: PromptPolicy, special_tokens: Iterable[str]) -> None:
        self._policy = policy
        self._control = ControlTokens(special_tokens)
        self._borders = ControlTokens([*special_tokens, *REFERENCE])

    def clean(self, messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
        return tuple(replace(message, content=self._control.neutralise(message.content)) for message in messages)

    def clean_context(self, context: Context) -> Context:
        """Retrieved text also must not end the block it is quoted in."""
        passages = tuple(replace(passage, text=self._borders.neutralise(passage.text)) for passage in context.passages)
        return Context(self._control.neutralise(context.profile), self.clean(context.history), passages)

    def messages(
        self, route: str, language: Language, conversation: Conversation, selection: Selection
    ) -> list[ChatMessage]:
        system = [self._policy.system(route, language), *conversation.system, self.profile(selection.profile, language)]
        question, *rest = conversation.question
        return [
            *_system("\n\n".join(filter(None, system))),
            *(message for turn in selection.turns for message in turn),
            replace(question, content=self._reference(selection.passages, language) + question.content),
            *rest,
        ]

    def profile(self, profile: str, language: Language) -> str:
        return f"{self._policy.profile.of(language)} {profile}" if profile else ""

    def passage(self, passage: Passage) -> str:
        return f"- {passage.text}\n"

    def frame(self, language: Language) -> tuple[str, str]:
        """What stands before and after the passages."""
        return f"{self._policy.reference.of(language)}\n{REFERENCE[0]}\n", f"{REFERENCE[1]}\n\n"

    def _reference(self, passages: tuple[Passage, ...], language: Language) -> str:
        before, after = self.frame(language)
        return before + "".join(map(self.passage, passages)) + after if passages else ""


def _system(text: str) -> list[ChatMessage]:
    return [ChatMessage("system", text)] if text else []
