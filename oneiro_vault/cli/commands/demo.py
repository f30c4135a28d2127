"""demo: a vault's first minute. Every line shown is a command that just ran and its answer."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import click

from oneiro_vault.cli import terminal
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.group import command, oneiro
from oneiro_vault.cli.output import Output, safe
from oneiro_vault.daemon.protocol import Request

_MEMORIES = """
"Priya cannot drink milk or eat cheese; butter is fine in small amounts." --about Priya --tag food
"The launch of Lantern moves to 14 May because the audit is late." --type episodic --project Lantern
"To release: run the test suite, tag the commit, push the tag." --type procedure --title Release
"The staging database is on port 5433, not on the usual one." --type semantic --project Lantern
"Tomás prefers short written updates over meetings." --type semantic --about Tomás
"Never rename a public column in the release that stops writing it." --type principle
"""
_MILK, _LAUNCH, _PORT, _TOMAS = 0, 1, 3, 4
OUTSIDE = "The allergy list hangs by the fridge; zucchini is on it too."


class FailedError(Exception):
    """A step did not do what it claims."""


class Step(TypedDict):
    """What was shown under one title."""

    title: str
    commands: list[str]


@dataclass
class Show:
    """Runs commands on the demo's vault, prints them with their output, and keeps count."""

    face: Face
    vault: Path
    steps: list[Step] = field(default_factory=list)

    def say(self, text: str) -> None:
        """A line for the reader; nothing with --json."""
        if not self.face.json:
            terminal.emit(terminal.OUT, terminal.encode(text + "\n"))

    def step(self, title: str) -> None:
        """Begin a numbered step."""
        self.steps.append({"title": title, "commands": []})
        self.say("\n" + self.face.style(f"{len(self.steps)}. {title}", "bold"))

    def run(self, *args: str, shown: bool = True) -> Mapping[str, Any]:
        """Run `oneiro ARGS` on the vault, print it with its answer, return the answer's data."""
        typed = "oneiro " + " ".join(f'"{arg}"' if " " in arg else arg for arg in args)
        if shown:
            self.say(self.face.style(f"   $ {typed}", "cyan"))
        ours = self.face.request
        env = {**ours.env, "ONEIRO_VAULT": str(self.vault)}  # never the machine's default
        inner = Face(Request([], ours.cwd, env, ours.terminal), self.face.make)
        inner.vault, inner.no_daemon = str(self.vault), self.face.no_daemon
        try:
            found = oneiro.main(list(args), prog_name="oneiro", standalone_mode=False, obj=inner)
        finally:
            inner.close()
        if not isinstance(found, Output):
            raise FailedError(f"`{typed}` gave no answer")
        if shown:
            self.steps[-1]["commands"].append(typed)
            self.say("\n".join(f"     {text}" for text in found.text.splitlines()))
            self.say(self.face.style(f"     ({found.note})", "dim")) if found.note else None
        return found.data


@command("demo")
@click.option("--keep", metavar="PATH", help="Put the vault here instead of in a temporary folder.")
def demo_(face: Face, keep: str | None) -> Output:
    """Make a vault and show what it does: every step is real. Exit code 1 when one is not what it
    claims."""
    face.at_home()
    if keep:
        vault = Path(face.request.cwd, Path(keep).expanduser())
    else:
        vault = Path(tempfile.mkdtemp(prefix="oneiro-demo-")) / "my-vault"
    show = Show(face, vault)
    started = time.monotonic()
    failure = ""
    try:
        _play(show)
    except FailedError as error:
        failure = str(error)
        show.say(f"\n{face.style('This is not what it should be:', 'red')} {failure}")
    if not face.no_daemon:
        show.run("stop", shown=False)
    seconds = round(time.monotonic() - started, 1)
    data = {"schema": 1, "vault": str(vault), "ok": not failure, "failure": failure or None}
    data |= {"seconds": seconds, "steps": show.steps}
    return Output("" if failure else _goodbye(vault, seconds), data, code=1 if failure else 0)


