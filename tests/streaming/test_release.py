import asyncio

from chainserve.messages import Verdict
from chainserve.streaming.release import HeldText, release
from chainserve.streaming.windows import WindowPlan, WindowPolicy

POLICY = WindowPolicy(first_chars=8, growth=2.0, max_chars=40, overlap_chars=10)


async def answer(text: str, bad_word: str) -> tuple[list[str], Verdict | None]:
    """Stream `text` word by word against a guard that flags `bad_word`."""
    held, emitted = HeldText(WindowPlan(POLICY)), []

    async def produce() -> None:
        for word in text.split(" "):
            held.add(word + " ")
            await asyncio.sleep(0)
        held.close()

    async def check(window: str) -> Verdict:
        await asyncio.sleep(0)
        return Verdict(flagged=bad_word in window, category="test")

    producer = asyncio.create_task(produce())
    verdict = await release(held, check, emitted.append)
    await producer
    return emitted, verdict


def test_clean_text_leaves_whole_and_in_pieces() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    emitted, verdict = asyncio.run(answer(text, "bomb"))
    assert "".join(emitted) == text + " "
    assert len(emitted) > 1
    assert verdict is None


def test_nothing_leaves_from_the_flagged_window_on() -> None:
    emitted, verdict = asyncio.run(answer("one two three four five six bomb seven eight nine", "bomb"))
    assert verdict is not None
    assert verdict.flagged
    assert "one two three four five six bomb".startswith("".join(emitted).strip())
    assert "bomb" not in "".join(emitted)


def test_an_empty_answer_is_released_without_a_check() -> None:
    async def run() -> Verdict | None:
        held = HeldText(WindowPlan(POLICY))
        held.close()
        return await release(held, None, None)  # type: ignore[arg-type]

    assert asyncio.run(run()) is None
