"""recall, show, list, context, graph, reframe, forget, restore, orient, flags, ratify."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.cli import render
from oneiro_vault.cli.context import Face, words
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line, safe
from oneiro_vault.core.markdown import diagrams
from oneiro_vault.core.markdown.orientation import units
from oneiro_vault.core.markdown.quoting import without_comments
from oneiro_vault.errors import InvalidInput, shown


@command("recall")
@click.argument("query", nargs=-1)
@click.option("-k", type=int, help="How many rows at most.")
@click.option("--type", "types", multiple=True, help="Only this type; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable.")
@click.option("--entity", help="Only about this person or thing.")
@click.option("--project", help="Only from this project.")
@click.option("--since", help='From this date on: 2026-03, "last March", "3 weeks ago".')
@click.option("--until", help="Up to this date.")
@click.option("--as-of", metavar="DATE", help="What was believed then: a date, or a commit.")
@click.option(
    "--valid-at",
    metavar="DATE",
    help="What held then, also what was replaced since; with --as-of: by what was believed.",
)
@click.option(
    "--history", is_flag=True, help="Also what was replaced, in its order: how it came to be."
)
@click.option("--explain", is_flag=True, help="Show the score and what it is made of.")
@click.option("--fast", is_flag=True, help="Do not wait for the embedding model.")
@click.option(
    "-i",
    "--interactive",
    is_flag=True,
    help="Search as you type, on a full screen (`?` shows its keys).",
)
def recall_(
    face: Face,
    query: tuple[str, ...],
    k: int | None,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    entity: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    valid_at: str | None,
    history: bool,
    explain: bool,
    fast: bool,
    interactive: bool,
) -> Output:
    """Find memories by meaning and by words.

    What stands in quotation marks, or four words and more that ask nothing, is looked for as it
    stands, too: notes that have it come first.
    """
    asked: Mapping[str, Any] = {
        "k": k,
        "type": list(types),
        "tag": list(tags),
        "entity": entity,
        "project": project,
        "since": since,
        "until": until,
        "as_of": as_of,
        "valid_at": valid_at,
        "history": history,
    }
    if interactive:
        return _typed(face, " ".join(query), asked)
    if not query:
        raise click.UsageError("Missing argument 'QUERY...'.", click.get_current_context())
    found = face.ops.recall(query=" ".join(query), explain=explain, fast=fast, **asked)
    text = (
        render.rows(found["results"], face.style, explain, " ".join(query)) or "no relevant memory"
    )
    return Output("\n".join([*render.heading(found, face.style), text]), found, render.gaps(found))


def _typed(face: Face, query: str, asked: Mapping[str, Any]) -> Output:
    """Search as it is typed; the question and the filters of the command line are the first."""
    face.at_home()
    if face.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        text = "-i wants a person's terminal"
        raise InvalidInput(text, hint="`oneiro recall QUERY` answers anywhere.")
    from oneiro_vault.cli.commands.dream import full_screen

    return Output(full_screen(face, "search", query, asked))


@command("show")
@click.argument("ident", metavar="ID|NAME")
@click.option("--why", is_flag=True, help="How it is indexed, and what would make it found.")
@click.option("--as-of", metavar="DATE", help="As it was then: a date, or a commit.")
@click.option("--down", is_flag=True, help="What it was made of, down to the raw words.")
@click.option("--up", is_flag=True, help="What was made of it, up to the orientation.")
def show_(face: Face, ident: str, why: bool, as_of: str | None, down: bool, up: bool) -> Output:
    """Show one memory in full, by its id, or a name or title that only one has."""
    if down or up:
        return _levels(face, ident, up)
    found = face.ops.show(id=ident, why=why, as_of=as_of)
    return Output(render.memory(found, face.style), found)


def _levels(face: Face, ident: str, up: bool) -> Output:
    found = face.ops.levels(id=ident, up=up)
    text = [f"{face.style(line(found['title']), 'bold')} {render.short(line(found['id']))}"]
    below: dict[str, list[answers.Level]] = {}
    for one in found["levels"]:
        below.setdefault(one["of"], []).append(one)
    text += _below(found["id"], below, face.style)
    if len(text) == 1:
        text.append("  nothing was made of it" if up else "  it was made of nothing else")
    return Output("\n".join(text), found)


def _below(ident: str, below: dict[str, list[answers.Level]], style: Style) -> list[str]:
    text: list[str] = []
    for one in below.get(ident, ()):
        indent = "  " * one["depth"]
        facts = f"{one['created'][:10]}  {line(one['type'])}"
        text.append(
            f"{indent}{style(facts, 'dim')}  {line(one['title'])} "
            f"{style(render.short(line(one['id'])), 'cyan')}"
        )
        text += [f"{indent}    “{line(part)}”" for part in one["words"].splitlines() if part]
        text += _below(one["id"], below, style)
    return text


@command("list")
@click.option("--type", help="Only this type.")
@click.option("--tag", help="Only with this tag.")
@click.option("--status", help="Only with this status (active, pending, superseded, …).")
@click.option("--session", help="Only from this conversation.")
@click.option("--entity", help="Only about this person or thing.")
@click.option("--level", type=int, help="Only of this level and above (1: insights).")
@click.option("--since", help="Created from this date on.")
@click.option("--until", help="Created up to this date.")
@click.option("-n", "--limit", type=int, default=50, show_default=True, help="How many at most.")
def list_(face: Face, limit: int, **filters: Any) -> Output:
    """List memories, newest first."""
    found = face.ops.list(limit=limit, **filters)
    shown = len(found["results"])
    rest = 0 if any(filters.values()) else found["total"] - shown
    text = [render.rows(found["results"], face.style) or "no memories"]
    if rest > 0 and shown >= limit:
        are = "is" if rest == 1 else "are"
        text.append(f"{rest} more {are} not shown: `-n {found['total']}`")
    elif rest > 0:  # nothing but reports is left out of what fits
        which = "1 report of dreams is" if rest == 1 else f"{rest} reports of dreams are"
        text.append(f"{which} not among them: `oneiro list --type dream`")
    return Output("\n".join(text), found)


@command("context")
@click.argument("prompt", nargs=-1)
@click.option("--budget", type=int, metavar="TOKENS", help="Tokens at most (context.tokens).")
@click.option("--project", help="What was learned there goes first.")
@click.option(
    "--with-model",
    is_flag=True,
    help="Let the model that judges (dreams.judge) choose: seconds, and what it costs.",
)
@click.option("--trace", is_flag=True, help="Also the steps that led to it, their time and cost.")
@click.option("--fast", is_flag=True, help="Do not wait for the embedding model.")
def context_(
    face: Face,
    prompt: tuple[str, ...],
    budget: int | None,
    project: str | None,
    **how: Any,
) -> Output:
    """All that bears on a prompt, as a model is given it: what every session needs, rules that
    apply, whom it names, procedures, what is known, what happened."""
    said = words(face, prompt)
    found = face.ops.context(prompt=said, tokens=budget, project=project, **how)
    text = safe(found["text"]) or "nothing bears on it"
    steps = [_traced(step) for step in found.get("trace", ())]
    told = [text, "", *steps] if steps else [text]
    notes = [render.gaps(found)]
    if "model" in found:
        more = found["model"]["problem"] and found["model"]["calls"] and not steps
        notes += [render.model_use(found["model"]), "--trace shows what was wrong." if more else ""]
    return Output("\n".join(told), found, "\n".join(filter(None, notes)))


def _traced(step: answers.TraceStep) -> str:
    """What a model asked stands in it, as only a person reads it."""
    asked = f"{step['tokens']:,} tokens" if "tokens" in step else ""
    cost = f"about {step['cost']:.4f}" if step.get("cost") else ""
    looked = line(step["asked"]) if asked else step["tool"]
    facts = (
        f"{step['ms']:8.1f} ms", looked, asked, cost, step.get("problem", ""),
        " ".join(map(render.short, step["found"])),
    )  # fmt: skip
    return "  ".join(line(one) if at else one for at, one in enumerate(facts) if one)


@command("useful")
@click.argument("ident", metavar="ID")
@click.option("--reason", help="What it helped with.")
def useful_(face: Face, ident: str, reason: str | None) -> Output:
    """Say that a memory helped: that keeps it from fading."""
    found = face.ops.feedback(id=ident, useful=True, reason=reason or "")
    return Output(f"Noted as useful: {line(found['title'])}", found)


@command("wrong")
@click.argument("ident", metavar="ID")
@click.option("--reason", help="What is wrong with it.")
def wrong_(face: Face, ident: str, reason: str | None) -> Output:
    """Say that a memory is wrong: it comes last from then on, and nowhere unasked."""
    found = face.ops.feedback(id=ident, useful=False, reason=reason or "")
    told = f"Noted as wrong: {line(found['title'])}"
    return Output(f"{told}\n  `oneiro correct --id {found['id']} TEXT` says what holds.", found)


@command("graph")
@click.argument("name")
@click.argument("to", required=False)
@click.option("--depth", type=int, help="Steps at most: 1, and 4 on the way to another.")
@click.option(
    "--relation",
    "relations",
    multiple=True,
    help="Only this one, in either direction (works_for), or this category (social); repeatable.",
)
@click.option("-n", "--limit", type=int, default=60, show_default=True, help="How many at most.")
@click.option("--ever", is_flag=True, help="Also what was replaced or has ended.")
@click.option("--as-of", metavar="DATE", help="As it was believed then: a date, or a commit.")
@click.option(
    "--format",
    "drawn",
    type=click.Choice(["text", *diagrams.FORMATS]),
    default="text",
    show_default=True,
    help="canvas is a file that Obsidian opens.",
)
def graph_(
    face: Face,
    name: str,
    to: str | None,
    depth: int | None,
    relations: tuple[str, ...],
    limit: int,
    ever: bool,
    as_of: str | None,
    drawn: str,
) -> Output:
    """What is connected with a person or thing, and how; with TO, the shortest way from one to the
    other."""
    found = face.ops.graph(
        name=name,
        to=to,
        depth=depth,
        relation=list(relations),
        limit=limit,
        ever=ever,
        as_of=as_of,
    )
    if drawn != "text":
        return Output(diagrams.FORMATS[drawn](found).rstrip("\n"), found)
    head, text = render.heading(found, face.style), render.graph(found, face.style, to is not None)
    rest = f"{found['left']} more are not shown" if found["left"] else ""
    return Output("\n".join(filter(None, [*head, text, rest])), found)


@command("reframe")
@click.argument("ident", metavar="ID")
@click.argument("text", nargs=-1)
@click.option("--title", help="A new title.")
@click.option("--description", help="A new one-line summary.")
@click.option(
    "--base",
    help="sha256 of the text this is based on; a note that changed since gets a proposal instead.",
)
@click.option("--reason", help="Why; kept in the history.")
def reframe_(
    face: Face,
    ident: str,
    text: tuple[str, ...],
    title: str | None,
    description: str | None,
    base: str | None,
    reason: str | None,
) -> Output:
    """Say a memory anew; the old words stay in the history. TEXT, or - for standard input."""
    body = words(face, text, lambda: str(face.ops.show(id=ident)["body"]))
    found = face.ops.reframe(
        id=ident,
        text=body,
        title=title,
        description=description,
        base=base,
        reason=reason or "",
    )
    if found["proposal"]:
        waiting = f"your text waits in {line(found['proposal']['path'])}"
        return Output(f"The note changed meanwhile and stays as it is; {waiting}", found)
    return Output(f"Reframed {found['id']}  {line(found['path'])}", found)


@command("forget")
@click.argument("ident", metavar="ID")
@click.option("--reason", help="Why; kept in the history.")
def forget_(face: Face, ident: str, reason: str | None) -> Output:
    """Take a memory out of the vault; `restore` brings it back."""
    found = face.ops.forget(id=ident, reason=reason or "")
    return Output(f"Forgot {line(found['title'])}\n`oneiro {found['back']}` brings it back.", found)


@command("restore")
@click.argument("ident", metavar="ID")
def restore_(face: Face, ident: str) -> Output:
    """Bring a forgotten memory back, byte for byte."""
    found = face.ops.restore(id=ident)
    return Output(f"Restored {found['id']}  {line(found['path'])}", found)


HINT: Final = (
    "`oneiro orient --edit` writes what every conversation should know of you, in your own words."
)
PERSON: Final = "person"
"""The kind that `--edit` opens where none is named."""
INTRO: Final = (
    "%% Write below a question or a heading. What stays empty is not filed; the lines between "
    "percent signs are for you alone. %%"
)
_HEADING: Final = re.compile(r"^ {0,3}#{1,6} .*$", re.MULTILINE)


@cache
def templates() -> Mapping[str, Mapping[str, Any]]:
    """Kind of a person's own block -> its title, text, priority, budget, keep."""
    data = Path(__file__).with_name("blocks.toml").read_text("utf-8")
    return tomllib.loads(data)


