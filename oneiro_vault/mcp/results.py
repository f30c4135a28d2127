"""The shapes of what tools answer, as published in their output schemas. Text that comes from notes is escaped or quoted."""

from __future__ import annotations

from typing_extensions import TypedDict


class Row(TypedDict):
    """One memory in a list; `created` RFC 3339 or empty; `weak`: it barely fits the question; `gone`: its file is."""

    id: str
    created: str
    type: str
    title: str
    summary: str
    trust: str
    status: str
    weak: bool
    gone: bool


class Orientation(TypedDict):
    """`text` is quoted Markdown; `omitted` blocks did not fit; `recent` are rows; `flagged` counts questions for a person."""

    now: str
    text: str
    omitted: int
    recent: list[Row]
    flagged: int
    degraded: str | None


class Rows(TypedDict):
    """Rows, best first; none means that no memory is relevant."""

    now: str
    memories: list[Row]
    degraded: str | None


class Picture(TypedDict):
    """A picture that belongs to a memory; width and height of the original, null when its file is not here yet."""

    sha256: str
    mime: str | None
    width: int | None
    height: int | None


class Whole(TypedDict):
    """One memory in full; `text` is its body, quoted; `superseded_by` names what replaced it; `cut`: characters that are not here;
    `notice`: why these are not the words of its file."""

    id: str
    created: str
    changed: str
    type: str
    title: str
    source: str
    trust: str
    status: str
    superseded_by: str
    text: str
    cut: int
    notice: str
    images: list[Picture]


class Missing(TypedDict):
    """An id that could not be answered, and why."""

    id: str
    reason: str


class Wholes(TypedDict):
    """Memories in full, in the order of the ids."""

    now: str
    memories: list[Whole]
    missing: list[Missing]
    degraded: str | None


class Image(TypedDict):
    """What the picture beside this is; width and height as sent."""

    now: str
    id: str
    sha256: str
    mime: str
    size: str
    width: int
    height: int


class Stored(TypedDict):
    """A memory that is in the vault now. `duplicate_of`: nothing was stored, that memory already says it."""

    now: str
    id: str
    title: str
    duplicate_of: str | None
    images: list[Picture]


class Changed(TypedDict):
    """A memory that says something else now, or `proposal`: the id under which the new words wait for a person."""

    now: str
    id: str
    proposal: str | None


class Forgotten(TypedDict):
    """A memory that is out of the way; its words stay in the history."""

    now: str
    id: str
    title: str


class Failure(TypedDict):
    """An update that was not made."""

    id: str
    message: str
    hint: str


class Reflection(TypedDict):
    """The episode that holds the highlights, and the updates that were made or not."""

    now: str
    id: str
    duplicate_of: str | None
    updated: list[Changed]
    failed: list[Failure]


class Question(TypedDict):
    """A memory with an open question for a person."""

    id: str
    created: str
    type: str
    title: str
    flags: list[str]
    question: str


class Questions(TypedDict):
    """Open questions, newest first; `total` counts all of them."""

    now: str
    questions: list[Question]
    total: int
    degraded: str | None
