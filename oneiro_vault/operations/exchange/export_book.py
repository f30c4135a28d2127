"""A vault as one Markdown book for a reader: who and what there is first, then what is known by
subject, how things are done, what is held to, and what happened when; its links lead to its own
places, on GitHub as in any editor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from oneiro_vault.api import Progress
from oneiro_vault.core.conversation.turns import IMPORT, imported
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.parser import Link
from oneiro_vault.core.markdown.quoting import literal, without_comments
from oneiro_vault.core.memory import ENTITY, EPISODIC, OVER, PROCEDURE
from oneiro_vault.index.base import Row
from oneiro_vault.operations.exchange.export_target import Target
from oneiro_vault.operations.exchange.exported import STAGE, Exported, Selection, attach, relinked

NAME: Final = "book.md"
_FEW: Final = 3
"""Memories of one subject that make a group of their own."""
_OTHERS: Final = "Other subjects"
_HEADING: Final = re.compile(r"(?m)^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINED: Final = re.compile(r"(?m)^(\S[^\n]*)\n {0,3}(?:=+|-{2,})[ \t]*$")
_IMAGE: Final = re.compile(r"!\[([^\[\]\r\n]*)\]\((?!\w+:)(?:<[^<>\r\n]+>|[^()\s<>]+)[^()]*\)")
_RULE: Final = re.compile(r"(?m)^ {0,3}(?:-[ \t]*){3,}$")


@dataclass
class Chapter:
    """`groups`: heading ("" for none) -> the memories under it, in order."""

    title: str
    about: str
    groups: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """What a link to it names."""
        return "c-" + re.sub(r"\W+", "-", self.title.lower()).strip("-")

    @property
    def size(self) -> int:
        """How many memories are in it."""
        return sum(map(len, self.groups.values()))


def write(chosen: Selection, target: Target, progress: Progress) -> None:
    """The book, and the pictures it shows."""
    chapters = [one for one in chapters_of(chosen.rows) if one.size]
    files: dict[str, None] = {}
    done = 0
    with target.growing(NAME) as out:
        out.write("\n".join(_front(chosen, chapters)).encode())
        for chapter in chapters:
            out.write("\n".join(["", *_opening(chapter), ""]).encode())
            for heading, rows in chapter.groups.items():
                if heading:
                    out.write(f"\n### {literal(heading)}\n".encode())
                for one in chosen.each(rows):
                    out.write(f"\n{_section(chosen, one, target.single)}\n".encode())
                    files |= dict.fromkeys(one.attachments)
                    done += 1
                    progress(STAGE, done, len(chosen.rows))
    attach(chosen, target, files)


def chapters_of(rows: Sequence[Row]) -> list[Chapter]:
    """All of them, each in the one chapter where somebody looks for it."""
    holding = [row for row in rows if row.status not in OVER]
    before = [row for row in rows if row.status in OVER]
    known = ("orientation", ENTITY, "semantic", PROCEDURE, "principle", EPISODIC)
    by = {name: [row for row in holding if row.type == name] for name in known}
    others = [row for row in holding if row.type not in known]
    return [
        Chapter("Orientation", "What is told first.", {"": sorted(by["orientation"], key=_first)}),
        Chapter("People and projects", "Who and what the others speak of.",
                _grouped(by[ENTITY], lambda row: row.kind.capitalize(), 1)),
        Chapter("Knowledge", "What is known, by subject.",
                _grouped(by["semantic"], _subject, _FEW)),
        Chapter("Procedures", "How things are done.", {"": sorted(by[PROCEDURE], key=_title)}),
        Chapter("Principles", "What is held to, and what was learned.",
                {"": sorted(by["principle"], key=_title)}),
        Chapter("Timeline", "What happened, month by month.", _months(by[EPISODIC])),
        Chapter("Notes", "What else there is.", _grouped(others, lambda row: row.type, 1)),
        Chapter("What held before", "Replaced or put away since.", _months(before)),
    ]  # fmt: skip


def _first(row: Row) -> tuple[int, str]:
    return (row.priority if row.priority is not None else 1_000, row.title.casefold())


def _title(row: Row) -> tuple[str, str]:
    return (row.title.casefold(), row.path)


def _subject(row: Row) -> str:
    names = (*row.topics, *row.about, *row.tags)
    return names[0] if names else ""


def _grouped(rows: Sequence[Row], named: Callable[[Row], str], least: int) -> dict[str, list[Row]]:
    """By name, in its order; groups of fewer than `least` and what has no name come last,
    together."""
    found: dict[str, list[Row]] = {}
    spelled: dict[str, str] = {}
    for row in sorted(rows, key=_title):
        name = " ".join(named(row).split())
        found.setdefault(spelled.setdefault(name.casefold(), name), []).append(row)
    large = {name: some for name, some in found.items() if name and len(some) >= least}
    rest = [row for name, some in found.items() if name not in large for row in some]
    ordered = {name: large[name] for name in sorted(large, key=str.casefold)}
    if not rest:
        return ordered
    return {**ordered, _OTHERS if ordered else "": sorted(rest, key=_title)}


def _months(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.when or 0.0, row.turn or 0, row.path)):
        found.setdefault(row.created[:7] or "Undated", []).append(row)
    return found


def _front(chosen: Selection, chapters: Sequence[Chapter]) -> Iterator[str]:
    days = sorted(row.created[:10] for row in chosen.rows if row.created)
    span = f", {days[0]} to {days[-1]}" if days else ""
    number = len(chosen.rows)
    yield f"# {literal(chosen.title)}"
    yield ""
    yield f"{number:,} {'memory' if number == 1 else 'memories'}{span}."
    yield ""
    for chapter in chapters:
        yield f"- [{chapter.title}](#{chapter.mark}) ({chapter.size:,})"
    yield ""


def _opening(chapter: Chapter) -> list[str]:
    return [f'<a id="{chapter.mark}"></a>', "", f"## {chapter.title}", "", f"*{chapter.about}*"]


def _section(chosen: Selection, one: Exported, single: bool) -> str:
    known = one.memory
    body = _body(chosen, one, single).strip()
    heading = f"**{known.title}**\n"
    body = "" if body == known.title else body.removeprefix(heading)
    said = [
        known.created[:10],
        "" if known.trust in ("user", "said") else _origin(known.source),
        f"held until {known.valid_until[:10]}" if known.valid_until else "",
        " ".join(f"`#{tag}`" for tag in known.tags if "`" not in tag),
    ]
    line = " · ".join(filter(None, said))
    heir = chosen.by_id(known.superseded_by) if known.superseded_by else None
    if heir is not None:
        line += f" · replaced by [{literal(chosen.title_of(heir))}](#m-{heir.handle})"
    head = f'<a id="m-{one.handle}"></a>\n\n#### {literal(known.title)}'
    return "\n\n".join(part for part in (head, line, body.strip()) if part)


def _origin(source: str) -> str:
    """Who wrote what is not in a person's own words."""
    if imported(source):
        return f"imported from {source.removeprefix(IMPORT)}"
    return {"dream": "written by a night", "capture": "from a conversation"}.get(
        source, f"said by {source or 'others'}"
    )