@command("orient")
@click.option("--context", help="What it is about: then the rows are those that fit it.")
@click.option("-n", type=int, default=15, show_default=True, help="How many rows besides; 0: none.")
@click.option("--project", help="Where the model stands: memories of that project come first.")
@click.option(
    "--limit", type=int, default=8000, help="UTF-16 units of text at most (default: 8000)."
)
@click.option(
    "--edit",
    metavar="[KIND]",
    is_flag=False,
    flag_value=PERSON,
    help="Say in your own words what every conversation should know of you, or fill one of "
    "--templates; in an editor, or on standard input.",
)
@click.option("--templates", "listed", is_flag=True, help="List what --edit can open.")
def orient_(
    face: Face,
    context: str | None,
    n: int,
    project: str | None,
    limit: int,
    edit: str | None,
    listed: bool,
) -> Output:
    """What a model wakes into: the orientation notes, and what is recent or fits."""
    if listed:
        return _templates(face)
    if edit is not None:
        return _own(face, edit)
    found = face.ops.orient(context=context, n=n, project=project, limit=limit)
    text = [
        safe(found["text"]).strip()
        or "There is no orientation yet: notes of the type `orientation` are loaded at every "
        "beginning.\n"
        + HINT
    ]
    rows = render.rows(found["recent"], face.style)
    if rows:
        text.append(f"{face.style('recent' if not context else 'fitting', 'bold')}\n{rows}")
    if found["flagged"]:
        wait = "question waits" if found["flagged"] == 1 else "questions wait"
        text.append(f"{found['flagged']} open {wait} for you: `oneiro flags`")
    return Output("\n\n".join(text), found, render.gaps(found))


