"""blame, diff, undo, log, why, strength, stats; and what was learned: consult, learn, ponder,
influence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.cli import context as said
from oneiro_vault.cli import render
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, cut, line, safe
from oneiro_vault.core.markdown import charts
from oneiro_vault.core.markdown.word_diff import GONE, NEW, told

SHOWN: Final = 50
"""Rows of a list that are shown; --json has all."""


@command("blame")
@click.argument("ident", metavar="ID")
def blame_(face: Face, ident: str) -> Output:
    """Who last changed each paragraph of a memory, and when; what it is dated itself."""
    found = face.ops.blame(id=ident)
    return Output(_blamed(found, face.style), found)


def _blamed(found: answers.Blame, style: Style) -> str:
    place = "forgotten; its last words" if found["forgotten"] else line(found["path"])
    text = [
        *render.notice(found, style),
        style(line(found["title"]), "bold"),
        style(f"{line(found['id'])}  {place}", "dim"),
    ]
    if len(found["names"]) > 1:
        text.append(style(f"was {', '.join(map(line, found['names'][1:]))}", "dim"))
    last = None
    for piece in found["pieces"]:
        text += [""] if piece["paragraph"] != last else []
        last = piece["paragraph"]
        text += [_origin(piece, style), f"    {line(piece['text'])}"]
    text += [""] if found["sources"] else []
    return "\n".join([*text, *(_source(one, style) for one in found["sources"])])


def _origin(piece: answers.Piece, style: Style) -> str:
    if piece["commit"] is None:
        return style("not committed yet", "yellow")
    learned, dated = str(piece["learned"])[:10], str(piece["dated"] or "")[:10]
    dates = f"learned {learned}" + (f", dated {dated}" if dated and dated != learned else "")
    parts = [style(piece["commit"][:10], "cyan"), dates, _who(piece)]
    parts += [f"words of {render.short(piece['source'])}"] if piece["source"] else []
    parts += [line(piece["reason"])] if piece["reason"] else []
    return style("", "dim") + "  ".join(part for part in parts if part)


def _who(piece: answers.Piece) -> str:
    """The person by name, or which machine: `model`, `dream consolidate, run …, judged by …`."""
    if piece["actor"] in (None, "user"):
        if piece["op"] and piece["op"] != "edit":
            return f"a person ({line(piece['op'])})"
        return f"{line(piece['author'] or '')}, by hand"
    facts = ("run", piece["run"]), ("judged by", piece["judge"])
    who = f"{line(piece['actor'] or '')} ({line(piece['loop'] or piece['op'] or '')})"
    return ", ".join([who, *(f"{word} {line(said)}" for word, said in facts if said)])


def _source(one: answers.Source, style: Style) -> str:
    relation = {"derived_from": "made of", "supersedes": "replaced"}[one["relation"]]
    marks = f"  [{line(one['status'])}]" if one["status"] != "active" else ""
    return f"{style(relation, 'dim')} {render.short(line(one['id']))}  {line(one['title'])}{marks}"


@command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
def diff_(face: Face, before: str, after: str | None) -> Output:
    """What became of each memory between two moments: dates such as "3 weeks ago", or commits.
    Without B: until now."""
    found = face.ops.diff(before=before, after=after)
    return Output(_changes(found, face.style), found)


def _changes(found: Mapping[str, Any], style: Style) -> str:
    began = render.point(found["from"]) if found["from"] else "before the first commit"
    text = [style(f"from {began}", "dim"), style(f"to   {render.point(found['to'])}", "dim")]
    for kind, (heading, show) in _LISTS.items():
        text += _list(heading, found[kind], show, style)
    blocks = found["orientation"]
    if blocks["changes"]:
        counts = f"orientation, {len(blocks['before'])} blocks before, {len(blocks['after'])} after"
        text += _list(counts, blocks["changes"], _revised, style)
    counted = {"kept": "only in their frontmatter", "captures": "conversations captured"}
    counted["runs"] = "runs of loops"
    told = [f"{found[key]} {words}" for key, words in counted.items() if found[key]]
    if found["unreadable"]:
        told.append(f"not readable: {', '.join(map(line, found['unreadable'][:10]))}")
    if told:
        text += ["", style("; ".join(told), "dim")]
    return "\n".join(text if len(text) > 2 else [*text, "nothing that is believed changed"])


Show = Callable[[Mapping[str, Any], Style], Sequence[str]]


def _list(heading: str, rows: Sequence[Mapping[str, Any]], show: Show, style: Style) -> list[str]:
    if not rows:
        return []
    text = ["", style(f"{heading} ({len(rows)})", "bold")]
    for row in rows[:SHOWN]:
        name = (
            f"  {line(row['title'])}  {style(render.short(row['id'] or line(row['path'])), 'cyan')}"
        )
        text += [
            name + style(_why(row["why"]), "dim"),
            *(f"      {part}" for part in show(row, style) if part),
        ]
    return text + (
        [f"  and {len(rows) - SHOWN} more (--json has all)"] if len(rows) > SHOWN else []
    )


def _why(why: answers.ChangeWhy | None) -> str:
    if why is None:
        return "  by hand"
    judged = f" (judged by {line(why['judge'])})" if why["judge"] else ""
    return f"  {why['commit'][:10]}  {line(why['reason'] or why['op'] or '')}{judged}"


def _says(row: Mapping[str, Any], style: Style) -> Sequence[str]:
    return [_cut(row["says"], style)]


def _doubted(row: Mapping[str, Any], style: Style) -> Sequence[str]:
    return [style(line(", ".join(row["doubts"])), "yellow"), _cut(row["says"], style)]


def _moved(row: Mapping[str, Any], _style: Style) -> Sequence[str]:
    return [f"{line(row['was'])} -> {line(row['path'])}"]


def _gone(row: Mapping[str, Any], style: Style) -> Sequence[str]:
    into = row["into"]
    heir = f", now {line(into['title']) or render.short(line(into['id']))}" if into else ""
    return [_cut(row["said"], style), style(line(row["fate"]) + heir, "dim")]


def _revised(row: Mapping[str, Any], style: Style) -> Sequence[str]:
    """The words that went and came, in git's notation, with a few around them."""
    gone, new = style(GONE, "red"), style(NEW, "green")
    return [told(row["words"], gone, new, around=6, clean=line)]


