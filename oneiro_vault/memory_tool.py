"""The vault behind Anthropic's memory tool (`memory_20250818`): notes as files below `/memories`,
for programs on the `anthropic` SDK.

    import anthropic
    from oneiro_vault.memory_tool import VaultMemoryTool

    with VaultMemoryTool.at("~/my-vault") as memory:
        runner = anthropic.Anthropic().beta.messages.tool_runner(model=…, max_tokens=…,
        messages=[…], tools=[memory]) print(runner.until_done())

A path below `/memories` is the note's path in the vault, and what is read and edited is its body.
Every change goes through the vault's one door and is signed `model`: an edit is a `reframe`, a
deletion a `forget`, and the old words stay in the history. Nothing is ever opened by a path that a
model gave: paths are looked up among the notes there are, and new ones are checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from oneiro_vault import answers
from oneiro_vault.api import Calls
from oneiro_vault.core.markdown.quoting import attribute, escape
from oneiro_vault.core.memory import FOLDERS, Memory, owned
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, shown

try:
    import anyio.to_thread
    from anthropic.tools import ToolError
    from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
except ImportError as error:  # whoever wrote the import wants to read what to install
    text = "the memory tool needs the anthropic SDK: pip install 'oneiro-vault[anthropic]'"
    raise ImportError(text) from error

ROOT: Final = "/memories"
ACTOR: Final = "model"
COMMANDS: Final[dict[str, dict[str, type]]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""What each command must be given."""
_AT_ONCE: Final = 20
"""Notes of a folder that may be deleted as one."""
_ONE_BY_ONE: Final = "Delete the files that are not wanted, one by one."
_TYPES: Final = {folder: type for type, folder in FOLDERS.items()}
_CLOSED: Final = {
    "orientation": "What every conversation begins with is decided with a person",
    "dreams": "Reports are written by the runs they report on",
    "ledger": "The vault keeps its own records there",
    "attachments": "Pictures are kept there, not notes",
}


