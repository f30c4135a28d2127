"""Answers as a model reads them: dated rows, and notes quoted as data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oneiro_vault.core.quoting import PREFACE, escape, quote
from oneiro_vault.mcp.results import Missing, Orientation, Picture, Question, Row, Whole

NOTHING: Final = "No relevant memory."
_ROOM: Final = 100_000
"""Characters of memories in one answer; the resource of a memory has all of it."""
_LEAST: Final = 2_000
_COMMAND: Final = re.compile(r"[^.]*`oneiro (\w+)[^`]*`[^.]*\.?")


def advice(text: str) -> str:
    """What to do next, for a model: hints of the App are written for people at a command line."""
    return _COMMAND.sub(_for_a_model, text)


def _for_a_model(sentence: re.Match[str]) -> str:
    room = " " if sentence[0].startswith(" ") else ""
    return room + ("recall_check returns ids." if sentence[1] in ("list", "recall") else f"A person can help: {sentence[0].strip()}")


def row(found: Mapping[str, Any]) -> Row:
    """A row of recall or list, escaped; what answers best stands for the summary."""
    return {
        "id": str(found["id"]),
        "created": str(found.get("created") or ""),
        "type": str(found.get("type") or ""),
        "title": one_line(found.get("title")),
        "summary": one_line(found.get("snippet") or found.get("description")),
        "trust": str(found.get("trust") or (found.get("why") or {}).get("trust") or ""),
        "status": str(found.get("status") or "active"),
        "weak": bool(found.get("weak")),
        "gone": bool(found.get("gone")),
    }


def one_line(text: object) -> str:
    """Text of a note on one line, with nothing in it that could end a quotation."""
    return escape(" ".join(str(text or "").split()))


def rows(found: Sequence[Row]) -> str:
    """`- id · date · type · title: summary`, one memory a line."""
    return "\n".join(map(_line, found))


def _line(found: Row) -> str:
    marks = [found["status"]] if found["status"] != "active" else []
    marks += [f"trust: {found['trust']}"] if found["trust"] not in ("", "user", "model") else []
    marks += [name for name, so in (("weak match", found["weak"]), ("file gone", found["gone"])) if so]
    facts = " · ".join([found["id"], day(found["created"]), found["type"], *marks])
    told = found["summary"] if found["summary"] != found["title"] else ""
    return f"- {facts} · {found['title']}{': ' if told else ''}{told}"


def day(moment: str) -> str:
    """The date of an RFC 3339 moment."""
    return moment[:10] or "no date"


def picture(found: Mapping[str, Any]) -> Picture:
    """What is known of a picture."""
    return {"sha256": found["sha256"], "mime": found.get("mime"), "width": found.get("width"), "height": found.get("height")}


def whole(found: Mapping[str, Any], room: int = _ROOM) -> Whole:
    """A memory in full, its body quoted; what goes beyond `room` characters is left out and counted."""
    body = str(found["body"])
    kept = body[:room]
    text = quote(kept.strip("\n"), id=found["id"], created=found["created"], trust=found["trust"], source=found["source"])
    return {
        "id": str(found["id"]),
        "created": str(found["created"]),
        "changed": str(found["timestamp"]),
        "type": str(found["type"]),
        "title": one_line(found["title"]),
        "source": one_line(found["source"]),
        "trust": str(found["trust"]),
        "status": str(found["status"] or "active"),
        "superseded_by": one_line(found["superseded_by"]),
        "text": text,
        "cut": len(body) - len(kept),
        "notice": one_line((found.get("notice") or {}).get("reason")),
        "images": [picture(one) for one in found.get("images") or ()],
    }


def wholes(found: Sequence[Mapping[str, Any]]) -> list[Whole]:
    """Memories in full that share the room of one answer."""
    left, kept = _ROOM, []
    for number, one in enumerate(found):
        share = max(left - _LEAST * (len(found) - number - 1), _LEAST)
        kept.append(whole(one, share))
        left -= len(kept[-1]["text"])
    return kept


def in_full(found: Sequence[Whole], missing: Sequence[Missing]) -> str:
    """Memories with their facts above the quotation, then what could not be had."""
    parts = [PREFACE] if found else []
    parts += [f"{_facts(one)}\n{one['text']}{_cut(one)}" for one in found]
    parts += [f"{one_line(one['id'])}: {one_line(one['reason'])}" for one in missing]
    return "\n\n".join(parts)


def _facts(found: Whole) -> str:
    facts = [found["id"], day(found["created"]), found["type"], found["title"]]
    facts += [f"changed {day(found['changed'])}"] if found["changed"] and found["changed"] != found["created"] else []
    facts += [found["status"]] if found["status"] != "active" else []
    facts += [f"replaced by {found['superseded_by']}"] if found["superseded_by"] else []
    facts += [f"last good version: {found['notice']}"] if found["notice"] else []
    facts += [f"pictures: {len(found['images'])}, see recall_image"] if found["images"] else []
    return " · ".join(facts)


def _cut(found: Whole) -> str:
    return f"\n(cut: {found['cut']} more characters are in the resource memory://{found['id']})" if found["cut"] else ""


def orientation(found: Orientation) -> str:
    """The orientation, the rows below it, and whether questions wait."""
    parts = [f"Now: {found['now']}", found["text"].strip() or "No orientation is stored yet."]
    if found["recent"]:
        parts.append(f"Memories ({PREFACE}):\n{rows(found['recent'])}")
    if found["flagged"]:
        parts.append(f"{found['flagged']} memories have a question for the person: flagged lists them.")
    return "\n\n".join([*parts, *less(found["degraded"])])


def questions(found: Sequence[Question]) -> str:
    """Open questions, one memory a paragraph."""
    lines = (f"- {one['id']} · {day(one['created'])} · {', '.join(one['flags'])} · {one['title']}\n  {one['question']}" for one in found)
    return "\n".join(lines)


def less(degraded: str | None) -> list[str]:
    """Why an answer may be missing something."""
    return [f"This answer may be incomplete: {one_line(degraded)}."] if degraded else []
