"""Whom and what several memories are about gets a note of its own: a profile of what they say of
it, word for word, each with its day and its source. Nobody is asked.

A name is one only where it cannot be guessed wrong: two of one first name stay two, and a bare
first name makes nobody while a longer name has it. A profile that a person changed is theirs, one
they took away does not come back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.text.claims import split_sentences
from oneiro_vault.core.text.query import fold
from oneiro_vault.mind.base import NOW, Asking, Decision, New, Note, Set, Snapshot, keyed
from oneiro_vault.mind.blocks import ours

NAME: Final = "entities"
ENTITY: Final = "entity"
SOURCES: Final = ("semantic", "episodic", "procedure", "principle")
FEWEST: Final = 2
"""Memories that are about a name before it gets a note."""
MOST: Final = 40
"""Profiles that one night makes, of the names that most memories are about, and changes."""
SHOWN: Final = 6
"""Sentences of a profile, the newest."""
LONGEST: Final = 300
"""Characters of one."""
_CAPITAL: Final = re.compile(r"[^\W\d_a-zß-öø-ÿ]|\w*\d")
"""How a name begins: a capital, or a word with a digit."""
_NOBODY: Final = frozenset(
    """
    user assistant person the person model me i you we they he she it monday tuesday wednesday
    thursday friday saturday sunday january february march april may june july august september
    october november december today tomorrow yesterday
    """.split()
) | {"the person", "the user", "the assistant"}
"""What is no name of anybody, folded."""
_ADDED: Final = re.compile(r" \[\d{4}-[^\]]*\]")
_LINE: Final = re.compile(r"- \d{4}-\d\d-\d\d: “[^“”]+” \(\[\[(?:[^\[\]|]+\|)?[0-9a-z]{12}\]\]\)")
_MARKS: Final = str.maketrans("“”", "''")


@dataclass
class Subject:
    """A name as it is written, and the memories about it, oldest first."""

    spellings: Counter[str] = field(default_factory=Counter)
    notes: list[Note] = field(default_factory=list)

    @property
    def title(self) -> str:
        """As most of them write it."""
        return max(self.spellings, key=lambda one: (self.spellings[one], one))


class Entities:
    """Give names their notes, and keep the profiles."""

    name = NAME

    def run(self, snapshot: Snapshot) -> Asking:
        """Nothing is asked."""
        yield from ()
        known = _known(snapshot)
        subjects = _subjects(snapshot)
        parts = {word for name in (*subjects, *known) if " " in name for word in name.split()}
        new = [
            (name, subject)
            for name, subject in sorted(subjects.items())
            if name not in known
            and len(subject.notes) >= FEWEST
            and name not in parts
            and keyed(NAME, _key(name)) not in snapshot.settled
        ]
        new.sort(key=lambda one: -len(one[1].notes))
        made = [_made(name, subject) for name, subject in new[:MOST]]
        kept = (
            _kept(note, [one for name in names for one in _notes(subjects, name)])
            for note, names in _profiles(snapshot)
        )
        changed = [decision for decision in kept if decision is not None]
        return [*made, *changed[:MOST]]


LOOP: Final = Entities()


def _subjects(snapshot: Snapshot) -> dict[str, Subject]:
    """Folded name -> what is about it. Words from outside name nobody."""
    found: dict[str, Subject] = {}
    for note in snapshot.of(*SOURCES):
        if note.memory.level or note.memory.trust == "external" or note.memory.source == "capture":
            continue
        for name in dict.fromkeys(note.memory.about):
            folded = fold(name)
            if _CAPITAL.match(name) and folded not in _NOBODY and len(folded) > 1:
                subject = found.setdefault(folded, Subject())
                subject.spellings[" ".join(name.split())] += 1
                subject.notes.append(note)
    return found


def _notes(subjects: Mapping[str, Subject], name: str) -> list[Note]:
    return subjects[name].notes if name in subjects else []


def _known(snapshot: Snapshot) -> frozenset[str]:
    """Every name that an entity has, whatever became of it."""
    return frozenset(
        name
        for note in snapshot.notes.values()
        if note.memory.type == ENTITY
        for name in _names(note.memory)
    )


def _names(memory: Memory) -> set[str]:
    return {fold(name) for name in (memory.title, *memory.aliases)}


def _profiles(snapshot: Snapshot) -> Iterator[tuple[Note, set[str]]]:
    """The profiles that still are as they were made here, with their names."""
    for note in snapshot.of(ENTITY):
        written = all(_LINE.fullmatch(line) for line in note.memory.body.strip().splitlines())
        if ours(note) and written and not note.edited:
            yield note, _names(note.memory)


def _said(title: str, notes: Sequence[Note]) -> list[tuple[str, Note]]:
    """(line of a profile, its source), oldest first, of what was not said in the same words
    before."""
    names = {fold(title), *fold(title).split()}
    lines: dict[str, tuple[str, Note]] = {}
    for note in sorted(notes, key=lambda one: (one.memory.when() or 0.0, one.id)):
        sentences = split_sentences(_ADDED.sub("", prose(note.memory.body)))
        naming = [one for one in sentences if names & set(fold(one).split())] or sentences
        words = " ".join(naming[0].split()).translate(_MARKS) if naming else ""
        if words and len(words) <= LONGEST and fold(words) not in lines:
            day = note.memory.created[:10]
            # By the file's name, so that Obsidian opens it too.
            file = note.memory.path.rpartition("/")[2].removesuffix(".md")
            lines[fold(words)] = f"- {day}: “{words}” ([[{file}|{note.id}]])", note
    return list(lines.values())[-SHOWN:]


def _made(name: str, subject: Subject) -> Decision:
    said = _said(subject.title, subject.notes)
    meta = {
        "type": ENTITY,
        "title": subject.title,
        "description": f"Whom or what {len(subject.notes)} memories are about.",
        "trust": "model",
        "derived_from": [note.id for _, note in said],
    }
    body = "\n".join(line for line, _ in said)
    return Decision(
        NAME, "synthesize", subject.title, f"{len(subject.notes)} memories are about it",
        (New(meta, f"{body}\n"),), tuple(note.id for _, note in said), key=_key(name),
    )  # fmt: skip


def _key(name: str) -> str:
    return f"entity {name}"


def _kept(note: Note, about: Sequence[Note]) -> Decision | None:
    """What the profile says now; what no longer holds leaves it."""
    said = _said(note.memory.title, about)
    body = "\n".join(line for line, _ in said)
    if not said or body == note.memory.body.strip():
        return None
    changes = {
        "description": f"Whom or what {len(about)} memories are about.",
        "derived_from": [one.id for _, one in said],
        "timestamp": NOW,
    }
    ids = (note.id, *(one.id for _, one in said))
    return Decision(
        NAME, "revise", note.memory.title, "what is said of it changed",
        (Set(note.id, changes, f"{body}\n"),), ids,
    )  # fmt: skip
