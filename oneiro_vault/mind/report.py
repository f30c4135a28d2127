"""What a run tells a person. Notes' titles and reasons are quoted into Markdown on one line, so
that no memory can write a section of the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.markdown.quoting import literal
from oneiro_vault.judges.budget import Spent
from oneiro_vault.mind.base import Decision, Due, New, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Tally
from oneiro_vault.mind.validate import Turned

SHORT: Final = 8
"""Characters of an id or commit that are shown."""
MOST: Final = 60
"""Entries of one section; the rest is counted."""
DOES: Final = {
    "remember": "Remembered", "merge": "Merged", "split": "Split", "revise": "Revised",
    "supersede": "Superseded", "link": "Linked",
    "synthesize": "Synthesized", "distil": "Distilled", "whittle": "Whittled", "flag": "Flagged",
    "reframe": "Reframed",
}  # fmt: skip
ANSWERING: Final = ("deferred", "sampling", "auto")
"""Judges for whom an answer may come later."""
FAULTS: Final = ("loop", "judge")
"""Kinds of failures that are no question's."""
plain: Final = partial(literal, limit=300)


@dataclass(frozen=True)
class Done:
    """A decision that was carried out: its commit ("" in a dry run) and the ids of the memories it
    made."""

    decision: Decision
    commit: str = ""
    made: tuple[str, ...] = ()


@dataclass
class Run(Tally):
    """One run of one loop, with what it asked. Times are RFC 3339."""

    run: str
    loop: str
    judge: str
    started: str
    dry: bool = False
    ended: str = ""
    done: list[Done] = field(default_factory=list)
    seen: list[Decision] = field(default_factory=list)
    """Decisions without a change: what was looked at and left as it is."""
    turned: list[Turned] = field(default_factory=list)
    probes: dict[str, int] = field(
        default_factory=lambda: {"probes": 0, "before": 0, "after": 0, "dropped": 0}
    )
    news: int = 0
    """How many of `seen`, `turned` and the lines of `told` no earlier report has said."""
    spent: Spent = field(default_factory=Spent)
    told: str = ""
    due: list[Due] = field(default_factory=list)
    """Topics that the loop would ask about; only a run that tries looks for them."""
    notes: list[str] = field(default_factory=list)
    """What else a reader must know: it was stopped, meaning was not available."""
    path: str = ""
    branch: str = ""
    """Where its decisions wait for a person's review instead of being in force."""

    @property
    def calls(self) -> int:
        """Questions a judge has dealt with, well or badly; one that waits has not been."""
        return self.asked.total()

    @property
    def bad(self) -> int:
        """Questions whose answer could not be used, or that were not answered."""
        return sum(kind not in FAULTS for kind, _ in self.failed)

    @property
    def decided(self) -> bool:
        """Is there something for a report: a decision, carried out or not, a fault, or what no
        report has told?"""
        return bool(self.done or self.failed or self.news or self.notes)

    @property
    def quiet(self) -> bool:
        """Was there nothing to ask, nothing that waits, and nothing to do?"""
        return not (self.calls or self.unasked or self.waiting or self.decided)

    def counts(self) -> dict[str, int]:
        """How many decisions by what they did, most frequent first."""
        return dict(Counter(_does(one.decision) for one in self.done).most_common())


def name_of(run: Run) -> str:
    """Vault path of its report: `dreams/YYYY/MM/<date>-<loop>-<run>.md`."""
    day = run.started[:10]
    return f"dreams/{day[:4]}/{day[5:7]}/{day}-{run.loop}-{run.run}.md"


def title_of(run: Run) -> str:
    """`consolidate: 3 merged, 1 turned down`."""
    said = [
        f"{number} {what.lower()}{' (proposed)' if run.branch else ''}"
        for what, number in run.counts().items()
    ]
    said += [f"{len(run.seen)} left as it is"] if run.seen else []
    said += [f"{len(run.turned)} turned down"] if run.turned else []
    said += ["a fault"] if len(run.failed) > run.bad else []
    said += [f"{run.bad} of {_questions(run.calls)} failed"] if run.bad else []
    said += [f"{len(run.unasked)} not asked"] if run.unasked else []
    said += [opened([run])] if run.waiting else []
    return f"{run.loop}: {', '.join(said) or 'nothing to change'}"


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"


def opened(runs: Sequence[Run]) -> str:
    """`2 waiting for an answer`, where somebody may give one."""
    asked = any(run.judge in ANSWERING for run in runs)
    return (
        f"{sum(len(run.waiting) for run in runs)} "
        f"{'waiting for an answer' if asked else 'left open'}"
    )


