"""Search as you type: rows with the explanation of each, the note behind a row, and its history;
what is changed there goes the one write path, as the person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rich.markdown import Markdown
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Key as Pressed
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from oneiro_vault import answers
from oneiro_vault.cli import render
from oneiro_vault.cli.output import cut, line, safe
from oneiro_vault.cli.screens import key_table
from oneiro_vault.cli.screens.base import Letter, Line, Place, Rows, Told, drawn, styled, wrong
from oneiro_vault.cli.screens.key_table import Key
from oneiro_vault.core import ranking
from oneiro_vault.errors import OneiroError

_ROWS = 30
_LONGEST = 200_000
"""Characters of a note that are laid out; the rest is a matter for an editor."""


class MemoryPlace(Place):
    """A screen that speaks of one memory at a time, and what can be done with it."""

    @property
    def memory(self) -> str | None:
        """The id of the memory that is meant."""
        return None

    async def renew(self) -> None:
        """Something about the memory has changed."""

    @work
    async def action_history(self) -> None:
        """How it came to be."""
        if ident := self.memory:
            try:
                found = await self.twin.asked(lambda: self.twin.vault.why(id=ident))
            except OneiroError as error:
                self.say(wrong(error))
                return
            story = render.story(found, styled(72))
            await self.app.push_screen_wait(Told("How it came to be", drawn(story)))

    @work
    async def action_undo(self) -> None:
        """Its last change is taken back, after a question."""
        if ident := self.memory:
            await self.change(lambda: self._undone(ident))

    async def _undone(self, ident: str) -> str:
        vault = self.twin.vault
        story = (await self.twin.asked(lambda: vault.why(id=ident)))["story"]
        if not story:
            return "It is not committed yet: there is nothing to take back."
        last = story[-1]
        asked = f"Take this back: {line(last['op'])} of {last['when'][:16].replace('T', ' ')}?"
        what = f"{line(last['title'])}\n{line(last['reason'])}".strip()
        if await self.app.push_screen_wait(Letter(asked, f"{what}\n\ny: yes")) != "y":
            return "Nothing was changed."
        found = await self.twin.asked(lambda: vault.undo(commit=last["commit"]))
        await self.renew()
        return f"Undid {line(str(found['undone']))[:10]}; the same key takes that back."

    @work
    async def action_forget(self) -> None:
        """It leaves the vault; the history keeps it."""
        if not (ident := self.memory):
            return
        reason = await self.app.push_screen_wait(Line("Forget it. Why? (may stay empty)"))
        if reason is not None:
            await self.change(lambda: self._forgotten(ident, reason))

    async def _forgotten(self, ident: str, reason: str) -> str:
        vault = self.twin.vault
        found = await self.twin.asked(lambda: vault.forget(id=ident, reason=reason))
        await self.renew()
        return f"Forgot {line(found['title'])}; `oneiro {found['back']}` brings it back."

    @work
    async def action_edit(self) -> None:
        """Its words are what the person leaves in their editor."""
        if ident := self.memory:
            await self.change(lambda: self._reframed(ident))

    async def _reframed(self, ident: str) -> str:
        vault = self.twin.vault
        note = await self.twin.asked(lambda: vault.show(id=ident))
        text = self.twin.written(note["body"])
        found = await self.twin.asked(
            lambda: vault.reframe(id=ident, text=text, base=note["sha256"])
        )
        await self.renew()
        if found["proposal"]:
            waits = line(found["proposal"]["path"])
            return f"The note changed meanwhile and stays as it is; your text waits in {waits}"
        return f"Reframed {line(found['path'])}"


class SearchScreen(MemoryPlace):
    """A question, and what answers it. `query` stands in the field at the beginning; `filters` are
    those of `recall`."""

    KEYS: ClassVar[Sequence[Key]] = key_table.SEARCH
    TITLE = "Search"

    def __init__(self, query: str = "", filters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._query, self._filters = query, dict(filters or {})
        self._asked: str | None = None
        self._rows: Sequence[answers.RecallRow] = ()

    def middle(self) -> ComposeResult:
        """The question, the rows."""
        yield Input(self._query, placeholder="what do you look for?", id="query")
        yield Rows(id="rows")

    @property
    def memory(self) -> str | None:
        """The chosen row's."""
        return self.rows.chosen

    def on_screen_resume(self) -> None:
        """Whenever the screen is shown."""
        self._asked = None
        self._search()

    def on_input_changed(self) -> None:
        """The rows follow what is typed."""
        self.say("")
        self._search()

    @work(exclusive=True, group="search")
    async def _search(self) -> None:
        await self._answered()

    async def _answered(self) -> None:
        """First what words find at once, then with the model, if nothing else was typed
        meanwhile."""
        query = self.query_one("#query", Input).value.strip()
        if not query or query == self._asked:
            self._show([] if not query else self._rows, query)
            return
        try:
            for fast in (True, False):
                found = await self.twin.asked(self._recall(query, fast))
                self._show(found["results"], query, render.gaps(found))
                if not fast or not found.get("degraded"):
                    break
            self._asked = query
        except OneiroError as error:
            self.say(wrong(error))

    def _recall(self, query: str, fast: bool) -> Callable[[], answers.Recalled]:
        given = {"k": _ROWS} | {name: value for name, value in self._filters.items() if value}
        vault = self.twin.vault
        return lambda: vault.recall(query=query, explain=True, noted=False, fast=fast, **given)

    def _show(self, rows: Sequence[answers.RecallRow], query: str, gaps: str = "") -> None:
        self._rows = rows
        width = self.rows.size.width or 80
        options = [Option(_row(row, width, query), row["id"]) for row in rows]
        self.rows.show(options, self.rows.chosen)
        found = f"{len(rows)} memories" if len(rows) != 1 else "1 memory"
        self.head(" · ".join(filter(None, ("Search", found, gaps))) if query else "Search")

    async def renew(self) -> None:
        """The rows again."""
        self._asked = None
        await self._answered()

    def on_input_submitted(self) -> None:
        """Enter reads the chosen one, from the question as well."""
        self.set_focus(self.rows)
        self.action_open()

    def on_key(self, event: Pressed) -> None:
        """The arrow down leads from the question to the rows, Escape as well."""
        if event.key in ("down", "escape") and self.query_one("#query").has_focus:
            event.stop()
            self.set_focus(self.rows)

    def action_ask(self) -> None:
        """Back to the question."""
        self.set_focus(self.query_one("#query", Input))

    def on_option_list_option_selected(self) -> None:
        """Enter on a row."""
        self.action_open()

    @work(exclusive=True, group="open")
    async def action_open(self) -> None:
        """The note behind a row."""
        if ident := self.memory:
            try:
                found = await self.twin.asked(lambda: self.twin.vault.show(id=ident))
            except OneiroError as error:
                self.say(wrong(error))
                return
            if self.is_current:  # Enter, pressed twice, opens it once
                self.app.push_screen(NoteScreen(found))