def _place(kind: str) -> str:
    return f"orientation/{kind}.md"


def _filled(face: Face) -> Mapping[str, answers.ListRow]:
    """Path -> the orientation note there."""
    known = face.ops.list(type="orientation", limit=1000)["results"]
    return {row["path"]: row for row in known}


def _templates(face: Face) -> Output:
    there = _filled(face)
    found = [
        {
            "kind": kind,
            "title": one["title"],
            "question": _questions(one["text"])[0],
            "path": _place(kind),
            "id": there[_place(kind)]["id"] if _place(kind) in there else None,
        }
        for kind, one in templates().items()
    ]
    text = [
        f"{one['kind']:<17} {face.style('written ' if one['id'] else '-       ', 'green')} "
        f"{one['title']}  {face.style(one['question'], 'dim')}"
        for one in found
    ]
    text.append(
        "\n`oneiro orient --edit KIND` opens one; loops and models leave it as you wrote it."
    )
    return Output("\n".join(text), {"schema": 1, "templates": found})


def _questions(text: str) -> list[str]:
    return [line.strip("% ") for line in text.splitlines() if line.startswith("%%")]


def _own(face: Face, kind: str) -> Output:
    template = templates().get(kind)
    if template is None:
        hint = f"One of: {', '.join(templates())}; `oneiro orient --templates` says what they are."
        raise InvalidInput(f"there is no template {shown(kind)}", hint=hint)
    row = _filled(face).get(_place(kind))
    parts = template["text"].strip().split("\n\n")
    given = words(face, (), lambda: _draft(_body(face, row), parts))
    text = _answered(given, parts)
    if not _HEADING.sub("", without_comments(text)).strip():
        told, hint = "there is nothing in it but headings", "Write something below one of them."
        raise InvalidInput(told, kept="Nothing was changed.", hint=hint)
    note = _long(text, template)
    if row:
        found = face.ops.reframe(id=row["id"], text=text)
        return Output(f"Changed {line(found['path'])}", found, note)
    item = {name: value for name, value in template.items() if name != "text"}
    item |= {"text": text, "type": "orientation", "path": _place(kind)}
    stored = face.ops.remember(items=[item], dedupe=False, actor="user")["results"][0]
    what = "every conversation begins with it, and no loop or model changes it."
    return Output(f"Wrote {line(stored['path'])}: {what}", stored, note)