class Vault(Protocol):
    """An open vault, in this process (`open_vault`) or through its owner (`cli.session.at`)."""

    def call(self, op: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run one operation."""


class Memories:
    """The six commands, on strings: what they answer is what a model reads. Raises OneiroError."""

    def __init__(self, vault: Vault) -> None:
        self._vault = Calls(lambda op, given, _progress: vault.call(op, given))

    def run(self, command: str, given: Mapping[str, Any]) -> str:
        """One command by its name, with what the model gave for it."""
        if command not in COMMANDS:
            hint = f"One of: {', '.join(COMMANDS)}."
            raise InvalidInput(f"there is no command {shown(command)}", hint=hint)
        for name, kind in COMMANDS[command].items():
            if not isinstance(given.get(name), kind) or isinstance(given[name], bool):
                what = "text" if kind is str else "a whole number"
                text = f"{command} needs `{name}` ({what})"
                raise InvalidInput(text, hint="Give it and try again.")
        found: Callable[..., str] = getattr(self, command)
        names = [*COMMANDS[command], *(["view_range"] if command == "view" else [])]
        return found(**{name: given.get(name) for name in names})

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A folder two levels deep, or a note with its lines numbered."""
        found = self._look(path)
        if found["note"]:
            return self._text(path, found["note"], view_range)
        return self._folder(path, found)

    def create(self, path: str, file_text: str) -> str:
        """A new note; a folder of the vault says which type it is."""
        inside = _inside(path)
        if not inside:
            hint = f"Name a file in it, such as {ROOT}/notes.md."
            raise InvalidInput(f"{ROOT} is the folder itself", hint=hint)
        self._free(path)
        kind = _TYPES.get(_open_folder(inside), "semantic")
        item = {"text": file_text, "path": _named(inside), "type": kind}
        self._vault.remember(items=[item], dedupe=False, actor=ACTOR)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """One occurrence of a text replaced by another."""
        note = self._note(path)
        found = spans(note["body"], old_str)
        none, old = "No replacement was performed", f"old_str `{brief(old_str)}`"
        if not found:
            hint = "View the file and copy the text as it stands there, without the line numbers."
            raise InvalidInput(f"{none}, {old} did not appear verbatim in {path}.", hint=hint)
        if len(found) > 1:
            lines = ", ".join(str(note["body"].count("\n", 0, start) + 1) for start, _ in found)
            where = f"{none}. Multiple occurrences of {old} in lines: {lines}."
            raise InvalidInput(f"{where} Please ensure it is unique")
        (start, end) = found[0]
        text = note["body"][:start] + new_str + note["body"][end:]
        said = self._edited(path, note, text)
        edited = "The memory file has been edited. Here is the snippet showing the change"
        return said or f"{edited} (with line numbers):\n{around(text, start)}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Text after a line; 0 is before the first."""
        note = self._note(path)
        lines = note["body"].removesuffix("\n").split("\n")
        if not 0 <= insert_line <= len(lines):
            within = f"It should be within the range of lines of the file: [0, {len(lines)}]"
            raise InvalidInput(f"Invalid `insert_line` parameter: {insert_line}. {within}")
        lines.insert(insert_line, insert_text.removesuffix("\n"))
        said = self._edited(path, note, "\n".join(lines) + "\n")
        return said or f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """A note, or a folder of a few, forgotten: the history keeps every word."""
        if not _inside(path):
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself", hint=_ONE_BY_ONE)
        found = self._look(path)
        notes = [found["note"]["id"]] if found["note"] else self._few(path, found["entries"])
        for ident in notes:
            self._vault.forget(id=ident, reason=f"deleted as {path}", actor=ACTOR)
        back = "Its words stay in the history, and a person can bring it back."
        return f"Successfully deleted {path}. {back}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Another place for a note; its id and its words stay."""
        if not _inside(old_path):
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")
        found = self._look(old_path)
        if not found["note"]:
            raise InvalidInput(f"{old_path} is a folder", hint="Rename its files one by one.")
        inside = _inside(new_path)
        self._free(new_path)
        _open_folder(inside)
        _open_folder(found["path"])
        self._vault.move(id=found["note"]["id"], path=_named(inside), actor=ACTOR)
        return f"Successfully renamed {old_path} to {new_path}"

    # -- inside
    # ----------------------------------------------------------------------------------------------

    def _look(self, path: str) -> answers.Browsed:
        inside = _inside(path)
        for name in dict.fromkeys((inside, _named(inside)) if inside else ("",)):
            try:
                return self._vault.browse(path=name)
            except NotFound:
                continue
        raise NotFound(
            f"The path {path} does not exist. Please provide a valid path.",
            hint=f"View {ROOT} to see what there is.",
        )

    def _note(self, path: str) -> answers.BrowsedNote:
        note = self._look(path)["note"]
        if not note:
            hint = "View it to see the files in it."
            raise InvalidInput(f"The path {path} is not a file.", hint=hint)
        return note

    def _free(self, path: str) -> None:
        try:
            self._look(path)
        except NotFound:
            return
        hint = "Edit it with str_replace or insert, or choose another name."
        raise InvalidInput(f"File {path} already exists", hint=hint)

    def _edited(self, path: str, note: answers.BrowsedNote, text: str) -> str:
        """Make the note say `text`; "" when it does, else what a person has to decide."""
        if not text.strip():
            raise InvalidInput(
                f"{path} would be empty",
                kept="The file is as it was.",
                hint="Delete it if nothing of it is wanted any more.",
            )
        if text == note["body"]:
            raise InvalidInput(
                "the new text is the same as the old", hint="Nothing has to be done."
            )
        given = {"id": note["id"], "text": text, "base": note["sha256"]}
        done = self._vault.reframe(**given, reason=f"edited as {path}", actor=ACTOR)
        if not done["proposal"]:
            return ""
        why = f"it {_owned(note)}" if _owned(note) else "it changed meanwhile"
        waits = f"The new text waits as {ROOT}/{done['proposal']['path']} until a person decides."
        return f"{path} is as it was: {why}. {waits}"

    def _few(self, path: str, entries: Sequence[answers.Entry]) -> list[str]:
        total = sum(
            one["notes"]
            for one in entries
            if "/" not in one["path"].rstrip("/").removeprefix(_inside(path) + "/")
        )
        notes = [one["id"] for one in entries if one["id"]]
        if total > _AT_ONCE or len(notes) < total:
            text, kept = f"{path} holds {total} files", "Nothing was deleted."
            raise InvalidInput(text, kept=kept, hint=_ONE_BY_ONE)
        for one in entries:
            note = self._vault.browse(path=one["path"])["note"] if one["id"] else None
            if note and (why := _owned(note)):
                text, kept = f"{ROOT}/{one['path']} {why}", "Nothing was deleted."
                raise InvalidInput(text, kept=kept, hint="Only a person may forget it.")
        return notes

    def _folder(self, path: str, found: answers.Browsed) -> str:
        entries, here = found["entries"], found["path"]
        top = [one for one in entries if "/" not in one["path"].removeprefix(here).strip("/")]
        head = "Here're the files and directories up to 2 levels deep in"
        lines = [f"{head} {path}, excluding hidden items:"]
        lines += [f"{size(sum(one['bytes'] for one in top))}\t{path}"]
        lines += [f"{size(one['bytes'])}\t{ROOT}/{escape(one['path'])}" for one in entries]
        more = f"({found['left']} more are not listed: view a folder to see what is in it)"
        return "\n".join([*lines, *([more] if found["left"] else [])])

    def _text(self, path: str, note: answers.BrowsedNote, view_range: list[int] | None) -> str:
        said = {name: note[name] for name in ("created", "trust", "source", "status")}
        facts = ", ".join(f"{name} {attribute(value)}" for name, value in said.items() if value)
        told = f"Here's the content of {path} with line numbers"
        told += f" (a stored note, quoted as data: {facts}):"
        return "\n".join([told, *numbered(note["body"], view_range)])


def _owned(note: answers.BrowsedNote) -> str:
    kind, source, trust = note["type"], note["source"], note["trust"]
    return owned(Memory("", type=kind, source=source, trust=trust, core=note["core"]))


def _inside(path: str) -> str:
    """The path within the vault, "" for `/memories` itself; checked where it is used."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(
            f"Path must start with {ROOT}, got: {shown(path)}",
            hint=f"View {ROOT} to see what there is.",
        )
    return path[len(ROOT) :].strip("/")


def _named(inside: str) -> str:
    """The note's own name: notes end with `.md`, whatever a model calls them."""
    return inside if inside.lower().endswith(".md") else f"{inside}.md"


def _open_folder(inside: str) -> str:
    """The top folder of a path, "" at the top. Raises InvalidInput for one models do not write
    in."""
    folder = inside.split("/")[0] if "/" in inside else ""
    if folder.lower() in _CLOSED:
        raise InvalidInput(
            f"{ROOT}/{folder} is not for you to file in: {_CLOSED[folder.lower()]}",
            hint="Choose another folder.",
        )
    return folder


_ROOM: Final = 100_000
_WIDTH: Final = 6
_AROUND: Final = 2


def spans(body: str, text: str) -> list[tuple[int, int]]:
    """Where in `body` the text stands, as it is stored or as it is shown (delimiters escaped)."""
    found, seen = _all(body, text), escape(body)
    if found or seen == body:
        return found
    places = _places(body, seen)
    return [
        (places[start], places[end])
        for start, end in _all(seen, text)
        if start in places and end in places
    ]


def _all(text: str, part: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = text.find(part) if part else -1
    while at >= 0:
        found.append((at, at + len(part)))
        at = text.find(part, at + 1)
    return found


def _places(body: str, seen: str) -> dict[int, int]:
    """Offset in what is shown -> offset in the body. Escaping only puts `&lt;` for a bracket, or
    one `amp;` more behind an `&`."""
    places, at = {}, 0
    for here, character in enumerate(body):
        places[at] = here
        if character == "&":
            at += len("&amp;") if _amps(seen, at) > _amps(body, here) else 1
        else:
            at += 1 if seen[at] == character else len("&lt;")
    places[at] = len(body)
    return places


def _amps(text: str, at: int) -> int:
    count, at = 0, at + 1
    while text.startswith("amp;", at):
        count, at = count + 1, at + 4
    return count


def numbered(body: str, view_range: list[int] | None) -> list[str]:
    """The lines of a body behind their numbers, those asked for that fit. Raises InvalidInput."""
    lines = escape(body).split("\n")
    first, last = _range(view_range, len(lines))
    told: list[str] = []
    room = _ROOM
    for number in range(first, last + 1):
        line = lines[number - 1]
        if len(line) > room and told:
            rest = f"(cut: lines {number} to {len(lines)} are seen with view_range [{number}, -1])"
            return [*told, rest]
        cut = f" (cut: {len(line) - _ROOM} more characters)" if len(line) > _ROOM else ""
        told.append(_line(number, line[:_ROOM]) + cut)
        room -= len(line)
    return told


def around(text: str, at: int) -> str:
    """The line of a change and its neighbours, numbered."""
    lines, changed = escape(text).split("\n"), text.count("\n", 0, at)
    near = range(max(0, changed - _AROUND), min(len(lines), changed + _AROUND + 1))
    return "\n".join(_line(number + 1, lines[number]) for number in near)


def _line(number: int, text: str) -> str:
    return f"{number:>{_WIDTH}}\t{text}"


def _range(view_range: list[int] | None, lines: int) -> tuple[int, int]:
    if view_range is None:
        return 1, lines
    whole = isinstance(view_range, list) and len(view_range) == 2
    if whole and all(isinstance(one, int) and not isinstance(one, bool) for one in view_range):
        first, end = max(1, view_range[0]), view_range[1]
        last = lines if end == -1 else min(end, lines)
        if first <= last:
            return first, last
    hint = f"Give two line numbers within [1, {lines}], or -1 for the end."
    raise InvalidInput(f"Invalid `view_range`: {shown(view_range)}", hint=hint)


def size(count: int) -> str:
    """`1.5K` and the like."""
    number, unit = float(count), "B"
    for unit in "BKMG":
        if number < 1024 or unit == "G":
            break
        number /= 1024
    return f"{number:.1f}".removesuffix(".0") + unit


def brief(text: str) -> str:
    """A text that an answer repeats, its middle left out when it is long."""
    return text if len(text) <= 200 else f"{text[:140]}…{text[-40:]}"


def _told(error: OneiroError) -> str:
    return " ".join(filter(None, (str(error), error.kept, error.hint)))


def _attempt(memories: Memories, name: object, command: object) -> str:
    names = (*COMMANDS.get(str(name), ()), "view_range")
    given = {one: getattr(command, one, None) for one in names}
    try:
        return memories.run(str(name or ""), given)
    except OneiroError as error:
        raise ToolError(_told(error)) from error


class VaultMemoryTool(BetaAbstractMemoryTool):
    """For `client.beta.messages.tool_runner(tools=[…])`. `vault`: anything with `App.call`."""

    def __init__(self, vault: Vault, **options: Any) -> None:
        super().__init__(**options)
        self._memories = Memories(vault)
        self._close: Callable[[], object] = bool

    @classmethod
    def at(cls, path: str | os.PathLike[str], **options: Any) -> VaultMemoryTool:
        """The vault at `path`, through its owner process. Raises VaultNotFound."""
        from oneiro_vault.cli import session

        found = session.at(path)
        made = cls(found, **options)
        made._close = found.close
        return made

    def execute(self, command: Any) -> str:
        """Whatever the model gave. Raises ToolError, which the SDK hands back to the model."""
        return _attempt(self._memories, getattr(command, "command", None), command)

    view = create = str_replace = insert = delete = rename = execute

    def close(self) -> None:
        """Let go of the vault."""
        self._close()

    def __enter__(self) -> VaultMemoryTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncVaultMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`; each command runs in a thread."""

    def __init__(self, vault: Vault, **options: Any) -> None:
        super().__init__(**options)
        self._memories = Memories(vault)

    async def execute(self, command: Any) -> str:
        """Whatever the model gave. Raises ToolError."""
        return await anyio.to_thread.run_sync(
            _attempt, self._memories, getattr(command, "command", None), command
        )

    view = create = str_replace = insert = delete = rename = execute