def _cut(text: str, style: Style) -> str:
    return cut(line(text), max(style.width - 6, 40) if style.width else 300)


_LISTS: Final[Mapping[str, tuple[str, Show]]] = {
    "new": ("newly believed", _says),
    "revised": ("revised", _revised),
    "merged": ("merged", _gone),
    "retired": ("retired", _gone),
    "moved": ("moved", _moved),
    "contradicted": ("contradicted", _doubted),
    "pending": ("waiting for a decision", _says),
}


ROWS: Final = 6
_NARROW: Final = 20
_MARGIN: Final = 6
_PATHS: Final = 200
"""Paths that an undo names."""


@command("undo")
@click.argument("commit", required=False)
@click.option(
    "--run", metavar="ID", help="Undo everything a run of a loop did (`oneiro runs` lists them)."
)
@click.option(
    "--source",
    metavar="NAME",
    help="Undo all that came from an import, a session or an actor, and what loops made of it.",
)
def undo_(face: Face, commit: str | None, run: str | None, source: str | None) -> Output:
    """Bring back the exact bytes from before a commit, a run of a loop or all of a source, as a new
    commit."""
    if (commit, run, source).count(None) != 2:
        raise click.UsageError("Name a commit, a run with --run, or a source with --source.")
    found = face.ops.undo(commit=commit, run=run, source=source)
    undone, removed = line(found["undone"]), found["removed"]
    what = f"what came from {undone}" if source else f"{'run ' if run else ''}{undone[:10]}"
    text = [f"Undid {what} in {str(found['commit'])[:10]}"]
    for path in found["paths"][:_PATHS]:
        now = "is taken out again" if path in removed else "is as it was"
        text.append(f"  {line(path)} {now}")
    more = len(found["paths"]) - _PATHS
    text += [f"  … and {more:,} more, taken out again or as they were"] if more > 0 else []
    left = [f"  {line(one['path'])} stays: it {line(one['why'])}" for one in found["left"]]
    return Output("\n".join([*text, *(face.style(said, "yellow") for said in left)]), found)