def _body(face: Face, row: answers.ListRow | None) -> str:
    return str(face.ops.show(id=row["id"])["body"]) if row else ""


def _draft(body: str, parts: Sequence[str]) -> str:
    """What is there, and below it the parts of the template that are not."""
    missing = [part for part in parts if part.splitlines()[0] not in body]
    return "\n\n".join(filter(None, (INTRO, body.strip(), *missing))) + "\n"


def _answered(text: str, parts: Sequence[str]) -> str:
    """The text without those lines of the template that nothing was written below."""
    text = text.replace("\r\n", "\n").replace(INTRO, "")
    lines = [one for part in parts for one in part.splitlines()]
    headings = [one for one in lines if one.startswith("#")]
    questions = [one for one in lines if one not in headings]
    for ours, below in ((questions, lines), (headings, headings)):
        after = "|".join(rf"{re.escape(one)}[ \t]*$" for one in below)
        for one in reversed(ours):
            empty = rf"^{re.escape(one)}[ \t]*$\s*(?={after or '(?!)'}|\Z)"
            text = re.sub(empty, "", text, flags=re.MULTILINE)
    return text.strip()


def _long(text: str, template: Mapping[str, Any]) -> str:
    size, budget = units(without_comments(text)), template.get("budget")
    if not budget or size <= budget:
        return ""
    end = "end" if template["keep"] == "newest" else "beginning"
    return (
        f"It has {size} characters, and {budget} are loaded: its {end}. `budget` in the note says "
        "how many."
    )


