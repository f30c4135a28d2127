"""dream, runs, schedule, review: the loops, what they did, when they run; and what they propose,
decided by a person, in a terminal or by ids."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from oneiro_vault import answers
from oneiro_vault.api import Operations
from oneiro_vault.cli import terminal as screen
from oneiro_vault.cli.context import Face, edited
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line, safe, settled
from oneiro_vault.errors import InvalidInput, OneiroError
from oneiro_vault.settings.definitions import JUDGES


@command("dream")
@click.argument("words", metavar="[LOOP]... | answer [ID JSON]", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Ask and decide, and change no note.")
@click.option(
    "--judge", metavar="NAME", help=f"Who judges: {', '.join(JUDGES)} (default: dreams.judge)."
)
@click.option(
    "--scheduled", is_flag=True, help="Run only what is due by the schedule (timers start this)."
)
@click.option(
    "--review",
    is_flag=True,
    help="Put what is decided on a branch, for `oneiro review` or a pull request.",
)
def dream_(
    face: Face,
    words: tuple[str, ...],
    dry_run: bool,
    judge: str | None,
    scheduled: bool,
    review: bool,
) -> Output:
    """Run loops now (all, or those named); `answer` shows the next question that waits for you, or
    answers one."""
    if words[:1] == ("answer",):
        return _answer(face, words[1:])
    if scheduled and (words or dry_run or review):
        raise click.UsageError("--scheduled runs what is due, nothing else.")
    try:
        if scheduled:
            found = face.ops.scheduled(judge=judge)
        else:
            found = face.ops.dream(loops=words, judge=judge, dry_run=dry_run, review=review)
    except KeyboardInterrupt:
        with suppress(OneiroError):
            # An owner does the work: it ends in good order, and keeps what it has committed.
            face.running.dream_stop()
        raise
    elsewhere = line(found.get("elsewhere") or "")
    text = [_run(run, face.style) for run in found["runs"]]
    text = text or [f"not here: {elsewhere}" if elsewhere else "nothing is due"]
    text += [face.style(line(found["note"]), "yellow")] if found["note"] else []
    if found["waiting"]:
        text.append(f"{_questions(found['waiting'])} for a model: {_WHO}")
    return Output("\n".join(text), found)


_WHO: Final = "the one you talk to (its skill dream), or one at night (`oneiro help dreams`)"


def _questions(number: int) -> str:
    return "1 question waits" if number == 1 else f"{number} questions wait"


def _run(run: answers.Run, style: Style) -> str:
    tried = " (only tried)" if run["dry_run"] else ""
    facts = style(f"{tried}  {run['run']}  {line(run['judge'])}", "dim")
    lines = [style(line(run["title"]), "bold") + facts]
    for one in run["decisions"]:
        reason = f"  ({line(one['reason'])})" if one["reason"] else ""
        lines.append(f"  {style(one['op'], 'bold')}: {line(one['title'])}{style(reason, 'dim')}")
    for topic in run["due"]:
        again = ", made anew" if topic["again"] else ""
        size = f"({len(topic['memories'])} memories{again})"
        lines.append(f"  {style('due', 'bold')}: {line(topic['topic'])}  {style(size, 'dim')}")
    left = [(line(one["title"]), style(f"  ({line(one['reason'])})", "dim")) for one in run["left"]]
    lines += [f"  {title}{reason}" for title, reason in left]
    no = run["turned_down"]
    lines += [f"  not {one['op']}: {line(one['title'])}  ({line(one['why'])})" for one in no]
    failed = run["failed"]
    notes = [f"{line(bad['kind'])}: {line(bad['problem'])}" for bad in failed[:5]]
    notes += [f"and {len(failed) - 5} more failed"] if len(failed) > 5 else []
    notes += [f"{one['questions']} not asked: {line(one['problem'])}" for one in run["unasked"]]
    notes += map(line, run["notes"])
    if run["branch"]:
        notes.append(f"waits on {line(run['branch'])} for your review: `oneiro review`")
    lines += [style(f"  {note}", "yellow") for note in notes]
    if run["report"]:
        lines.append(style(f"  {line(run['report'])}", "dim"))
    return "\n".join(lines)


def _answer(face: Face, words: tuple[str, ...]) -> Output:
    if len(words) not in (0, 2):
        raise click.UsageError(
            "`dream answer` shows the next question; `dream answer ID JSON` answers one."
        )
    if not words:
        found = face.ops.dream_next()
        question = found["question"]
        if question is None:
            return Output("no question waits", found)
        form = json.dumps(question["schema"].get("properties", {}), ensure_ascii=False, indent=1)
        head = f"{question['kind']}  {question['id']}  ({found['waiting']} wait)"
        text = [face.style(head, "bold"), safe(question["prompt"]), "", form]
        text.append(f"\n`oneiro dream answer {question['id']} JSON` answers it.")
        return Output("\n".join(text), found)
    done = face.ops.dream_answers(answers={words[0]: words[1]})
    left = f"{_questions(done['waiting'])} still" if done["waiting"] else "no other question waits"
    told = [f"Answered; {left}.", *(_run(run, face.style) for run in done["runs"])]
    return Output("\n".join(told), done)


@command("runs")
@click.option("--since", metavar="WHEN", help='Begun since then ("3 weeks ago").')
@click.option("--until", metavar="WHEN", help="Begun until then.")
@click.option("--loop", metavar="NAME", help="Of one loop.")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
def runs_(face: Face, since: str | None, until: str | None, loop: str | None, limit: int) -> Output:
    """What the loops did and why, newest first, told by the history alone."""
    found = face.ops.runs(since=since, until=until, loop=loop, limit=limit)
    none = "no loop has decided anything yet (`oneiro dream` runs them now)"
    none = "no such run" if since or until or loop else none
    return Output("\n".join(_past(run, face.style) for run in found["runs"]) or none, found)


def _past(run: answers.PastRun, style: Style) -> str:
    when, undone = str(run["started"])[:16].replace("T", " "), style("  [undone]", "yellow")
    unsaid = f"{line(run['loop'])}: {len(run['decisions'])} decisions, ended without a report"
    said = (line(run["title"]) or unsaid) + (undone if run["undone"] else "")
    head = style(run["run"], "cyan"), style(when, "dim"), said, style(line(run["judge"]), "dim")
    lines = ["  ".join(head)]
    for one in run["decisions"]:
        back = undone if one["undone"] and not run["undone"] else ""
        what = f"{style(one['op'], 'bold')}: {line(one['title'])}  ({line(one['reason'])}){back}"
        lines.append(f"    {style(one['commit'][:10], 'cyan')}  {what}")
    return "\n".join(lines)


@command("schedule")
@click.argument("action", type=click.Choice(["show", "install", "remove"]), default="show")
@click.option(
    "--kind",
    type=click.Choice(["systemd", "launchd", "cron"]),
    help="The system's timer to use (default: the one this machine has).",
)
def schedule_(face: Face, action: str, kind: str | None) -> Output:
    """When loops run by themselves; `install` lets the system's own timer start them, also while no
    owner runs."""
    if action != "show" or kind:
        face.at_home()
    found = face.ops.schedule(begin=action == "install")
    timer = None
    if action != "show" or kind:
        from oneiro_vault.app import system_timer

        times = sorted({at for row in found["loops"] for at in row["times"]})
        timer = system_timer(face.root.resolve(), times, face.request.env, action, kind)
    rows = [
        f"{row['loop']:<12} {', '.join(row['times']):<14} {_last(row):<31} next "
        f"{row['next'] or '-'}"
        for row in found["loops"]
    ]
    text = (
        [*rows, f"local to {line(found['zone'])}"]
        if rows
        else ["nothing is scheduled (dreams.schedule is empty)"]
    )
    text += shared(found["sharing"])
    if timer:
        text.append(
            f"{timer['kind']}: {timer['name']} is "
            f"{'installed' if timer['installed'] else 'not installed'}"
        )
        text += [f"  {line(path)}" for path in timer["files"]]
    return Output("\n".join(text), found | {"timer": timer})


def _last(row: answers.LoopTimes) -> str:
    return f"last {row['last']}" if row["last"] else "not run yet"


def shared(found: answers.Sharing) -> list[str]:
    """Who may run loops, where that is a question."""
    lease = found["lease"]
    text = (
        [
            f"only {line(found['runner'])} runs loops (dreams.runner); this machine is "
            f"{line(found['device'])}"
        ]
        if found["runner"]
        else []
    )
    if lease is not None:
        who = f"this machine ({lease['device']})" if lease["here"] else lease["device"]
        what = f"{', '.join(lease['loops'])}, since {lease['since']}"
        text.append(
            f"lease {lease['fence']}: {who} dreams ({what})"
            if lease["held"]
            else f"lease {lease['fence']}: free, last {who} ({what})"
        )
    return text + (
        [f"the remote could not be asked: {line(found['problem'])}"] if found["problem"] else []
    )


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
    """Decide what loops propose: on a full screen (`?` shows its keys), one by one where a terminal
    cannot show one (TERM=dumb), or with the options below."""
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
    if face.request.env.get("TERM", "dumb") == "dumb":
        sitting = Sitting(face.ops, *terminal(face), face.style)
        return Output(sitting.run(found["proposals"]), face.ops.review())
    return Output(full_screen(face, "review"), face.ops.review())


def full_screen(
    face: Face, place: str, query: str = "", filters: Mapping[str, Any] | None = None
) -> str:
    """Run the full-screen program, begun at review or search; what is to be said at its end."""
    from oneiro_vault.cli.screens.base import Twin
    from oneiro_vault.cli.screens.review_screen import ReviewScreen
    from oneiro_vault.cli.screens.search_screen import SearchScreen

    face.quiet()
    places = {"review": ReviewScreen, "search": lambda: SearchScreen(query, filters)}
    return Twin(face.ops, terminal(face)[2], places, place).run() or ""


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
        facts = change["keys"].items()
        keys = "".join(f"  {line(key)}: {line(value) or '(none)'}" for key, value in facts)
        kind = style("new" if change["is_new"] else "note", "bold")
        lines.append(f"  {kind} {line(change['title'])}{style(keys, 'dim')}")
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


def to_edit(row: answers.Proposal) -> tuple[str, str]:
    """Path and text of the note a proposal is about (one that stays in force). Raises
    InvalidInput."""
    changes = [change for change in row["changes"] if change["path"] == row["editable"]]
    if not changes:
        raise InvalidInput("there is no text to edit", hint="Accept or reject it.")
    return changes[0]["path"], changes[0]["text"]


def of_kind(row: answers.Proposal, rows: Iterable[answers.Proposal]) -> list[str]:
    """The ids of those that the same loop proposes to do in the same way, itself among them."""
    kind = (row["loop"], row["op"])
    return [one["id"] for one in rows if (one["loop"], one["op"]) == kind]


def waiting(left: int) -> str:
    """What is said at the end, when so many are left."""
    return f"{left} still wait for review." if left else "Everything is reviewed."


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
        tried[start] = edited(
            face, tried.get(start, start)
        )  # what was refused is where a second try begins
        return tried[start]

    return ask, say, edit


class Sitting:
    """Goes through proposals with a person. `ask`, `say` and `edit` are the terminal."""

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
        return waiting(self._vault.review()["total"])

    def _decided(self, row: answers.Proposal, proposals: Sequence[answers.Proposal]) -> bool:
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
            same = of_kind(row, proposals)
            return self._accept([ident for ident in same if ident not in self._settled])
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
        """The note it is about, as the person has it, is accepted in its place."""
        path, text = to_edit(row)
        return self._accept([row["id"]], {path: self._edit(text)})

    def _tell(self, found: Mapping[str, Any]) -> None:
        for kind in ("accepted", "rejected", "stale"):
            self._settled.update(one["id"] for one in found.get(kind, ()))
        self._say(done(found, self._style).text)
