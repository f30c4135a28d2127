"""Review: what dreams propose, one below the other; what would change, and why; and a person's
decision at a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from oneiro_vault import answers
from oneiro_vault.cli.commands import dream
from oneiro_vault.cli.output import line
from oneiro_vault.cli.screens import key_table
from oneiro_vault.cli.screens.base import Letter, Line, Place, Rows, drawn, styled, wrong
from oneiro_vault.cli.screens.key_table import Key
from oneiro_vault.errors import OneiroError


class ReviewScreen(Place):
    """The proposals that wait."""

    KEYS: ClassVar[Sequence[Key]] = key_table.REVIEW

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, answers.Proposal] = {}

    def middle(self) -> ComposeResult:
        """The proposals; the chosen one in full; the words they are narrowed down by."""
        with Container(id="panes"):
            yield Rows(id="rows")
            with VerticalScroll(id="about", can_focus=False):
                yield Static("", id="detail", markup=False)
        field = Input(placeholder="words that it holds", id="filter")
        field.display = False
        yield field

    @property
    def scrolled(self) -> VerticalScroll:
        """The chosen proposal."""
        return self.query_one("#about", VerticalScroll)

    def on_screen_resume(self) -> None:
        """Whenever the screen is shown: what waits now."""
        self._loading()

    @work(exclusive=True, group="load")
    async def _loading(self) -> None:
        try:
            await self.load()
        except OneiroError as error:
            self.say(wrong(error))

    async def load(self) -> None:
        """Ask what waits."""
        found = await self.twin.asked(self.twin.vault.review)
        self._known = {row["id"]: row for row in found["proposals"]}
        self._list()

    def _list(self) -> None:
        words = self.query_one("#filter", Input).value.casefold().split()
        rows = [row for row in self._known.values() if _holds(row, words)]
        self.rows.show([Option(_titled(row), row["id"]) for row in rows], self.rows.chosen)
        waiting, shown = len(self._known), len(rows)
        of = f"{shown} of {waiting}" if words else str(waiting)
        self.head(f"Review · {of} to decide" if waiting else f"Review · {dream.NOTHING}")
        self._detail()

    @property
    def row(self) -> answers.Proposal | None:
        """The chosen proposal."""
        return self._known.get(self.rows.chosen or "")

    def on_option_list_option_highlighted(self) -> None:
        """Another one was chosen."""
        self._detail()

    def _detail(self) -> None:
        row = self.row
        about = self.query_one("#about")
        text = drawn(dream.shown(row, styled(about.size.width))) if row else Text("")
        text.highlight_regex(r"(?s)\[-.*?-\]", "red strike")
        text.highlight_regex(r"(?s)\{\+.*?\+\}", "green bold")
        self.query_one("#detail", Static).update(text)
        self.scrolled.scroll_home(animate=False)

    def action_filter(self) -> None:
        """A line for the words; it goes when it is empty."""
        field = self.query_one("#filter", Input)
        field.display = True
        self.set_focus(field)

    def on_input_changed(self) -> None:
        """The list follows what is typed."""
        self._list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Back to the list."""
        event.input.display = bool(event.value.strip())
        self.set_focus(self.rows)

    def key_escape(self) -> None:
        """All of them again."""
        field = self.query_one("#filter", Input)
        field.value = ""
        field.display = False
        self.set_focus(self.rows)

    @work
    async def action_accept(self) -> None:
        """It happens."""
        if row := self.row:
            await self.change(lambda: self._accepted([row["id"]]))

    @work
    async def action_accept_kind(self) -> None:
        """All of its kind happen, after a question."""
        if not (row := self.row):
            return
        same = dream.of_kind(row, self._known.values())
        asked = f"Accept all {len(same)} of the kind “{line(row['op'])}”?"
        if len(same) == 1 or await self.app.push_screen_wait(Letter(asked, "y: yes")) == "y":
            await self.change(lambda: self._accepted(same))

    @work
    async def action_reject(self) -> None:
        """It shall not happen; the reason stays in the history."""
        if not (row := self.row):
            return
        asked = f"Reject {line(row['op'])}: {line(row['title'])}. Why? (may stay empty)"
        reason = await self.app.push_screen_wait(Line(asked))
        if reason is not None:
            await self.change(lambda: self._rejected(row["id"], reason))

    @work
    async def action_edit(self) -> None:
        """The note as the person has it is accepted in its place."""
        if row := self.row:
            await self.change(lambda: self._edited(row))

    async def _accepted(self, ids: Sequence[str], edited: Mapping[str, str] | None = None) -> str:
        vault = self.twin.vault
        return await self._done(
            await self.twin.asked(lambda: vault.review_accept(ids=ids, edited=edited))
        )

    async def _rejected(self, ident: str, reason: str) -> str:
        vault = self.twin.vault
        return await self._done(
            await self.twin.asked(lambda: vault.review_reject(ids=[ident], reason=reason))
        )

    async def _edited(self, row: answers.Proposal) -> str:
        path, text = dream.to_edit(row)
        return await self._accepted([row["id"]], {path: self.twin.written(text)})

    async def _done(self, found: Mapping[str, Any]) -> str:
        await self.load()
        return dream.done(found, styled(self.size.width)).text

    @property
    def left(self) -> str:
        """What still waits."""
        return dream.waiting(len(self._known))


def _titled(row: answers.Proposal) -> Text:
    text = Text.assemble((line(row["op"]), "bold"), f": {line(row['title'])}")
    if row["stale"]:
        text.append("  no longer fits", "yellow")
    return text


def _holds(row: answers.Proposal, words: Sequence[str]) -> bool:
    changed = (f"{one['title']} {one['path']} {one['words']}" for one in row["changes"])
    names = ("id", "op", "title", "loop", "branch", "judge", "reason")
    text = " ".join([*(str(row.get(name) or "") for name in names), *changed]).casefold()
    return all(word in text for word in words)
