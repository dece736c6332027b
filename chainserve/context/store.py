"""Profiles and conversation history in one SQLite file."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chainserve.context.interfaces import Session
from chainserve.context.settings import StoreLimits
from chainserve.errors import InvalidInput, Unavailable, Unsupported
from chainserve.messages import ChatMessage

FILE_NAME = "store.sqlite3"
SCHEMA_VERSION = 1
CUT = "…"

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS turns (
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
        question TEXT NOT NULL, answer TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS turns_of_session ON turns (tenant, user_id, session_id, id)",
    """CREATE TABLE IF NOT EXISTS profiles (
        tenant TEXT NOT NULL, user_id TEXT NOT NULL, profile TEXT NOT NULL,
        PRIMARY KEY (tenant, user_id)
    ) WITHOUT ROWID""",
)
_SESSION = "tenant = ? AND user_id = ? AND session_id = ?"


class Store:
    """A ContextStore. Safe from several threads and several processes: WAL, one writer at a time, readers never wait.

    Raises:
        Unavailable: the file cannot be made, opened or read.
        Unsupported: a newer version of this package made it.
    """

    def __init__(self, folder: Path, limits: StoreLimits | None = None) -> None:
        self._path, self._limits = folder / FILE_NAME, limits or StoreLimits()
        self._lock = threading.Lock()
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = self._open()
            self._migrate()

    def append_turn(self, session: Session, question: str, answer: str) -> None:
        """Save a turn, and drop what is over the limits."""
        if not session.session_id:
            return
        key = (session.tenant, session.user_id, session.session_id)
        with self._writing() as execute:
            row = (*key, self._cut(question), self._cut(answer))
            execute("INSERT INTO turns (tenant, user_id, session_id, question, answer) VALUES (?, ?, ?, ?, ?)", row)
            execute(
                f"DELETE FROM turns WHERE {_SESSION} AND id <= "  # noqa: S608 a constant
                f"(SELECT id FROM turns WHERE {_SESSION} ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (*key, *key, self._limits.max_turns),
            )

    def last_turns(self, session: Session, turns: int) -> tuple[ChatMessage, ...]:
        if not session.session_id:
            return ()
        rows = self._read(
            f"SELECT question, answer FROM turns WHERE {_SESSION} ORDER BY id DESC LIMIT ?",  # noqa: S608 a constant
            (session.tenant, session.user_id, session.session_id, turns),
        )
        return tuple(
            message
            for question, answer in reversed(rows)
            for message in (ChatMessage("user", question), ChatMessage("assistant", answer))
        )

    def set_profile(self, tenant: str, user_id: str, profile: str) -> None:
        """Raises:
        InvalidInput: no user, or a profile over the limit: half of one may say the opposite.
        """
        if not user_id:
            raise InvalidInput("user_id", "is empty: a profile belongs to a user")
        if len(profile) > self._limits.max_profile_chars:
            raise InvalidInput("profile", f"{len(profile)} characters, the limit is {self._limits.max_profile_chars}")
        with self._writing() as execute:
            if profile:
                execute("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?)", (tenant, user_id, profile))
            else:
                execute("DELETE FROM profiles WHERE tenant = ? AND user_id = ?", (tenant, user_id))

    def profile(self, tenant: str, user_id: str) -> str:
        if not user_id:
            return ""
        rows = self._read("SELECT profile FROM profiles WHERE tenant = ? AND user_id = ?", (tenant, user_id))
        return str(rows[0][0]) if rows else ""

    def forget(self, tenant: str, user_id: str) -> None:
        with self._writing() as execute:
            execute("DELETE FROM profiles WHERE tenant = ? AND user_id = ?", (tenant, user_id))
            execute("DELETE FROM turns WHERE tenant = ? AND user_id = ?", (tenant, user_id))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _cut(self, text: str) -> str:
        limit = self._limits.max_turn_chars
        return text if len(text) <= limit else text[: limit - len(CUT)] + CUT

    def _open(self) -> sqlite3.Connection:
        seconds = self._limits.busy_timeout_ms / 1e3
        # Autocommit: transactions are written out. One connection, behind the lock, for all threads.
        connection = sqlite3.connect(self._path, seconds, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _migrate(self) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise Unsupported(f"store {self._path}: its schema is {version}, this version knows {SCHEMA_VERSION}")
        if version < SCHEMA_VERSION:
            with self._writing() as execute:
                for statement in _SCHEMA:
                    execute(statement)
                execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _read(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._errors(), self._lock:
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """One transaction. It takes the write lock first: a lock taken halfway fails instead of waiting."""
        with self._errors(), self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise Unavailable(f"store {self._path}: {error}") from error