def _does(decision: Decision) -> str:
    edits = [edit for edit in decision.edits if isinstance(edit, Set)]
    if (
        edits
        and len(edits) == len(decision.edits)
        and all("encoded" in edit.changes for edit in edits)
    ):
        return "Taken apart"
    return DOES.get(decision.op, decision.op)


def meta_of(run: Run, title: str = "") -> dict[str, object]:
    """Frontmatter of the report, archived from the start: it answers no question."""
    return {
        "type": "dream", "title": title or title_of(run), "created": run.started, "source": "dream",
        "status": "archived",
        "run": run.run, "loop": run.loop, "judge": run.judge,
    }  # fmt: skip


def body_of(run: Run, snapshot: Snapshot) -> str:
    """The report of one run."""
    notes = snapshot.notes
    parts = [f"# {title_of(run)}\n", _opening(run, len(notes))]
    parts += [_section("What changed", [_done(one, notes) for one in run.done])]
    parts += [_section("Looked at and left as it is", [_told(one, notes) for one in run.seen])]
    parts += [
        _section(
            "Turned down",
            [
                f"- {plain(one.decision.op)} {plain(one.decision.title)}: {plain(one.why)}"
                for one in run.turned
            ],
        )
    ]
    parts += [_section("What fades", run.told.splitlines())]
    parts += [
        _section(
            "What failed", [f"- {plain(kind)}: {plain(problem)}" for kind, problem in run.failed]
        )
    ]
    parts += [_recall(run), _cost(run)]
    return "\n".join(part for part in parts if part)


def gathered(runs: Sequence[Run], whole: bool) -> str:
    """What is said of the runs of one night that decided nothing; `whole`: was nothing else
    done?"""
    still = [
        title_of(run) + (f" ({_questions(run.calls)} asked)" if run.calls else "")
        for run in runs
        if not run.quiet
    ]
    idle = ", ".join(run.loop for run in runs if run.quiet)
    if whole and not still:
        return f"a quiet night ({idle}): nothing to do"
    return "; ".join([*still, *([f"{idle}: nothing to do"] if idle else [])])


_CALLED: Final = {
    "auto": "rules", "offline": "rules", "deferred": "the connected model", "none": "nobody",
}  # fmt: skip
"""Who answers, where the name of a judge is that of a setting."""


def judged_by(run: Run) -> str:
    """Who judged what this run did: several where rules answered and a model what they left."""
    decided = [one.decision for one in run.done] + [one.decision for one in run.turned]
    decisions = [*decided, *run.seen]
    asked = [one.judge for one in decisions if one.judge]
    names = dict.fromkeys(_CALLED.get(one, one) for one in (asked or [run.judge]))
    return plain(" and ".join(names))


def _opening(run: Run, total: int) -> str:
    said = [
        f"{'This was only tried: ' if run.dry else ''}Over {total} "
        f"{'note' if total == 1 else 'notes'}, judged by {judged_by(run)}."
    ]
    said += [f"{plain(note)}." for note in run.notes]
    if run.done and run.branch:
        said.append(
            f"Nothing below is in force: it waits on the branch {run.branch} for your review "
            f"(`oneiro review`)."
        )
    elif run.done and not run.dry:
        said.append(
            f"Every change below is a commit of its own; `oneiro undo --run {run.run}` takes all "
            f"of them back."
        )
    return " ".join(said) + "\n"


def _section(title: str, entries: Sequence[str]) -> str:
    if not entries:
        return ""
    more = [f"- and {len(entries) - MOST} more"] if len(entries) > MOST else []
    return "\n".join([f"## {title}\n", *entries[:MOST], *more]) + "\n"


def _done(one: Done, notes: Mapping[str, Note]) -> str:
    mark = f" ({one.commit[:SHORT]})" if one.commit else ""
    return _told(one.decision, notes, mark)


def _told(decision: Decision, notes: Mapping[str, Note], mark: str = "") -> str:
    lines = [f"- {_what(decision, notes)}{mark}"]
    lines += [f"  - why: {plain(decision.reason)}"] if decision.reason else []
    lines += [f"  - {text}" for text in _edits(decision, notes)]
    if decision.transcript:
        lines += [
            "",
            *(f"    > {plain(line, limit=1000)}" for line in decision.transcript.splitlines()),
            "",
        ]
    return "\n".join(lines)


def _what(decision: Decision, notes: Mapping[str, Note]) -> str:
    title = decision.title or next(
        (notes[one].memory.title for one in decision.memories if one in notes), "untitled"
    )
    return f"**{_does(decision)}** {plain(title)}"


