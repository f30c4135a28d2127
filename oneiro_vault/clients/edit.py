"""Our entries into and out of a client's settings, text to text; what is not ours keeps every
character."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from oneiro_vault.clients import jsonc
from oneiro_vault.clients.entries import Trouble, Want, core_of, is_ours, trouble

BOM: Final = "\ufeff"
_WHERE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_TRAILING: Final = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?(?:\n|\r\n|\Z))+\Z", re.MULTILINE)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


def add(text: str | None, wants: Sequence[Want], style: str) -> str:
    """The text (None: no file) with everything wanted in it; unchanged when it is there. `style`:
    json, jsonc or toml. Raises Trouble."""
    mark = BOM if text and text.startswith(BOM) else ""
    text = text[len(mark) :] if text is not None else None
    if style != "toml" and text and text.strip():
        document = jsonc.Document(text, style)
        for want in wants:  # what is wrong is said of the file as it is
            document.ours(want, strict=True)
    for want in reversed(wants):  # each goes to the front
        text = _toml_added(text, want) if style == "toml" else jsonc.add(text, want, style)
    return mark + (text or "")


def drop(text: str, wants: Sequence[Want], style: str) -> str | None:
    """The text without what is ours; None when nothing but us was ever in the file. Raises
    Trouble."""
    mark = BOM if text.startswith(BOM) else ""
    rest: str | None = text[len(mark) :]
    for want in wants:
        if rest and rest.strip():
            rest = _toml_dropped(rest, want) if style == "toml" else jsonc.drop(rest, want, style)
    return None if rest is None else mark + rest


def current(text: str, want: Want, style: str) -> Mapping[str, Any] | None:
    """Our server's entry as it stands in the text, or None. Raises Trouble."""
    text = text.removeprefix(BOM)
    if not text.strip():
        return None
    entry: Any = _parsed(text) if style == "toml" else jsonc.Document(text, style).value
    for name in (*want.path, want.key):
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry if isinstance(entry, dict) and is_ours(entry) else None


def literal(value: Any) -> str:
    """A string, bool, number, or a list or table of them, as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{_name(key)} = {literal(item)}' for key, item in value.items())} }}"
        )
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else literal(key)


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        end = text.count("\n") + 1, len(text) - text.rfind("\n")
        line, column = (int(where[1]), int(where[2])) if where and where[1] else end
        raise Trouble(_WHERE.sub("", str(error)), line, column) from error


def _table(text: str, want: Want) -> Any:
    """What the file says under our name."""
    tables = _parsed(text).get(want.path[0])
    return tables.get(want.key) if isinstance(tables, dict) else None


def _toml_added(text: str | None, want: Want) -> str:
    """The text with our table at its end; what somebody added to it (variables, a timeout)
    stays."""
    entry = _table(text or "", want)
    values = dict(want.entry)
    if entry is not None:
        if not is_ours(entry):
            what = f'there is another server called "{want.key}", which setup did not write'
            raise trouble(what, text or "", (text or "").find(want.key))
        values = entry | core_of(want)
        if values == entry:
            return text or ""
        text = _toml_dropped(text or "", want)
    newline = "\r\n" if text and "\r\n" in text else "\n"
    lines = [
        f"[{want.path[0]}.{want.key}]",
        *(f"{_name(key)} = {literal(value)}" for key, value in values.items()),
    ]
    after = ("" if text is None else text + newline) + "".join(line + newline for line in lines)
    try:
        tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        what = f'"{want.path[0]}" is written as one inline table, which setup cannot extend'
        raise trouble(what, text or "", (text or "").find(want.path[0])) from error
    return after


def _toml_dropped(text: str, want: Want) -> str | None:
    """The text without our table, the tables in it, and the line end we put before it; comments
    behind it stay."""
    if not is_ours(_table(text, want)):
        return text
    parts = list(_tables(text))
    rest = ""
    first = next((number for number, part in enumerate(parts) if _is_of(part, want)), len(parts))
    head = "".join(parts[:first])
    for part in parts[first:]:
        comments = _TRAILING.search(part)
        rest += part if not _is_of(part, want) else comments[0] if comments else ""
    newline = "\r\n" if head.endswith("\r\n") else "\n"
    shorter = head.removesuffix(newline)
    if rest and shorter and not shorter.endswith("\n"):  # somebody wrote below
        shorter += newline
    if _table(shorter + rest, want) is not None:
        what = f'"{want.key}" is written in a way setup cannot take out'
        raise trouble(what, text, text.find(want.key))
    return shorter + rest if head or rest else None


def _tables(text: str) -> Iterator[str]:
    """The text cut before every table's header: a line that begins with a bracket, before which all
    is whole (so it is not within a list or a string)."""
    begin = 0
    for found in _HEADER.finditer(text):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(text[: found.start()])
            yield text[begin : found.start()]
            begin = found.start()
    yield text[begin:]


def _is_of(part: str, want: Want) -> bool:
    """Is it our table, or one within it?"""
    found = tomllib.loads(part)
    inner = found.get(want.path[0])
    return len(found) == 1 and isinstance(inner, dict) and list(inner) == [want.key]
