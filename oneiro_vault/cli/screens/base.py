"""What the screens share: the program around them, its one way to the vault, questions to the
person, and a list whose rows are walked through with j and k.

A call to the vault runs in one thread beside the screen, one after the other, so that the screen
never stands still and no two calls open a vault at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, ClassVar, TypeVar, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key as Pressed
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from oneiro_vault.api import Operations
from oneiro_vault.cli.output import Style, line, safe
from oneiro_vault.cli.screens import key_table
from oneiro_vault.cli.screens.key_table import Key
from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.errors import OneiroError

Edit = Callable[[str], str]
"""A text as a person leaves it in their editor. Raises InvalidInput when nothing was saved."""
Made = TypeVar("Made")


def styled(width: int) -> Style:
    """Colours of a screen so wide, for the texts that every command prints."""
    return Style(Terminal(width, True))


def drawn(text: str) -> Text:
    """Such a text, its colours kept; whatever else a note holds is shown and does nothing."""
    return Text.from_ansi(text)


class Twin(App[str]):
    """The program. `starts` is the first place: review or search."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012  # Textual's own type
    CSS = """
    Screen { layout: vertical; }
    #head { height: 1; text-style: bold; }
    #foot { height: 1; text-style: dim; }
    #said { height: auto; max-height: 4; }
    #panes { height: 1fr; }
    #rows { border: none; padding: 0; height: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    #rows > .option-list--option-highlighted { text-style: reverse; }
    #about { height: 2fr; border-top: solid $foreground 40%; scrollbar-size-vertical: 1; }
    .-wide #panes { layout: horizontal; }
    .-wide #rows { width: 2fr; height: 1fr; }
    .-wide #about { width: 3fr; height: 1fr; border-top: none; border-left: solid $foreground 40%; }
    #facts { border-top: solid $foreground 40%; }
    Input { border: none; padding: 0; height: 1; }
    ModalScreen { align: center middle; }
    #box { width: 76; max-width: 95%; height: auto; max-height: 90%; border: round $foreground; }
    #box { padding: 0 1; background: $background; }
    #box Static { height: auto; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "leave", priority=True)]

    def __init__(
        self,
        vault: Operations,
        edit: Edit,
        places: Mapping[str, Callable[[], Place]],
        starts: str,
    ) -> None:
        super().__init__(ansi_color=True)
        self.vault, self.edit, self.starts = vault, edit, starts
        for name, make in places.items():
            self.add_mode(name, make)
        self._thread = ThreadPoolExecutor(1, "vault")

    def on_mount(self) -> None:
        """The first place."""
        self.switch_mode(self.starts)

    def action_leave(self) -> None:
        """End, from wherever a person is."""
        places = (screen for screen in self.screen_stack if isinstance(screen, Place))
        self.exit(next((screen.left for screen in places), ""))

    async def asked(self, call: Callable[[], Made]) -> Made:
        """What the vault answers, without the screen standing still. Raises OneiroError, and
        CancelledError where the program has ended: its screens have no fields any more."""
        answer = await asyncio.get_running_loop().run_in_executor(self._thread, call)
        if not self.is_running:
            raise asyncio.CancelledError
        return answer

    def written(self, text: str) -> str:
        """A text as the person leaves it in their editor, to which the terminal belongs until
        then."""
        with ExitStack() as aside:
            with suppress(SuspendNotSupported):  # no terminal of its own: a test, or in a page
                aside.enter_context(self.suspend())
            return self.edit(text)

    def on_unmount(self) -> None:
        """What was begun is finished; nothing new begins."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Rows(OptionList):
    """A list: letters and the arrows move in it."""

    def show(self, options: Sequence[Option], chosen: str | None) -> None:
        """Other rows; the one of that id stays chosen, else the one at the same place."""
        place = self.highlighted or 0
        self.set_options(options)
        if options:
            ids = [one.id for one in options]
            self.highlighted = ids.index(chosen) if chosen in ids else min(place, len(ids) - 1)

    @property
    def chosen(self) -> str | None:
        """The id of the chosen row."""
        return None if self.highlighted is None else self.get_option_at_index(self.highlighted).id