@command("log")
@click.argument("ident", metavar="[ID]", required=False)
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
def log_(face: Face, ident: str | None, limit: int) -> Output:
    """What happened in the vault, or to one memory, newest first."""
    found = face.ops.log(id=ident, limit=limit)
    return Output(render.entries(found["entries"], face.style) or "no history", found)


@command("why")
@click.argument("ident", metavar="ID")
def why_(face: Face, ident: str) -> Output:
    """The story of one memory: where it came from, what changed it, how it was used."""
    found = face.ops.why(id=ident)
    return Output(render.story(found, face.style), found)


@command("strength")
@click.argument("ident", metavar="ID")
@click.option("--days", type=int, default=30, show_default=True, help="How far ahead.")
def strength_(face: Face, ident: str, days: int) -> Output:
    """How much of a memory is left: its curve so far, and as it goes on if nobody looks."""
    found = face.ops.strength(id=ident, days=days)
    return Output(drawn(found, face.style), found)


@command("stats")
@click.option("--plot", is_flag=True, help="Growth, strength, use, influence, cost of nights.")
@click.option("--svg", metavar="FILE", help="Write that as one chart (SVG); -: to standard output.")
def stats_(face: Face, plot: bool, svg: str | None) -> Output:
    """What the vault holds, in numbers."""
    if svg:
        face.at_home()
    if plot or svg:
        from oneiro_vault.cli.screens import plotting  # most commands draw nothing

        numbers = face.ops.plots()
        drawn = [*charts.all_of(numbers).values()]
        if svg:
            return plotting.written(face, svg, drawn, numbers)
        return Output(plotting.drawn(drawn, face.style), numbers)
    found = face.ops.stats()
    shown = {name: value for name, value in found.items() if name not in ("schema", "settings")}
    return Output(render.facts(shown, face.style), found)


def drawn(found: answers.Strength, style: Style) -> str:
    """What `strength` answered, as a picture with a sentence below."""
    head = [
        style(line(found["title"]), "bold"),
        style(f"{line(found['id'])}  {line(found['type'])}", "dim"),
    ]
    if found["stability"] is None:
        return "\n".join([*head, "Memories of this type do not fade."])
    width = max(_NARROW, style.width - _MARGIN) if style.width else len(found["points"])
    points = _thinned(found["points"], width)
    days = style(f"{points[0]['when'][:10]} … {points[-1]['when'][:10]}", "dim")
    picture = [*_picture(points, style), f"{'':{_MARGIN}}{days}"]
    return "\n".join([*head, "", *picture, "", *_said(found)])


def _thinned(points: Sequence[answers.Point], width: int) -> list[answers.Point]:
    if len(points) <= width:
        return list(points)
    return [points[round(at * (len(points) - 1) / (width - 1))] for at in range(width)]


