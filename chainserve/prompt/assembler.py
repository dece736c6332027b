"""From a request and its context to the prompt: template by route, within the engine's context length."""

from collections.abc import Callable, Sequence
from datetime import datetime

from chainserve.errors import InvalidInput
from chainserve.messages import ChatMessage, Context, Prompt
from chainserve.prompt.conversation import Conversation, Turn
from chainserve.prompt.policy import Language, LanguageOf, PromptPolicy
from chainserve.prompt.selection import Costs, Selection, select
from chainserve.prompt.template import ChatTemplate, TokenizerLike, local_time
from chainserve.prompt.wording import Wording


class PromptAssembler:
    """Pure after it is made; used from any thread.

    `language_of` says in which language the prompt addresses the model: chainserve.guards.language.language_of.
    """

    def __init__(
        self,
        tokenizer: TokenizerLike,
        policy: PromptPolicy,
        language_of: LanguageOf,
        today: Callable[[], datetime] = local_time,
    ) -> None:
        self._tokenizer, self._policy, self._language_of = tokenizer, policy, language_of
        self._template = ChatTemplate(tokenizer, today)
        self._wording = Wording(policy, tokenizer.special_tokens)

    def assemble(
        self,
        messages: tuple[ChatMessage, ...],
        route: str,
        context: Context,
        max_tokens: int,
        context_length: int,
    ) -> Prompt:
        """The prompt of the question and as much of the rest as fits: prompt + `max_tokens` <= `context_length`.

        Raises:
            InvalidInput: no user message, or question, system text and `max_tokens` alone are too long.
        """
        context = self._wording.clean_context(context)
        conversation = Conversation.of(self._wording.clean(messages), context.history)
        language = self._language_of(conversation.question[0].content)

        def prompt(selection: Selection) -> Prompt:
            return self._template.encode(self._wording.messages(route, language, conversation, selection))

        bare = prompt(Selection())
        room = context_length - max_tokens - len(bare.ids)
        if room < 0:
            raise _too_long(messages, len(bare.ids), max_tokens, context_length)
        selection = self._select(conversation, context, room, language)
        while selection != Selection():
            full = prompt(selection)
            if len(full.ids) + max_tokens <= context_length:
                return full
            selection = selection.less()
        return bare

    def placeholder(self) -> Prompt:
        """The shortest prompt there is: for an engine that has to be called although its answer is not wanted."""
        return self._template.encode([ChatMessage("user", "-")])

    def _select(self, conversation: Conversation, context: Context, room: int, language: Language) -> Selection:
        budgets = self._policy.budgets
        if not conversation.stored:
            budgets = budgets.model_copy(update={"history": room})
        return select(context, conversation.turns, budgets, room, self._costs(language))

    def _costs(self, language: Language) -> Costs:
        wording = self._wording

        def turn(turn: Turn) -> int:
            return sum(self._count(message.content) + self._template.message_tokens for message in turn)

        return Costs(
            profile=lambda profile: self._count(wording.profile(profile, language)),
            reference=self._count("".join(wording.frame(language))),
            passage=lambda passage: self._count(wording.passage(passage)),
            turn=turn,
        )

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text))


def _too_long(messages: Sequence[ChatMessage], tokens: int, max_tokens: int, context_length: int) -> InvalidInput:
    if max_tokens >= context_length:
        return InvalidInput("max_tokens", f"must be below the context length of {context_length}, got {max_tokens}")
    return InvalidInput(
        "text_input" if len(messages) == 1 else "messages",
        f"the question and the system prompt are {tokens} tokens, max_tokens adds {max_tokens}; "
        f"the context length is {context_length}",
    )