def _play(show: Show) -> None:
    show.step("A vault is a folder of Markdown in a git repository")
    show.run("init", str(show.vault))
    made = (show.vault / ".git").is_dir() and (show.vault / "oneiro.toml").is_file()
    _claim(made, "the vault is not a git repository")

    show.step("Remember: each memory is one file and one commit")
    lines = map(shlex.split, _MEMORIES.strip().splitlines())
    rows = [show.run("remember", *args)["results"][0] for args in lines]
    kept = all((show.vault / row["path"]).is_file() for row in rows)
    _claim(kept, "a remembered note is not on disk")

    show.step("Edit a note in any editor (here: a line appended from outside)")
    _edit_outside(show, rows[_MILK])

    show.step("Recall by words")
    found = show.run("recall", "staging database port", "-k", "2")
    _claim(_first(found) == rows[_PORT]["id"], "the note about the staging database is not first")

    show.step("Recall by meaning: none of these words are in the note")
    _by_meaning(show, rows[_MILK]["id"])

    show.step("Reframe: say it anew; the old words stay in the history")
    new = (
        "The launch of Lantern is on 21 May; the audit is done.",
        "--title",
        "Lantern launches on 21 May",
    )
    show.run("reframe", rows[_LAUNCH]["id"], *new, "--reason", "the audit came back")
    body = str(show.run("show", rows[_LAUNCH]["id"], shown=False)["body"])
    _claim("21 May" in body, "the new words are not there")

    show.step("Forget, and bring back byte for byte")
    _forget_and_restore(show, rows[_TOMAS])

    show.step("The history is git's: who changed what, and why")
    done = {entry["op"] for entry in show.run("log", "-n", "12")["entries"]}
    told = {"remember", "reframe", "forget", "restore"} <= done
    _claim(told, "the log does not tell the whole story")
    story = [entry["op"] for entry in show.run("why", rows[_LAUNCH]["id"])["story"]]
    _claim(story[:2] == ["remember", "reframe"], "the story of the launch is not complete")


def _claim(holds: bool, otherwise: str) -> None:
    if not holds:
        raise FailedError(otherwise)


def _first(found: Mapping[str, Any]) -> str:
    return str(found["results"][0]["id"]) if found["results"] else ""


def _edit_outside(show: Show, row: Mapping[str, Any]) -> None:
    path = show.vault / row["path"]
    show.say(show.face.style(f'   $ echo "{OUTSIDE}" >> {row["path"]}', "cyan"))
    with path.open("a", encoding="utf-8") as file:
        file.write(OUTSIDE + "\n")
    saved = time.monotonic()
    search = ("recall", "zucchini", "-k", "1", "--fast")
    _wait(
        lambda: _first(show.run(*search, shown=False)) == row["id"],
        "the edit was not found within 20 seconds",
    )
    show.say(f"     found {time.monotonic() - saved:.1f} s after it was saved")
    show.run(*search)


def _wait(condition: Callable[[], bool], otherwise: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        _claim(time.monotonic() < end, otherwise)
        time.sleep(0.1)


def _by_meaning(show: Show, wanted: str) -> None:
    model = str(show.run("status", shown=False)["model"])
    if model.startswith("hash"):
        show.say(f"     skipped: the model in use ({safe(model)}) knows no meanings")
        return
    question = "is anyone lactose intolerant"
    _wait(
        lambda: not show.run("recall", question, shown=False)["degraded"],
        "the embedding model did not answer within 60 seconds",
        60.0,
    )
    _wait(
        lambda: show.run("status", shown=False)["pending"] == 0,
        "the notes were not embedded within 60 seconds",
        60.0,
    )
    found = show.run("recall", question, "-k", "2")
    _claim(_first(found) == wanted, "the note about milk is not first")


def _forget_and_restore(show: Show, row: Mapping[str, Any]) -> None:
    path = show.vault / row["path"]
    before = path.read_bytes()
    show.run("forget", row["id"], "--reason", "to show that it comes back")
    _claim(not path.exists(), "the forgotten note is still there")
    show.run("restore", row["id"])
    _claim(path.read_bytes() == before, "the restored note has other bytes than before")


def _goodbye(vault: Path, seconds: float) -> str:
    return f"""
Done in {seconds:.0f} s. The vault is yours to keep or delete: {vault}
Three things to try next:
  cd {vault} && git log -p
      every change as a diff
  oneiro recall "who likes meetings"
      a question of your own, asked from inside the vault
  cd ~/notes && oneiro init --here
      a vault of the notes you have; not a byte of them changes"""