def _row(row: answers.RecallRow, width: int, query: str) -> Text:
    """What it is; the line that answers; what put it here."""
    style = styled(width)
    parts = ranking.told((row.get("why") or {}).get("parts") or {})
    made = ", ".join(f"{called} {value:+.2f}" for _, called, value in parts)
    why = f"    {row['score']:.2f}  {'weaker  ' if row.get('weak') else ''}{made}"
    told = render.rows([{**row, "weak": False}], style, query=query)
    return drawn(f"{told}\n{style(cut(why, width), 'dim')}")


class NoteScreen(MemoryPlace):
    """One note, laid out."""

    KEYS: ClassVar[Sequence[Key]] = key_table.NOTE

    def __init__(self, note: answers.Shown) -> None:
        super().__init__()
        self._note = note

    def middle(self) -> ComposeResult:
        """Its words, and what is known of it."""
        with VerticalScroll(id="about"):
            yield Static("", id="body")
            yield Static("", id="facts", markup=False)

    @property
    def memory(self) -> str:
        """This one's."""
        return self._note["id"]

    @property
    def scrolled(self) -> VerticalScroll:
        """The note."""
        return self.query_one("#about", VerticalScroll)

    def on_mount(self) -> None:
        """Show it."""
        self._laid_out()

    def _laid_out(self) -> None:
        note = self._note
        self.head(str(note["meta"].get("title", note["path"])))
        facts = render.memory({**note, "body": ""}, styled(self.size.width)).split("\n", 1)
        self.query_one("#facts", Static).update(drawn(facts[-1].strip()))
        text = safe(note["body"])
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}\n\n… the rest is in {note['path']}"
        # Rich lays it out at once: a widget that mounts its parts keeps who leaves early waiting
        self.query_one("#body", Static).update(Markdown(text, hyperlinks=False))

    async def renew(self) -> None:
        """As it is now; a note that is gone has no screen."""
        try:
            self._note = await self.twin.asked(lambda: self.twin.vault.show(id=self.memory))
            self._laid_out()
        except OneiroError:
            self.action_leave()

    def action_move(self, by: int) -> None:
        """A few lines on or back."""
        self.scrolled.scroll_relative(y=2 * by, animate=False)

    def action_end(self, to: int) -> None:
        """The end, or the beginning."""
        if to > 0:
            self.scrolled.scroll_end(animate=False)
        else:
            self.scrolled.scroll_home(animate=False)

    def key_escape(self) -> None:
        """Back to the rows."""
        self.action_leave()

    def action_leave(self) -> None:
        """Back to the rows; a second press on the way there does nothing more."""
        if self.is_current:
            self.app.pop_screen()