@command("flags")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
@click.option("--resolve", metavar="ID", help="That note's questions are answered.")
def flags_(face: Face, limit: int, resolve: str | None) -> Output:
    """Notes with an open question for a person, and the question."""
    if resolve:
        done = face.ops.resolve(id=resolve)
        said = (
            f"Answered: {', '.join(map(line, done['flags']))}"
            if done["flags"]
            else "There was no open question"
        )
        return Output(f"{said}  {line(done['title'])}", done)
    found = face.ops.flagged(limit=limit)
    text = []
    for row in found["results"]:
        flags = face.style(", ".join(map(line, row["flags"])), "yellow")
        text.append(f"{render.rows([row], face.style)} · {flags}")
        text += [f"    {part}" for part in safe(row["question"]).splitlines()]
    rest = found["total"] - len(found["results"])
    more = [f"{rest} more are not shown"] if rest > 0 else []
    return Output("\n".join(text + more) or "No open questions.", found)


@command("ratify")
@click.argument("ident", metavar="ID")
@click.option("--undo", is_flag=True, help="Take it back: loops may change the block again.")
@click.option("--reason", help="Why; kept in the history.")
def ratify_(face: Face, ident: str, undo: bool, reason: str | None) -> Output:
    """Say that an orientation block holds: it is always loaded, and no loop or model changes its
    words; at a terminal only."""
    face.person("ratifies", "A model can only propose other words, with `reframe`.")
    found = face.ops.ratify(id=ident, undo=undo, reason=reason or "")
    title = line(found["title"])
    if found["commit"] is None:
        return Output(f"{title} was {'core' if found['core'] else 'not core'} already.", found)
    text = f"Ratified {title}" if found["core"] else f"{title} is an ordinary block again"
    note = f"It does more than describe: {line(found['prescribes'])}" if found["prescribes"] else ""
    return Output(f"{text}  {line(found['path'])}", found, note)
