"""dream, runs, schedule: the loops, what they did, and when they run."""

from __future__ import annotations

import json
from contextlib import suppress

import click

from oneiro_vault import answers
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command
from oneiro_vault.cli.output import Output, Style, line, safe
from oneiro_vault.errors import OneiroError
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
    text = [_run(run, face.style) for run in found["runs"]] or [
        f"not here: {elsewhere}" if elsewhere else "nothing is due"
    ]
    text += [face.style(line(found["note"]), "yellow")] if found["note"] else []
    if found["waiting"]:
        text.append(f"{_questions(found['waiting'])} for an answer: `oneiro dream answer`")
    return Output("\n".join(text), found)


def _questions(number: int) -> str:
    return "1 question waits" if number == 1 else f"{number} questions wait"


def _run(run: answers.Run, style: Style) -> str:
    """One run: what it did, one line a decision, and where its report is."""
    tried = " (only tried)" if run["dry_run"] else ""
    lines = [
        style(line(run["title"]), "bold")
        + style(f"{tried}  {run['run']}  {line(run['judge'])}", "dim")
    ]
    for one in run["decisions"]:
        reason = f"  ({line(one['reason'])})" if one["reason"] else ""
        lines.append(f"  {style(one['op'], 'bold')}: {line(one['title'])}{style(reason, 'dim')}")
    lines += [
        f"  {line(one['title'])}{style('  (' + line(one['reason']) + ')', 'dim')}"
        for one in run["left"]
    ]
    lines += [
        f"  not {one['op']}: {line(one['title'])}  ({line(one['why'])})"
        for one in run["turned_down"]
    ]
    lines += [
        style(f"  {line(one['kind'])}: {line(one['problem'])}", "yellow")
        for one in run["failed"][:5]
    ]
    lines += (
        [style(f"  and {len(run['failed']) - 5} more failed", "yellow")]
        if len(run["failed"]) > 5
        else []
    )
    lines += [
        style(f"  {one['questions']} not asked: {line(one['problem'])}", "yellow")
        for one in run["unasked"]
    ]
    lines += [style(f"  {line(note)}", "yellow") for note in run["notes"]]
    if run["branch"]:
        lines.append(
            style(f"  waits on {line(run['branch'])} for your review: `oneiro review`", "yellow")
        )
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
        text = [
            face.style(f"{question['kind']}  {question['id']}  ({found['waiting']} wait)", "bold"),
            safe(question["prompt"]),
            "",
            form,
        ]
        return Output(
            "\n".join([*text, f"\n`oneiro dream answer {question['id']} JSON` answers it."]), found
        )
    done = face.ops.dream_decide(id=words[0], answer=words[1])
    left = f"{_questions(done['waiting'])} still" if done["waiting"] else "no other question waits"
    return Output(
        "\n".join([f"Answered; {left}.", *(_run(run, face.style) for run in done["runs"])]), done
    )


@command("runs")
@click.option("--since", metavar="WHEN", help='Begun since then ("3 weeks ago").')
@click.option("--until", metavar="WHEN", help="Begun until then.")
@click.option("--loop", metavar="NAME", help="Of one loop.")
@click.option("-n", "--limit", type=int, default=20, show_default=True, help="How many at most.")
def runs_(face: Face, since: str | None, until: str | None, loop: str | None, limit: int) -> Output:
    """What the loops did and why, newest first, told by the history alone."""
    found = face.ops.runs(since=since, until=until, loop=loop, limit=limit)
    none = (
        "no such run"
        if since or until or loop
        else "no loop has decided anything yet (`oneiro dream` runs them now)"
    )
    return Output("\n".join(_past(run, face.style) for run in found["runs"]) or none, found)


def _past(run: answers.PastRun, style: Style) -> str:
    when, gone = str(run["started"])[:16].replace("T", " "), "  [undone]" if run["undone"] else ""
    said = (
        line(run["title"])
        or f"{line(run['loop'])}: {len(run['decisions'])} decisions, ended without a report"
    )
    lines = [
        "  ".join(
            [
                style(run["run"], "cyan"),
                style(when, "dim"),
                said + style(gone, "yellow"),
                style(line(run["judge"]), "dim"),
            ]
        )
    ]
    for one in run["decisions"]:
        back = style("  [undone]", "yellow") if one["undone"] and not run["undone"] else ""
        lines.append(
            f"    {style(one['commit'][:10], 'cyan')}  {style(one['op'], 'bold')}: "
            f"{line(one['title'])}  ({line(one['reason'])}){back}"
        )
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
