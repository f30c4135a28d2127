"""What the last conversation of each project came to, left where a hook finds it when the next one
begins: how it ended, what its model left behind, or else the person's last words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypedDict

from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.conversation.turns import REFLECTION, SOURCE
from oneiro_vault.core.memory import EPISODIC, captured
from oneiro_vault.core.text.claims import split_sentences
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.vault.vault import Vault

FILE: Final = "conversations.json"
"""In the vault's `.oneiro`: the folder (device and inode, so that no vault brings its own) and
project -> `Ended`."""
LATELY: Final = 60 * 86_400.0
"""Seconds after which nobody goes on where they stopped."""
PROJECTS: Final = 50
LONGEST: Final = 240
"""Characters that are quoted."""
_NEWEST: Final = 500
_PEOPLE: Final = (turns.USER, turns.ASSISTANT)


class Ended(TypedDict):
    """A conversation: its note, with the size that shows another one there, its day, the number of
    its messages and the words with which it ended."""

    id: str
    path: str
    size: int
    session: str
    day: str
    messages: int
    words: str


def of_projects(vault: Vault, index: Index, now: float) -> dict[str, Ended]:
    """Project -> its last conversation, "" for those without one."""
    since = now - LATELY
    asked: tuple[dict[str, str], ...] = ({"source": SOURCE}, {"tag": REFLECTION})
    rows = (
        row
        for where in asked
        for row in index.list(type=EPISODIC, status="active", since=since, limit=_NEWEST, **where)
    )
    newest = {row.project: row for row in sorted(filter(is_conversation, rows), key=_last)}
    kept = sorted(newest.values(), key=_last)[-PROJECTS:]
    bodies = index.bodies([row.key for row in kept])
    found = ((row, _ended(vault, row, bodies.get(row.key, ""))) for row in kept)
    return {row.project: one for row, one in found if one["words"]}


def is_conversation(row: Row) -> bool:
    """Is it one that was captured, or what a model left behind of one?"""
    return REFLECTION in row.tags or (captured(row) and row.kind == "conversation")


def _last(row: Row) -> tuple[float, str]:
    """Of one conversation in several parts, the last of them last."""
    return row.when or 0.0, row.title


def _ended(vault: Vault, row: Row, body: str) -> Ended:
    messages = sum(one.speaker in _PEOPLE for one in turns.turns(body))
    words = row.outcome or (body if REFLECTION in row.tags else _farewell(vault, row, body))
    return {
        "id": row.handle, "path": row.path, "size": row.size, "session": row.session,
        "day": row.created[:10], "messages": messages, "words": _short(words),
    }  # fmt: skip


def _farewell(vault: Vault, row: Row, body: str) -> str:
    """The last words of the person that say something; nobody else's begin a conversation. No model
    is asked, as this follows on every change: where anything else may stand, nothing is told."""
    try:
        memory = memories.parse(row.path, vault.read(row.path))
    except OneiroError:
        return ""
    from oneiro_vault.classify.spans import last_words  # as in `drafts`

    return last_words(replace(memory, body=body), LONGEST)


def _short(text: str) -> str:
    """Its last sentences, whole."""
    kept = ""
    for sentence in reversed(split_sentences(text)):
        longer = f"{' '.join(sentence.split())} {kept}".strip()
        if len(longer) > LONGEST:
            break
        kept = longer
    return kept
