import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainserve.context.interfaces import Session
from chainserve.context.settings import StoreLimits
from chainserve.context.store import FILE_NAME, Store
from chainserve.errors import InvalidInput, Unavailable, Unsupported
from chainserve.messages import ChatMessage

LI = Session("acme", "li", "s1")


def questions(store: Store, session: Session, turns: int = 100) -> list[str]:
    return [message.content for message in store.last_turns(session, turns) if message.role == "user"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "data", StoreLimits(max_turns=3, max_turn_chars=10, max_profile_chars=10))


def test_turns_come_back_in_order(store: Store) -> None:
    store.append_turn(LI, "你好", "您好！")
    store.append_turn(LI, "Why?", "So.")
    assert store.last_turns(LI, 5) == (
        ChatMessage("user", "你好"),
        ChatMessage("assistant", "您好！"),
        ChatMessage("user", "Why?"),
        ChatMessage("assistant", "So."),
    )
    assert questions(store, LI, 1) == ["Why?"]
    assert store.last_turns(LI, 0) == ()


NAMES = st.sampled_from(["", "a", "b", "ab", "%", "A", "a'--"])
SESSIONS = st.builds(Session, NAMES, NAMES, NAMES)


@given(st.lists(st.tuples(SESSIONS, st.text("xyz", max_size=3)), max_size=20))
def test_nobody_sees_what_is_another_s(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[Session, str]]
) -> None:
    store = Store(tmp_path_factory.mktemp("data"))
    for session, text in turns:
        store.append_turn(session, text, "ok")
        if session.user_id:
            store.set_profile(session.tenant, session.user_id, f"{session.tenant}/{session.user_id}")
    for session, _ in turns:
        mine = [text for other, text in turns if other == session and session.session_id]
        assert questions(store, session) == mine
        assert store.profile(session.tenant, session.user_id) == (
            f"{session.tenant}/{session.user_id}" if session.user_id else ""
        )
    store.close()


def test_old_turns_go_and_long_ones_are_cut(store: Store) -> None:
    for number in range(5):
        store.append_turn(LI, str(number), "x" * 11)
        store.append_turn(Session("acme", "li", "s2"), str(number), "")
    assert questions(store, LI) == ["2", "3", "4"]
    assert store.last_turns(LI, 1)[1].content == "x" * 9 + "…"


def test_profiles(store: Store) -> None:
    store.set_profile("acme", "li", "素食")
    store.set_profile("acme", "li", "vegan")
    assert store.profile("acme", "li") == "vegan"
    store.set_profile("acme", "li", "")
    assert store.profile("acme", "li") == ""
    with pytest.raises(InvalidInput, match="profile: 11 characters, the limit is 10"):
        store.set_profile("acme", "li", "x" * 11)
    with pytest.raises(InvalidInput, match="user_id: is empty"):
        store.set_profile("acme", "", "x")


def test_forgetting_one_user(store: Store) -> None:
    other = Session("acme", "wang", "s1")
    for session in (LI, other):
        store.append_turn(session, "q", "a")
        store.set_profile(session.tenant, session.user_id, "p")
    store.forget("acme", "li")
    assert (questions(store, LI), store.profile("acme", "li")) == ([], "")
    assert (questions(store, other), store.profile("acme", "wang")) == (["q"], "p")


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    first = Store(tmp_path)
    first.append_turn(LI, "q", "a")
    first.close()
    assert questions(Store(tmp_path), LI) == ["q"]


def _write(folder: Path, writer: int) -> None:
    store = Store(folder, StoreLimits(max_turns=1000, busy_timeout_ms=30_000))
    for number in range(20):
        store.append_turn(LI, f"{writer} {number}", "")
    store.close()


def test_many_processes_open_and_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(tmp_path, writer)) for writer in range(3)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0] * 3
    found = questions(Store(tmp_path), LI)
    assert sorted(found) == sorted(f"{writer} {number}" for writer in range(3) for number in range(20))


def test_many_threads_open_and_write_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda writer: _write(tmp_path, writer), range(8)))
    assert len(questions(Store(tmp_path), LI, 1000)) == 160


def test_a_writer_that_holds_the_lock_too_long(tmp_path: Path) -> None:
    store = Store(tmp_path, StoreLimits(busy_timeout_ms=1))
    store.append_turn(LI, "q", "a")
    holder = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="database is locked"):
        store.append_turn(LI, "q2", "a")
    assert questions(store, LI) == ["q"]
    holder.execute("ROLLBACK")
    holder.close()
    store.append_turn(LI, "q2", "a")
    assert questions(store, LI) == ["q", "q2"]


def test_a_turn_that_breaks_leaves_nothing_half_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(UnicodeEncodeError):
        store.append_turn(LI, "\ud800", "a")
    store.append_turn(LI, "q", "a")
    assert questions(store, LI) == ["q"]


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(Unsupported, match="its schema is 99, this version knows 1"):
        Store(tmp_path)


@pytest.mark.parametrize("content", [b"this is no database at all, but a text that is long enough to be read", None])
def test_what_is_no_store_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / FILE_NAME
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(Unavailable, match=rf"store .*{FILE_NAME}: "):
        Store(tmp_path)