class Place(Screen[None]):
    """A screen with keys of its own."""

    KEYS: ClassVar[Sequence[Key]] = ()
    TITLE = ""
    busy = False
    """A change is under way: a second key changes nothing."""

    def __init_subclass__(cls, **more: Any) -> None:
        cls.BINDINGS = key_table.bindings(cls.KEYS)
        super().__init_subclass__(**more)

    @property
    def twin(self) -> Twin:
        """The program."""
        return cast(Twin, self.app)

    def compose(self) -> ComposeResult:
        """Head, what the screen is for, what happened, the keys."""
        yield Static(self.TITLE, id="head", markup=False)
        yield from self.middle()
        yield Static("", id="said", markup=False)
        yield Static(key_table.foot(self.KEYS), id="foot", markup=False)

    def middle(self) -> ComposeResult:
        """What the screen is for."""
        yield from ()

    def head(self, text: str) -> None:
        """The line above."""
        self.query_one("#head", Static).update(line(text))

    def say(self, text: str) -> None:
        """What happened, until something else does."""
        self.query_one("#said", Static).update(drawn(text))

    @property
    def scrolled(self) -> VerticalScroll | None:
        """What a page key moves; None: the list itself."""
        return None

    @property
    def rows(self) -> Rows:
        """The list."""
        return self.query_one("#rows", Rows)

    def action_move(self, by: int) -> None:
        """The next row, or the one before; at the last it stays."""
        rows = self.rows
        if rows.option_count:
            rows.highlighted = min(max((rows.highlighted or 0) + by, 0), rows.option_count - 1)

    def action_end(self, to: int) -> None:
        """The last row, or the first."""
        self.action_move(to * self.rows.option_count)

    def action_page(self, by: int) -> None:
        """A page on or back."""
        if self.scrolled is None:
            self.action_move(by * 5)
        elif by > 0:
            self.scrolled.scroll_page_down(animate=False)
        else:
            self.scrolled.scroll_page_up(animate=False)

    @property
    def left(self) -> str:
        """What is said when the program ends here."""
        return ""

    def action_leave(self) -> None:
        """End the program."""
        self.app.exit(self.left)

    @work
    async def action_help(self) -> None:
        """The keys of this screen."""
        await self.app.push_screen_wait(Told("Keys", "\n".join(key_table.told(self.KEYS))))

    @work
    async def action_go(self) -> None:
        """Wait for the letter after `g`, and go there."""
        rows = (f"{letter}  {what}" for letter, (_, what) in key_table.PLACES.items())
        letter = await self.app.push_screen_wait(Letter("Go to", "\n".join(rows)))
        place, _ = key_table.PLACES.get(letter, ("", ""))
        if place == "top":
            self.action_end(-1)
        elif place:
            self.app.switch_mode(place)

    async def change(self, act: Callable[[], Awaitable[str]]) -> None:
        """Carry out one change, and say what became of it, or what was wrong and what to do."""
        if self.busy:
            return
        self.busy = True
        try:
            told = await act()
        except OneiroError as error:
            told = wrong(error)
        finally:
            self.busy = False
        here = self.app.screen  # a note that was forgotten has no screen any more
        if told and isinstance(here, Place):
            here.say(told)


def wrong(error: OneiroError) -> str:
    """An error in a line or two."""
    return " ".join(safe(part) for part in (f"{error}.", error.kept, error.hint) if part)


class Told(ModalScreen[None]):
    """A text in a box, until a key is pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j,down,space", "by(1)", ""),
        ("k,up,b", "by(-1)", ""),
        ("escape,q,enter,question_mark,h", "dismiss", ""),
    ]

    def __init__(self, title: str, text: str | Text) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Title, text."""
        with VerticalScroll(id="box"):
            yield Static(Text(self._title, "bold"))
            yield Static(self._text, id="told", markup=False)

    def action_by(self, by: int) -> None:
        """Further down, or up."""
        self.query_one("#box", VerticalScroll).scroll_relative(y=by * 5, animate=False)


class Letter(ModalScreen[str]):
    """Waits for one key, whichever it is."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """What the keys are."""
        with Vertical(id="box"):
            yield Static(Text(self._title, "bold"))
            yield Static(self._text, markup=False)

    def on_key(self, event: Pressed) -> None:
        """That was it."""
        event.stop()
        self.dismiss(event.character or "")


class Line(ModalScreen[str | None]):
    """Asks for a line; None: the person thought better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question, and a field."""
        with Vertical(id="box"):
            yield Static(line(self._question), markup=False)
            yield Input()
            yield Static("Enter goes on, Escape takes the key back.", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The answer."""
        self.dismiss(event.value.strip())
