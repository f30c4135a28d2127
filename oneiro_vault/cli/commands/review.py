"""review: what loops propose, looked at and decided by a person: in a terminal or by ids. In a
sitting every answer is carried out at once, so leaving in the middle loses nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.api import Operations
from oneiro_vault.cli import terminal as screen
from oneiro_vault.cli.commands.daily import text_input as texts
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line, safe, settled
from oneiro_vault.errors import InvalidInput, OneiroError

NOTHING: Final = "Nothing waits for review."


@command("review")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Show what waits, and why.")
@click.option(
    "--accept",
    is_flag=True,
    help="Let the proposals named happen; a branch stands for all of its own.",
)
@click.option("--reject", is_flag=True, help="They shall not happen, and not be proposed again.")
@click.option("--reason", help="Why (with --reject); kept in the history.")
def review_(
    face: Face, ids: tuple[str, ...], listed: bool, accept: bool, reject: bool, reason: str | None
) -> Output:
    """Decide what loops propose: one by one in a terminal (accept, reject, edit, all of a kind),
    or with the options below."""
    if listed + accept + reject > 1:
        raise click.UsageError("Give one of --list, --accept, --reject.")
    if ids and not (accept or reject):
        raise click.UsageError("IDs go with --accept or --reject.")
    if reason is not None and not reject:
        raise click.UsageError("--reason goes with --reject.")
    if accept:
        return done(face.ops.review_accept(ids=_some(ids)), face.style)
    if reject:
        return done(face.ops.review_reject(ids=_some(ids), reason=reason or ""), face.style)
    found = face.ops.review()
    if listed or not found["total"]:
        return Output(
            "\n\n".join(shown(row, face.style) for row in found["proposals"]) or NOTHING, found
        )
    face.at_home()
    if face.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return Output("\n\n".join(shown(row, face.style) for row in found["proposals"]), found)
    return Output(
        Sitting(face.ops, *terminal(face), face.style).run(found["proposals"]), face.ops.review()
    )


def _some(ids: Sequence[str]) -> Sequence[str]:
    if not ids:
        raise click.UsageError(
            "Name what it is about: ids, or a branch, as `oneiro review --list` shows them."
        )
    return ids


def shown(row: answers.Proposal, style: Style) -> str:
    """One proposal: what, why, and what changes, word by word."""
    judge = f"  {line(row['judge'])}" if row["judge"] else ""
    head = f"{style(row['id'][:8], 'cyan')}  {style(row['op'], 'bold')}: {line(row['title'])}"
    lines = [head + style(f"  {line(row['branch'])}  {line(row['loop'])}{judge}", "dim")]
    lines += [f"  why: {line(row['reason'])}"] if row["reason"] else []
    lines += [style(f"  no longer fits: {line(row['stale'])}", "yellow")] if row["stale"] else []
    for change in row["changes"]:
        keys = "".join(
            f"  {line(key)}: {line(value) or '(none)'}" for key, value in change["keys"].items()
        )
        lines.append(
            f"  {style('new' if change['is_new'] else 'note', 'bold')} "
            f"{line(change['title'])}{style(keys, 'dim')}"
        )
        lines += [f"    {part}" for part in safe(change["words"]).splitlines()]
    return "\n".join(lines)


def done(found: Mapping[str, Any], style: Style) -> Output:
    """What became of proposals."""
    text = [f"Accepted {row['op']}: {line(row['title'])}" for row in found.get("accepted", ())]
    text += [f"Rejected {row['op']}: {line(row['title'])}" for row in found.get("rejected", ())]
    text += [
        style(f"Not done {row['op']}: {line(row['title'])} ({line(row['why'])})", "yellow")
        for row in found.get("stale", ())
    ]
    text += [
        f"{line(name)} is settled; its commits stay under refs/oneiro/reviewed/"
        for name in found["closed"]
    ]
    text.append(f"{found['left']} still wait for review" if found["left"] else NOTHING)
    return Output(
        "\n".join(text), found, code=1 if found.get("stale") and not found.get("accepted") else 0
    )


KEYS: Final = "[a]ccept  [r]eject  [e]dit  accept all of this [k]ind  [s]kip  [q]uit"

Ask = Callable[[str], str]
Say = Callable[[str], None]
Edit = Callable[[str], str]


def terminal(face: Face) -> tuple[Ask, Say, Edit]:
    """How to ask, say and edit at the caller's terminal."""

    def ask(question: str) -> str:
        return str(
            click.prompt(question, default="", show_default=False, err=True, prompt_suffix=": ")
        )

    def say(text: str) -> None:
        screen.emit(screen.OUT, screen.encode(settled(text) + "\n"))

    tried: dict[str, str] = {}

    def edit(start: str) -> str:
        if face.draft is not None:
            face.draft.unlink(missing_ok=True)
        tried[start] = texts.edited(
            face, tried.get(start, start)
        )  # what was refused is where a second try begins
        return tried[start]

    return ask, say, edit