def _picture(points: Sequence[answers.Point], style: Style) -> list[str]:
    past = sum(1 for point in points if not point["ahead"])
    rows = []
    for at, row in enumerate(charts.columns([point["strength"] for point in points], 1, ROWS)):
        label = f"{1 - at / ROWS:>4.0%}  " if at in (0, ROWS // 2) else " " * _MARGIN
        curve = style(row[:past], "green") + style(row[past:], "dim")
        rows.append((style(label, "dim") + curve).rstrip())
    return rows


def _said(found: answers.Strength) -> list[str]:
    fades = str(found["fades"] or "")[:10]
    used = render.used(found["uses"])
    left = f"{found['strength']:.0%} is left; stability {found['stability']:g} days; {used}."
    below = f"passive recall on {fades} (below {found['threshold']:.0%})"
    if found["faded"]:
        back = "a search still finds it, and looking brings it back."
        return [left, f"It left {below}; {back}"]
    return [left, f"If nobody looks, it leaves {below}." if fades else "It does not fade."]


@command("consult")
@click.argument("decision", nargs=-1, required=True)
@click.option("--context", help="The situation, in a sentence or two.")
@click.option("--concept", "concepts", multiple=True, help="Only with this tag; repeatable.")
@click.option("-n", "--limit", type=int, default=3, show_default=True, help="Of each at most.")
def consult_(
    face: Face,
    decision: tuple[str, ...],
    context: str | None,
    concepts: tuple[str, ...],
    limit: int,
) -> Output:
    """What bears on a decision: principles, lessons, cases that went well or badly, and what
    happened then."""
    found = face.ops.consult(
        decision=" ".join(decision), context=context, concept=list(concepts), limit=limit
    )
    parts = (
        ("Principles and lessons", found["principles"]),
        ("It was done before", found["precedents"]),
        ("It went wrong before", found["counter"]),
    )
    text = [part for name, some in parts if some for part in _cases(name, some, face.style)]
    return Output("\n".join(text) or "nothing here bears on it", found, render.gaps(found))


def _cases(name: str, some: Sequence[answers.Cited], style: Style) -> list[str]:
    text = [style(name, "bold")]
    for one in some:
        mark = style("  a lesson", "dim") if one["kind"] == "learning" else ""
        text.append(
            f"  {one['created'][:10]}  {line(one['title'])}  "
            f"{style(render.short(line(one['id'])), 'cyan')}{mark}"
        )
        if one["words"] and line(one["words"]) != line(one["title"]):
            text.append(f"      {line(one['words'])}")
        if one["outcome"]:
            text.append(f"      {style('it ended:', 'dim')} {line(one['outcome'])}")
        text += [f"      {style('then:', 'dim')} {line(then['title'])}" for then in one["then"]]
    return [*text, ""]


@command("learn")
@click.argument("text", nargs=-1)
@click.option("--title", help="A title; otherwise the first line.")
@click.option("--concept", "concepts", multiple=True, help="What it is about in one word; a tag.")
@click.option("--about", multiple=True, help="Whom or what it is about; repeatable.")
def learn_(
    face: Face,
    text: tuple[str, ...],
    title: str | None,
    concepts: tuple[str, ...],
    about: tuple[str, ...],
) -> Output:
    """File a lesson: it does not fade, and `consult` finds it."""
    found = face.ops.learn(
        text=said.words(face, text), title=title, concepts=list(concepts), about=list(about)
    )
    row = found["results"][0]
    told = "Known already: " if row["duplicate_of"] else "Learned "
    return Output(f"{told}{row['id']}  {line(row['title'])}\n  {row['path']}", found)


@command("ponder")
@click.option("--concept", help="Only with this tag.")
def ponder_(face: Face, concept: str | None) -> Output:
    """One principle or lesson to turn over today, one of those that are seldom looked at."""
    found = face.ops.ponder(concept=concept)
    head = f"{line(found['title'])}  {face.style(render.short(line(found['id'])), 'cyan')}"
    seen = "never looked at" if not found["uses"] else f"looked at on {found['uses']} days"
    foot = face.style(f"{found['created'][:10]}, {seen}; one of {found['of']}", "dim")
    return Output("\n".join([face.style(head, "bold"), "", safe(found["body"]), "", foot]), found)


NO_PRINCIPLES: Final = "there are no principles"


@command("influence")
@click.argument("idents", metavar="[ID]...", nargs=-1)
@click.option("--plot", is_flag=True, help="Over time: looked at, called useful, called wrong.")
@click.option("--svg", metavar="FILE", help="Write that as a chart (SVG); -: to standard output.")
def influence_(face: Face, idents: tuple[str, ...], plot: bool, svg: str | None) -> Output:
    """How often each principle, or each memory named, was looked at, by month, and called useful
    or wrong."""
    if svg:
        face.at_home()
    found = face.ops.influence(ids=list(idents))
    rows = found["results"]
    from oneiro_vault.cli.screens import plotting  # most commands draw nothing

    if svg and rows:
        return plotting.written(face, svg, [charts.influence(rows)], found)
    if plot:
        return Output(plotting.influence(rows, face.style) or NO_PRINCIPLES, found)
    months = sorted({month for row in rows for month in row["months"]})[-12:]
    most = max((count for row in rows for count in row["months"].values()), default=1)
    text = [
        f"{charts.blocks([row['months'].get(one, 0) for one in months], most)}  {row['uses']:4d}  "
        f"{line(row['title'])}{_said_of(row)}"
        for row in rows
    ]
    head = [f"{months[0]} to {months[-1]}, uses in all"] if months else []
    return Output("\n".join([*head, *text]) or NO_PRINCIPLES, found)


def _said_of(row: answers.Influencing) -> str:
    told = [f"{row[name]} times {name}" for name in ("useful", "wrong") if row[name]]
    return f"  ({', '.join(told)})" if told else ""