def _edits(decision: Decision, notes: Mapping[str, Note]) -> Iterator[str]:
    for edit in decision.edits:
        if isinstance(edit, New):
            yield (
                f"new {plain(str(edit.meta.get('type', 'memory')))}: "
                f"{plain(str(edit.meta.get('title') or edit.body))}"
            )
        elif edit.id in notes:
            yield (
                f"{plain(notes[edit.id].memory.title)} `{edit.id[:SHORT]}`: {plain(_changed(edit))}"
            )


_KEYS: Final = {
    "derived_from": "what it came from",
    "supersedes": "what it replaces",
    "encoded": "taken apart",
    "flags": "questions for a person",
    "valid_until": "how long it held",
}
"""Frontmatter keys as a report names them."""


def _changed(edit: Set) -> str:
    if status := edit.changes.get("status"):
        return f"{status}, still readable" if status != "active" else "active again"
    if edit.body is not None:
        return "new words"
    return "kept; brought up to date: " + ", ".join(
        _KEYS.get(key, key.replace("_", " ")) for key in sorted(edit.changes)
    )


def _recall(run: Run) -> str:
    found = run.probes
    text = (
        f"{found['probes']} probes; {found['before']} found their memory before, {found['after']} "
        f"after"
    )
    dropped = f"{found['dropped']} {'decision' if found['dropped'] == 1 else 'decisions'}"
    return f"## Recall\n\n{text}; {dropped} dropped because recall would have suffered.\n"


def _cost(run: Run) -> str:
    spent = run.spent
    kinds = (
        f" ({', '.join(f'{number} {plain(kind)}' for kind, number in sorted(run.asked.items()))})"
        if run.asked
        else ""
    )
    said = [
        f"{_questions(run.calls)} asked{kinds}"
        + (f": {run.calls - run.bad} answered, {run.bad} failed" if run.bad else "")
    ]
    said += [f"{run.known} answered before"]
    guess = (
        f" ({spent.estimated} of the answers came without a count: estimated)"
        if spent.estimated
        else ""
    )
    said += [f"{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out{guess}"]
    said += [f"about {max(spent.cost, 0.0001):.4f} spent"] if spent.cost else []
    said += [f"{number} not asked: {plain(why)}" for why, number in why_unasked(run).items()]
    said += [opened([run])] if run.waiting else []
    return f"## Cost\n\n{'; '.join(said)}.\n"


_COST: Final = re.compile(
    r"(?m)^## Cost\n\n(\d[\d,]{0,19}) questions? asked.*?; (\d[\d,]{0,19}) tokens in, "
    r"(\d[\d,]{0,19}) out(?:[^;\n]*; about (\d{1,9}\.\d{1,9}) spent)?"
)


def costs_of(body: str) -> tuple[int, int, int, float]:
    """The other way round: questions, tokens in and out, and cost of all runs of a report."""
    asked = tokens_in = tokens_out = 0
    cost = 0.0
    for said in _COST.finditer(body):
        one, two, three = (int(said[at].replace(",", "")) for at in (1, 2, 3))
        asked, tokens_in, tokens_out = asked + one, tokens_in + two, tokens_out + three
        cost += float(said[4] or 0)
    return asked, tokens_in, tokens_out, cost


def why_unasked(run: Run) -> dict[str, int]:
    """Why questions were not asked, and how many for each reason."""
    return dict(Counter(why.removeprefix("not asked: ") for _, why in run.unasked))


def row(run: Run) -> answers.Run:
    """The run as data."""
    return {
        "run": run.run, "loop": run.loop, "judge": run.judge, "started": run.started,
        "ended": run.ended, "dry_run": run.dry,
        "title": title_of(run), "report": run.path or None, "branch": run.branch or None,
        "probes": {**run.probes},
        "decisions": [
            {"op": one.decision.op, "title": one.decision.title, "reason": one.decision.reason,
             "memories": list(one.decision.memories),
             "made": list(one.made), "commit": one.commit or None, "judge": one.decision.judge}
            for one in run.done
        ],
        "left": [
            {"title": one.title, "reason": one.reason, "memories": list(one.memories)}
            for one in run.seen
        ],
        "turned_down": [
            {"op": one.decision.op, "title": one.decision.title, "why": one.why}
            for one in run.turned
        ],
        "failed": [{"kind": kind, "problem": problem} for kind, problem in run.failed],
        "unasked": [
            {"problem": why, "questions": number} for why, number in why_unasked(run).items()
        ],
        "estimated": run.spent.estimated, "calls": run.calls, "known": run.known,
        "waiting": len(run.waiting),
        "tokens_in": run.spent.tokens_in, "tokens_out": run.spent.tokens_out,
        "cost": round(run.spent.cost, 6), "notes": list(run.notes),
        "due": [
            {"topic": one.topic, "memories": [note.id for note in one.notes], "again": one.again}
            for one in run.due
        ],
    }  # fmt: skip
