"""What the pages call things: who did what, how a memory stands, why a row ranks where it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from oneiro_vault.core import ranking
from oneiro_vault.core.conversation.turns import IMPORT, imported
from oneiro_vault.core.markdown.word_diff import Change

DID: Final[Mapping[str, str]] = {
    "remember": "Written", "reframe": "Reworded", "revise": "Reworded", "link": "Linked",
    "supersede": "Replaced", "merge": "Merged", "split": "Split", "distil": "Distilled",
    "whittle": "Shortened", "synthesize": "Drawn together", "forget": "Forgotten",
    "restore": "Brought back", "flag": "Questioned", "resolve": "Settled", "ratify": "Ratified",
    "import": "Imported", "adopt": "Taken in", "edit": "Edited", "sync": "Merged with a copy",
    "ledger": "Noted", "": "Changed with git",
}  # fmt: skip
"""Of an operation."""
STANDING: Final[Mapping[str, str]] = {
    "said once": "Said once: nobody repeated it since, and nobody disputes it.",
    "confirmed": "Confirmed: said in two conversations, on another day again, or by you.",
    "disputed": "Disputed: another memory says otherwise, or it was called wrong.",
    "inferred": "Inferred: a night concluded it, or it was noted as a guess.",
}
KINDS: Final[Mapping[str, str]] = {
    "semantic": "fact", "episodic": "episode", "orientation": "orientation line",
    "entity": "profile", "procedure": "procedure", "principle": "principle",
    "dream": "report of a night",
}  # fmt: skip
COLOURED: Final = ("semantic", "episodic", "procedure", "principle", "entity", "orientation")
"""Types that have a colour of their own, in the order in which bars are built of them."""
STATUS: Final[Mapping[str, str]] = {
    "active": "holds now", "superseded": "replaced", "pending": "waits for review",
    "dormant": "set aside", "archived": "archived", "forgotten": "forgotten",
}  # fmt: skip
USES: Final[Mapping[str, str]] = {
    "shown": "read by a person", "fetched": "read by a model", "useful": "called useful",
    "remembered again": "said again", "wrong": "called wrong",
}  # fmt: skip
JUDGES: Final[Mapping[str, str]] = {
    "auto": "", "none": "", "offline": "rules", "deferred": "the connected model",
    "sampling": "the connected model", "command": "a program of yours",
}  # fmt: skip
"""Of a setting that says who judges; "" where it does not say who did."""
KEYS: Final[Mapping[str, str]] = {
    "valid_from": "holds from", "valid_until": "holds until", "superseded_by": "replaced by",
    "supersedes": "replaces", "derived_from": "made from", "core": "ratified",
}  # fmt: skip
"""What pages call keys of the frontmatter; the others by their names."""


def called(kind: str) -> str:
    """A type of memory in a reader's word."""
    return KINDS.get(kind, kind)


def colour(kind: str) -> str:
    """The type whose colour a type has: its own, or `other`."""
    return kind if kind in COLOURED else "other"


def stands(status: str) -> str:
    """A memory's status in a reader's words."""
    return STATUS.get(status, status)


def judged(judge: str) -> str:
    """`judged by rules`; "" where nobody can say."""
    who = JUDGES.get(judge, judge)
    return f"judged by {who}" if who else ""


def did(entry: Mapping[str, Any], first: bool = False) -> str:
    """What a commit did to a memory, in a word or two; `first`: it was not there before."""
    if first and entry["op"] == "supersede":
        return "Written in place of another"
    if entry.get("undoes") or str(entry.get("reason", "")).startswith("undo of "):
        return "Taken back"
    return DID.get(str(entry["op"]), str(entry["op"]).capitalize())


def who(entry: Mapping[str, Any]) -> str:
    """Who did it, and by which door: goes on after `did`."""
    actor, author = str(entry["actor"]), str(entry["author"])
    if entry["op"] == "edit" and entry.get("commit"):
        return f"by {author or 'you'}, in an editor"
    if not entry["op"]:
        return f"by {author}, with git"
    if actor in _WHO:
        return _WHO[actor]
    if actor == "dream":
        return f"by a night ({entry['loop']})" if entry["loop"] else "by a night"
    return actor.replace(IMPORT, "from ") or f"by {author}"


_WHO: Final[Mapping[str, str]] = {
    "user": "by you", "model": "by the connected model", "capture": "from a conversation",
}  # fmt: skip


