"""Answers as a model reads them: dated rows, and notes quoted as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.core.markdown.quoting import PREFACE, escape, quote

NOTHING: Final = "No relevant memory."
NO_INSIGHT: Final = "No insight of that level."
_ROOM: Final = 100_000
"""Characters of memories in one answer; the resource of a memory has all of it."""
_LEAST: Final = 2_000
_STEPS: Final = 60
"""Memories that a look at the levels shows, the nearest."""
_MARKS: Final = (("weak match", "weak"), ("file gone", "gone"), ("partly read", "broken"))

Found = Mapping[str, Any]
"""A memory or a row as an operation of the App answers it."""


def rows(found: Iterable[Found]) -> str:
    """`id date title: summary`, one memory a line; what answers best stands for the summary.

    Every sign here is paid for in each answer: a type is named where it is not the usual one.
    """
    return "\n".join(map(_row, found))


def _row(found: Found) -> str:
    title = one_line(found.get("title"))
    said = one_line(found.get("snippet") or found.get("description"))
    trust = found.get("trust") or (found.get("why") or {}).get("trust")
    kind, status = one_line(found.get("type")), one_line(found.get("status"))
    usual = (kind, "semantic"), (status, "active")
    marks = [mark for mark, known in usual if mark not in ("", known)]
    marks += [] if trust in (None, "", "user", "said", "model") else [f"trust: {one_line(trust)}"]
    marks += [f"replaced by {one_line(found['replaced_by'])}"] if found.get("replaced_by") else []
    standing = found.get("standing", answers.SAID_ONCE)
    marks += [one_line(standing)] if standing != answers.SAID_ONCE else []
    marks += _valid(found.get("valid") or {})
    marks += [mark for mark, name in _MARKS if found.get(name)]
    noted = f" [{', '.join(marks)}]" if marks else ""
    more = f": {said}" if said not in ("", title) else ""
    return f"{found['id']} {day(found.get('created'))}{noted} {title}{more}"


def _valid(valid: Mapping[str, Any]) -> list[str]:
    if not (now := valid.get("now")):
        return []
    return [f"from {day(valid['from'])}" if now == "ahead" else f"until {day(valid['until'])}"]


def _facts(found: Found, *more: str) -> str:
    return " · ".join(
        [str(found["id"]), day(found.get("created")), one_line(found.get("type")), *more]
    )


def one_line(text: object) -> str:
    """Text of a note on one line, with nothing in it that could end a quotation."""
    return escape(" ".join(str(text or "").split()))


def day(moment: object) -> str:
    """The date of an RFC 3339 moment."""
    return str(moment or "")[:10] or "no date"


def whole(found: answers.FullMemory, room: int = _ROOM) -> str:
    """A memory in full, its body quoted; what goes beyond `room` characters is left out and
    counted."""
    body = str(found["body"])
    kept = body[:room]
    facts = {"id": found["id"], "created": found["created"], "source": found["source"]}
    text = quote(kept.strip("\n"), **facts, trust=found["trust"])
    more = len(body) - len(kept)
    cut = f"\n(cut: {more} more characters are in the resource memory://{found['id']})"
    head = _facts(found, one_line(found["title"]), *_marks(found))
    return f"{head}\n{text}{cut if more else ''}"


def _marks(found: answers.FullMemory) -> list[str]:
    changed, notice = found["timestamp"], found.get("notice")
    pictures = found.get("images") or ()
    marks = [f"changed {day(changed)}"] if changed and changed != found["created"] else []
    marks += [str(found["status"])] if (found["status"] or "active") != "active" else []
    marks += [f"replaced by {one_line(found['superseded_by'])}"] if found["superseded_by"] else []
    marks += [one_line(f"{notice['shown']}: {notice['reason']}")] if notice else []
    which = f" ({', '.join(one['sha256'][:12] for one in pictures)})" if len(pictures) > 1 else ""
    return marks + ([f"pictures: {len(pictures)}{which}, see recall_image"] if pictures else [])


def in_full(found: Sequence[answers.FullMemory], missing: Sequence[str] = ()) -> str:
    """Memories in full that share the room of one answer, then why others are not here."""
    left, parts = _ROOM, [PREFACE] if found else []
    for number, one in enumerate(found):
        share = max(left - _LEAST * (len(found) - number - 1), _LEAST)
        parts.append(whole(one, share))
        left -= len(parts[-1])
    return "\n\n".join([*parts, *missing])


def orientation(now: str, found: answers.Oriented) -> str:
    """The orientation, the rows below it, and whether questions wait."""
    parts = [f"Now: {now}", found["text"].strip() or "No orientation yet."]
    if found["recent"]:
        parts.append(f"{PREFACE}\n{rows(found['recent'])}")
    if found["flagged"]:
        parts.append(
            f"{found['flagged']} memories have a question for the person: flagged lists them."
        )
    return "\n\n".join([*parts, *less(found["degraded"])])


def levels(found: answers.Levels, up: bool) -> str:
    """A memory and below it what it was made of (or, `up`, what was made of it), each step further
    in; of a conversation the words that count."""
    below: dict[str, list[answers.Level]] = {}
    for one in found["levels"][:_STEPS]:
        below.setdefault(one["of"], []).append(one)
    lines = [f"{found['id']} {one_line(found['title'])}", *_below(found["id"], below)]
    if len(lines) == 1:
        lines.append("Nothing was made of it." if up else "It was made of nothing else.")
    left = len(found["levels"]) - _STEPS
    return "\n".join([*lines, f"{left} more are not shown."] if left > 0 else lines)


def _below(ident: str, below: Mapping[str, Sequence[answers.Level]]) -> Iterator[str]:
    for one in below.get(ident, ()):
        level = [f"level {one['level']}"] if one["level"] else []
        usual = (one["type"], "semantic"), (one["status"], "active")
        marks = [*level, *(one_line(mark) for mark, known in usual if mark != known)]
        noted = f" [{', '.join(marks)}]" if marks else ""
        words = f": “{one_line(one['words'])}”" if one["words"] else ""
        facts = f"{one['id']} {day(one['created'])}{noted} {one_line(one['title'])}"
        yield f"{'  ' * (one['depth'] - 1)}- {facts}{words}"
        yield from _below(one["id"], below)


def questions(found: Iterable[answers.FlaggedRow]) -> str:
    """Open questions, one memory a paragraph."""
    return "\n".join(map(_question, found))


def _question(found: answers.FlaggedRow) -> str:
    flags = ", ".join(map(one_line, found["flags"]))
    return (
        f"- {found['id']} · {day(found['created'])} · {flags} · {one_line(found['title'])}\n  "
        f"{one_line(found['question'])}"
    )


def beside(found: answers.Assembled, refused: bool) -> list[str]:
    """What bears on a request, and why no model chose it (`refused`: nobody asks one for this
    caller)."""
    why = "no model is asked for this caller" if refused else found.get("model", {}).get("problem")
    text = found["text"] or NOTHING
    return [text, f"Note: {one_line(why)}."] if why else [text]


def less(degraded: str | None) -> list[str]:
    """Why an answer may be missing something."""
    return [f"Incomplete: {one_line(degraded)}."] if degraded else []