class Sitting:
    """Goes through proposals with a person. `vault` has the operations; `ask`, `say` and `edit` are
    the terminal."""

    def __init__(self, vault: Operations, ask: Ask, say: Say, edit: Edit, style: Style) -> None:
        self._vault, self._ask, self._say, self._edit, self._style = vault, ask, say, edit, style
        self._settled: set[str] = set()

    def run(self, proposals: Sequence[answers.Proposal]) -> str:
        """Until the last proposal or a quit; returns what to say at the end."""
        for number, row in enumerate(proposals, 1):
            if row["id"] in self._settled:
                continue
            self._say(f"\n{number} of {len(proposals)}  {shown(row, self._style)}\n")
            if not self._decided(row, proposals):
                break
        left = self._vault.review()["total"]
        return f"{left} still wait for review." if left else "Everything is reviewed."

    def _decided(self, row: answers.Proposal, proposals: Sequence[answers.Proposal]) -> bool:
        """Ask until there is an answer that can be carried out; False to leave."""
        while True:
            key = self._ask(KEYS).strip().lower()[:1]
            if key == "q":
                return False
            if key in ("s", ""):
                return True
            try:
                if self._did(key, row, proposals):
                    return True
            except OneiroError as error:
                self._say(f"{line(str(error))}. {line(error.hint)}".rstrip())

    def _did(self, key: str, row: answers.Proposal, proposals: Sequence[answers.Proposal]) -> bool:
        if key == "a":
            return self._accept([row["id"]])
        if key == "k":
            kind = (row["loop"], row["op"])
            return self._accept(
                [
                    one["id"]
                    for one in proposals
                    if (one["loop"], one["op"]) == kind and one["id"] not in self._settled
                ]
            )
        if key == "r":
            reason = self._ask("Why (empty: no reason)")
            self._tell(self._vault.review_reject(ids=[row["id"]], reason=reason))
            return True
        if key == "e":
            return self._edited(row)
        self._say(KEYS)
        return False

    def _accept(self, ids: Sequence[str], edited: Mapping[str, str] | None = None) -> bool:
        self._tell(self._vault.review_accept(ids=list(ids), edited=edited))
        return True

    def _edited(self, row: answers.Proposal) -> bool:
        """The note the proposal is about (one that stays in force), as the person would have it, is
        accepted in its place."""
        changes = [change for change in row["changes"] if change["text"]]
        changes.sort(
            key=lambda change: (
                not change["is_new"],
                not change["words"],
                "status" in change["keys"],
            )
        )
        if not changes:
            raise InvalidInput("there is no text to edit", hint="Accept or reject it.")
        text = self._edit(changes[0]["text"])
        return self._accept([row["id"]], {changes[0]["path"]: text})

    def _tell(self, found: Mapping[str, Any]) -> None:
        for kind in ("accepted", "rejected", "stale"):
            self._settled.update(one["id"] for one in found.get(kind, ()))
        self._say(done(found, self._style).text)
