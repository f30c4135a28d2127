"""Files of the package that one call enters below the API: how much there is to read to follow it.

A profiler (`sys.setprofile`) notes the file of every function that is entered on the calling
thread; loading a module counts for nothing, and every call has been made once before.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import oneiro_vault
from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.operations.dream import apply
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.operations.dream.support import SETTINGS, TWINS, dream, fill, judged
from tests.sync.support import bare
from tests.vault.support import git

PACKAGE: Final = Path(oneiro_vault.__file__).parent
API: Final = "app.py"
BARS: Final = {"remember": 35, "recall": 30, "consolidate": 35, "sync": 55}
NOTE: Final = "The boat is called Petrel.\n\nIt lies in the second berth.\n"


def run(_scale: int) -> Iterator[Row]:
    """The four walks, each in a small vault of its own."""
    for name, files in walks().items():
        yield Row(f"files entered by {name}", len(files), None, f"<= {BARS[name]}", "")


def walks() -> dict[str, list[str]]:
    """What was called -> the files it entered."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        init_vault(folder / "one")
        with App.open(folder / "one", Settings(SETTINGS)) as app:
            fill(app, *TWINS[:2])
            app.call("recall", {"query": "the backup of the database"})
            found = {"remember": _remember(app), "recall": _recall(app)}
            found["consolidate"] = _consolidate(app)
        found["sync"] = _sync(folder)
    return found


def _remember(app: App) -> list[str]:
    with entered() as files:
        fill(app, "Invoices are paid on the tenth.")
    return sorted(files)


def _recall(app: App) -> list[str]:
    with entered() as files:
        app.call("recall", {"query": "when are invoices paid?"})
    return sorted(files)


def _consolidate(app: App) -> list[str]:
    """One decision, from the loop's answer to its commit; the first of two is made before."""
    judged(app)
    dream(app)
    fill(app, *TWINS[2:])
    with entered(apply.apply.__code__) as files:
        assert len(dream(app)["decisions"]) == 1
    return sorted(files)


def _sync(folder: Path) -> list[str]:
    """One note changed on both sides, in words that clash; a first conflict was met before."""
    settings = Settings(SETTINGS | {"git.wait": 60.0, "sync.wait": 60.0})
    remote = bare(folder / "remote.git")
    git(folder / "one", "remote", "add", "origin", str(remote))
    with App.open(folder / "one", settings) as one:
        fill(one, NOTE)
        one.call("sync")
        clone_vault(str(remote), folder / "two", settings)
        with App.open(folder / "two", settings) as two:
            for boat in ("Wren", "Tern"):
                for app, new in ((two, boat), (one, boat.upper())):
                    note = next(app.house.root.rglob("*boat*.md"))
                    head, _, body = note.read_text().partition("called ")
                    note.write_text(f"{head}called {new}.{body.partition('.')[2]}")
                two.call("sync")
                with entered() as files:
                    one.call("sync")
                two.call("sync")
    return sorted(files)


@contextmanager
def entered(within: CodeType | None = None) -> Iterator[set[str]]:
    """The files of the package whose functions are entered meanwhile (`within`: by that function)
    on this thread."""
    files: set[str] = set()
    inside = 0 if within else 1

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal inside
        code = frame.f_code
        if code is within and event in ("call", "return"):
            inside += 1 if event == "call" else -1
        if event == "call" and inside and code.co_name != "<module>":
            path = Path(code.co_filename)
            if path.is_relative_to(PACKAGE) and path.name != API:
                files.add(str(path.relative_to(PACKAGE)))

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print every file of every walk."""
    for name, files in walks().items():
        print(f"{name}: {len(files)}", *files, sep="\n  ")


if __name__ == "__main__":
    main()