def _body(chosen: Selection, one: Exported, single: bool) -> str:
    """Its words, headings no higher than its own, links to the places of this book."""
    text = without_comments(one.body.replace("\r\n", "\n").replace("\r", "\n"))
    text = relinked(text, lambda link, said: _link(chosen, one, link, said, single))
    if single and "![" in text:
        text = _outside(text, _IMAGE, lambda hit: f"*(picture{hit[1] and ': '}{hit[1]})*")
    elif one.attachments:
        text = _pictured(one, text)
    text = _outside(text, _RULE, lambda _: "***")
    text = _outside(text, _UNDERLINED, lambda hit: f"**{hit[1].strip()}**\n")
    return _outside(text, _HEADING, lambda hit: f"**{hit[2]}**\n" if hit[2] else "")


def _outside(text: str, pattern: re.Pattern[str], said: Callable[[re.Match[str]], str]) -> str:
    """Replace outside of code."""
    code = parser.code_spans(text)
    return pattern.sub(lambda hit: hit[0] if parser.inside(hit.start(), code) else said(hit), text)


def _link(chosen: Selection, one: Exported, link: Link, text: str, single: bool) -> str:
    label = literal(link.label or link.target or link.heading)
    row = chosen.named(link.target, one.path) if link.target else None
    if row is not None:
        return f"[{label}](#m-{row.handle})"
    fits = [path for path in one.attachments if path.endswith(link.target.lstrip("./"))]
    if link.embedded and fits and link.target:
        return f"*(picture: {label})*" if single else f"![{label}]({quote(fits[0])})"
    return label if text.startswith(("[[", "![[")) else text


def _pictured(one: Exported, text: str) -> str:
    """Pictures lie beside the book by their places in the vault."""

    def placed(hit: re.Match[str]) -> str:
        name = re.sub(r".*\]\(<?([^()<>\s]+).*", r"\1", hit[0])
        stem = name.rpartition("/")[2]
        fits = [path for path in one.attachments if path.endswith(stem)]
        return f"![{hit[1]}]({quote(fits[0])})" if fits else hit[0]

    return _outside(text, _IMAGE, placed)