class KeyChange(NamedTuple):
    """What went from a key of the frontmatter and what came; `ids`: these are memories."""

    name: str
    gone: list[str]
    new: list[str]
    ids: bool


_UNTOLD: Final = frozenset({"title", "description", "source", "level"})
_OF_IDS: Final = frozenset({"derived_from", "supersedes", "superseded_by"})
_LISTS: Final = frozenset({"derived_from", "supersedes", "tags", "about", "aliases", "flags"})


def key_changes(keys: Mapping[str, Sequence[str]]) -> list[KeyChange]:
    """Of a version; of lists only what differs."""
    found = []
    for key, (before, after) in keys.items():
        if key in _UNTOLD:
            continue
        old, new = (one.split(", ") if key in _LISTS else [one] for one in (before, after))
        gone = [one for one in old if one and one not in new]
        come = [one for one in new if one and one not in old]
        found.append(KeyChange(KEYS.get(key, key), gone, come, key in _OF_IDS))
    return found


def notes(entry: Mapping[str, Any]) -> int:
    """How many notes a commit touched."""
    return sum(str(path).lower().endswith(".md") for path in entry["paths"])


def origin(meta: Mapping[str, Any]) -> str:
    """Where a memory comes from, in a sentence."""
    source, trust = str(meta.get("source") or "user"), str(meta.get("trust") or "user")
    client = f", through {meta['client']}" if meta.get("client") else ""
    if imported(source):
        return f"It was imported from {source.removeprefix(IMPORT)}."
    if source == "capture":
        return f"It is a conversation, kept as it was{client}."
    if trust == "said":
        return "You said it in a conversation, and a night kept it."
    if source == "dream":
        return "A night drew it from other memories."
    if source == "model":
        return f"A connected model noted it{client}."
    if trust == "external":
        return "It comes from outside, and nobody has confirmed it."
    return "You wrote it down yourself."


# -- why a row ranks where it does


class Part(NamedTuple):
    """A share of a score: `name`, what it adds, and in which of the groups."""

    name: str
    value: float
    group: str


_GROUPS: Final[Mapping[str, str]] = {
    "vector": "meaning", "vector in context": "meaning", "vector of its question": "meaning",
    "words": "words", "words in context": "words", "words of the whole": "words",
    "words of its question": "words", "the very words": "words",
    "name": "names", "date": "names",
    "importance": "standing", "recency": "standing", "frequency": "standing",
    "strength": "standing",
}  # fmt: skip
GROUPS: Final[Mapping[str, str]] = {
    "meaning": "meaning", "words": "words", "names": "names and dates",
    "standing": "how it stands", "place": "where it belongs",
}  # fmt: skip


def parts(why: Mapping[str, Any]) -> list[Part]:
    """What a score is made of, the largest first."""
    return [
        Part(called, value, _GROUPS.get(name, "place"))
        for name, called, value in ranking.told(why.get("parts") or {})
    ]


class Piece(NamedTuple):
    """A stretch of a bar, in thousandths of it."""

    group: str
    start: int
    width: int
    value: float


def bar(why: Mapping[str, Any], best: float) -> list[Piece]:
    """The groups that speak for a row, as stretches; a score of `best` fills the bar."""
    sums: dict[str, float] = {}
    for one in parts(why):
        sums[one.group] = sums.get(one.group, 0.0) + one.value
    against = sum(value for value in sums.values() if value < 0)
    total = sum(value for value in sums.values() if value > 0)
    scale = (total + against) / total if total > 0 else 0.0
    found, at = [], 0
    for group in GROUPS:
        value = sums.get(group, 0.0)
        width = round(1_000 * value * scale / best) if value > 0 and best > 0 else 0
        if width > 0:
            found.append(Piece(group, at, min(width, 1_000 - at), value))
            at += width
    return found


# -- what changed


_AROUND: Final = 90
"""Characters left of what stayed the same, on each side of a change."""


def in_brief(found: Sequence[Change]) -> list[Change]:
    """Changes with only a little of what is the same around them."""
    last = len(found) - 1
    return [
        (kind, _shorter(text, at > 0, at < last) if kind == "same" else text)
        for at, (kind, text) in enumerate(found)
    ]


def _shorter(text: str, behind: bool, ahead: bool) -> str:
    if len(text) <= 2 * _AROUND + 20:
        return text
    head, tail = text[:_AROUND].rpartition(" ")[0], text[-_AROUND:].partition(" ")[2]
    if behind and ahead:
        return f"{head} … {tail}"
    return f"{head} …" if behind else f"… {tail}" if ahead else text
