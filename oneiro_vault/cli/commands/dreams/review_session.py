"""A sitting: proposals one by one at a terminal. Every answer is carried out at once, so leaving in
the middle loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from oneiro_vault.api import Operations
from oneiro_vault.cli import terminal as screen
from oneiro_vault.cli.commands.daily import text_input as texts
from oneiro_vault.cli.commands.dreams.review import done, shown
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.output import Style, line, settled
from oneiro_vault.errors import InvalidInput, OneiroError

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

    def run(self, proposals: Sequence[Mapping[str, Any]]) -> str:
        """Until the last proposal or a quit; returns what to say at the end."""
        for number, row in enumerate(proposals, 1):
            if row["id"] in self._settled:
                continue
            self._say(f"\n{number} of {len(proposals)}  {shown(row, self._style)}\n")
            if not self._decided(row, proposals):
                break
        left = self._vault.review()["total"]
        return f"{left} still wait for review." if left else "Everything is reviewed."

    def _decided(self, row: Mapping[str, Any], proposals: Sequence[Mapping[str, Any]]) -> bool:
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

    def _did(
        self, key: str, row: Mapping[str, Any], proposals: Sequence[Mapping[str, Any]]
    ) -> bool:
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

    def _edited(self, row: Mapping[str, Any]) -> bool:
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
