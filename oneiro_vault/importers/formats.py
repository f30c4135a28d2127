"""Every format that can be imported, and which one an archive is."""

from __future__ import annotations

from typing import Final

from oneiro_vault.errors import InvalidInput, few
from oneiro_vault.importers import okf, own
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.chats import chatgpt, claude, deepseek, gemini
from oneiro_vault.importers.memories import (
    basic_memory,
    claude_code,
    claude_mem,
    mem0,
    oubli,
    vaults,
)
from oneiro_vault.importers.records import Format

FORMATS: Final[tuple[Format, ...]] = (
    own.FORMAT,
    okf.FORMAT,
    chatgpt.FORMAT,
    claude.FORMAT,
    gemini.FORMAT,
    deepseek.FORMAT,
    vaults.OBSIDIAN,
    basic_memory.FORMAT,
    claude_code.FORMAT,
    claude_mem.FORMAT,
    mem0.FORMAT,
    oubli.FORMAT,
    vaults.MARKDOWN,
)
"""Those that know themselves by one sure sign first."""
_SHOWN: Final = 8


def named(name: str) -> Format:
    """The format of that name. Raises InvalidInput."""
    found = next((one for one in FORMATS if one.name == name.strip().lower()), None)
    if found is None:
        names = ", ".join(one.name for one in FORMATS)
        raise InvalidInput(
            f"there is no format {name[:60]!r}", kept=UNTOUCHED, hint=f"One of: {names}."
        )
    return found


def recognised(archive: Archive) -> Format:
    """What an archive looks like, by what is in it and never by its name. Raises InvalidInput when
    it looks like none, or like several."""
    found: list[Format] = []
    wrong: InvalidInput | None = None
    for one in FORMATS:
        try:
            found += [one] if one.recognises(archive) else []
        except InvalidInput as error:  # a file that is broken may have nothing to do with it
            wrong = wrong or error
    if wrong is not None and not found:
        raise wrong
    if len(found) > 1:  # a folder of Markdown is what several of the others are as well
        found = [one for one in found if one is not vaults.MARKDOWN]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            f"{archive.name} could be {' or '.join(one.name for one in found)}",
            kept=UNTOUCHED,
            hint=f"Say which: `oneiro import {found[0].name} PATH`.",
        )
    names = archive.names()
    seen = f"it has {few(names, _SHOWN)}" if names else "there is nothing in it"
    if list(names) == [archive.name]:
        seen = "what is in it has the form of none"
    raise InvalidInput(
        f"{archive.name} is no export that is known here: {seen}",
        kept=UNTOUCHED,
        hint=f"Known are {', '.join(one.name for one in FORMATS)}; `oneiro help import` says how "
        f"to get each.",
    )
