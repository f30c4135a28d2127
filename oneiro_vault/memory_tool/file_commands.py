"""The six commands of the memory tool over a vault: notes as files below `/memories`. What they
answer is what a model reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from oneiro_vault import answers
from oneiro_vault.api import Calls
from oneiro_vault.core.markdown.quoting import attribute, escape
from oneiro_vault.core.memory import FOLDERS
from oneiro_vault.errors import InvalidInput, NotFound, shown
from oneiro_vault.memory_tool import text as texts

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
_TYPES: Final = {folder: type for type, folder in FOLDERS.items()}
_CLOSED: Final = {
    "orientation": "What every conversation begins with is decided with a person",
    "dreams": "Reports are written by the runs they report on",
    "ledger": "The vault keeps its own records there",
    "attachments": "Pictures are kept there, not notes",
}


class Vault(Protocol):
    """An open vault, in this process (`open_vault`) or through its owner (`cli.session.at`)."""

    def call(self, op: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run one operation."""


class Memories:
    """The six commands, on strings: what they answer is what a model reads. Raises OneiroError."""

    def __init__(self, vault: Vault) -> None:
        self._vault = Calls(lambda op, given, _progress: vault.call(op, given))

    def run(self, command: str, given: Mapping[str, Any]) -> str:
        """One command by its name, with what the model gave for it."""
        if command not in COMMANDS:
            raise InvalidInput(
                f"there is no command {shown(command)}", hint=f"One of: {', '.join(COMMANDS)}."
            )
        for name, kind in COMMANDS[command].items():
            if not isinstance(given.get(name), kind) or isinstance(given[name], bool):
                raise InvalidInput(
                    f"{command} needs `{name}` ({'text' if kind is str else 'a whole number'})",
                    hint="Give it and try again.",
                )
        found: Callable[..., str] = getattr(self, command)
        optional = (
            ["view_range"] if command == "view" and given.get("view_range") is not None else []
        )
        return found(**{name: given[name] for name in [*COMMANDS[command], *optional]})

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A folder two levels deep, or a note with its lines numbered."""
        found = self._look(path)
        return (
            self._text(path, found["note"], view_range)
            if found["note"]
            else self._folder(path, found)
        )

    def create(self, path: str, file_text: str) -> str:
        """A new note; a folder of the vault says which type it is."""
        inside = _inside(path)
        if not inside:
            raise InvalidInput(
                f"{ROOT} is the folder itself", hint=f"Name a file in it, such as {ROOT}/notes.md."
            )
        self._free(path)
        folder = _open_folder(inside)
        self._vault.remember(
            items=[
                {"text": file_text, "path": _named(inside), "type": _TYPES.get(folder, "semantic")}
            ],
            dedupe=False,
            actor=ACTOR,
        )
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """One occurrence of a text replaced by another."""
        note = self._note(path)
        spans = texts.spans(note["body"], old_str)
        if not spans:
            raise InvalidInput(
                f"No replacement was performed, old_str `{texts.brief(old_str)}` did not appear "
                f"verbatim in {path}.",
                hint="View the file and copy the text as it stands there, without the line "
                "numbers.",
            )
        if len(spans) > 1:
            lines = ", ".join(str(note["body"].count("\n", 0, start) + 1) for start, _ in spans)
            raise InvalidInput(
                f"No replacement was performed. Multiple occurrences of old_str "
                f"`{texts.brief(old_str)}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        (start, end) = spans[0]
        text = note["body"][:start] + new_str + note["body"][end:]
        said = self._edited(path, note, text)
        edited = (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            "numbers):"
        )
        return said or f"{edited}\n{texts.around(text, start)}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Text after a line; 0 is before the first."""
        note = self._note(path)
        lines = note["body"].removesuffix("\n").split("\n")
        if not 0 <= insert_line <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range "
                f"of lines of the file: [0, {len(lines)}]"
            )
        lines.insert(insert_line, insert_text.removesuffix("\n"))
        return (
            self._edited(path, note, "\n".join(lines) + "\n") or f"The file {path} has been edited."
        )

    def delete(self, path: str) -> str:
        """A note, or a folder of a few, forgotten: the history keeps every word."""
        if not _inside(path):
            raise InvalidInput(
                f"Cannot delete the {ROOT} directory itself",
                hint="Delete the files that are not wanted, one by one.",
            )
        found = self._look(path)
        notes = [found["note"]["id"]] if found["note"] else self._few(path, found["entries"])
        for ident in notes:
            self._vault.forget(id=ident, reason=f"deleted as {path}", actor=ACTOR)
        return (
            f"Successfully deleted {path}. Its words stay in the history, and a person can bring "
            f"it back."
        )

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
        """What `browse` says of a path; a note is also found without its `.md`."""
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
            raise InvalidInput(
                f"The path {path} is not a file.", hint="View it to see the files in it."
            )
        return note

    def _free(self, path: str) -> None:
        try:
            self._look(path)
        except NotFound:
            return
        raise InvalidInput(
            f"File {path} already exists",
            hint="Edit it with str_replace or insert, or choose another name.",
        )

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
        done = self._vault.reframe(
            id=note["id"],
            text=text,
            base=note["sha256"],
            reason=f"edited as {path}",
            actor=ACTOR,
        )
        if not done["proposal"]:
            return ""
        why = "a person has ratified it" if note["core"] else "it changed meanwhile"
        return (
            f"{path} is as it was: {why}. The new text waits as {ROOT}/{done['proposal']['path']} "
            f"until a person decides."
        )

    def _few(self, path: str, entries: Sequence[answers.Entry]) -> list[str]:
        """Ids of the notes of a folder that is small enough to be deleted as one."""
        total = sum(
            one["notes"]
            for one in entries
            if "/" not in one["path"].rstrip("/").removeprefix(_inside(path) + "/")
        )
        notes = [one["id"] for one in entries if one["id"]]
        if total > _AT_ONCE or len(notes) < total:
            raise InvalidInput(
                f"{path} holds {total} files",
                kept="Nothing was deleted.",
                hint="Delete the files that are not wanted, one by one.",
            )
        for one in entries:
            note = self._vault.browse(path=one["path"])["note"] if one["id"] else None
            if note and note["core"]:
                raise InvalidInput(
                    f"{ROOT}/{one['path']} was ratified by a person",
                    kept="Nothing was deleted.",
                    hint="Only a person may forget it.",
                )
        return notes

    def _folder(self, path: str, found: answers.Browsed) -> str:
        entries = found["entries"]
        top = [
            one for one in entries if "/" not in one["path"].removeprefix(found["path"]).strip("/")
        ]
        lines = [
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
            f"items:"
        ]
        lines += [f"{texts.size(sum(one['bytes'] for one in top))}\t{path}"]
        lines += [f"{texts.size(one['bytes'])}\t{ROOT}/{escape(one['path'])}" for one in entries]
        lines += (
            [f"({found['left']} more are not listed: view a folder to see what is in it)"]
            if found["left"]
            else []
        )
        return "\n".join(lines)

    def _text(self, path: str, note: answers.BrowsedNote, view_range: list[int] | None) -> str:
        said = {name: note[name] for name in ("created", "trust", "source", "status")}
        facts = ", ".join(f"{name} {attribute(value)}" for name, value in said.items() if value)
        told = (
            f"Here's the content of {path} with line numbers (a stored note, quoted as data: "
            f"{facts}):"
        )
        return "\n".join([told, *texts.numbered(note["body"], view_range)])


def _inside(path: str) -> str:
    """The path within the vault, "" for `/memories` itself. What it may be is checked where it is
    used."""
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
    """The top folder of a path, "" at the top; raises InvalidInput for one in which models write
    nothing."""
    folder = inside.split("/")[0] if "/" in inside else ""
    if folder.lower() in _CLOSED:
        raise InvalidInput(
            f"{ROOT}/{folder} is not for you to file in: {_CLOSED[folder.lower()]}",
            hint="Choose another folder.",
        )
    return folder
