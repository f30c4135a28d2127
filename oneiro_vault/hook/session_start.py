"""SessionStart: what a model wakes into, from the owner's rendering or the notes; and an owner."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH100, PTH114, PTH116, PTH118, PTH123, PTH208

from __future__ import annotations

import json
import os
import sys
import time

from oneiro_vault.capture.conversation_state import Session
from oneiro_vault.core.markdown.orientation import (
    LIMIT,
    Block,
    belongs,
    block,
    delta,
    render,
    stamp,
    units,
)
from oneiro_vault.core.markdown.orientation import last_conversation as ended
from oneiro_vault.hook.program import tool_sets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from oneiro_vault.hook.program import Place

FOLDER = "orientation"
EMPTY = (
    "A memory vault is connected (oneiro-vault). Its orientation is still empty; what it holds is "
    "found with `recall_check`.\n"
)
_LARGEST = 1_000_000
_BRIEF = 0.1
_AGAIN = 30.0
"""Seconds until the next attempt to start an owner: not one at every prompt."""


def orientation(place: Place) -> str:
    """All of it at a beginning and after a clear or compaction; on resume only what changed
    since."""
    text, blocks = published(place.root) or rendered(place.root)
    source = place.event.get("source")
    resumed = source == "resume"
    if place.session:
        session = Session(place.state, place.session)
        if resumed and session.oriented is not None:
            text = delta(blocks, session.oriented)
        elif not resumed:
            session.given = []
        session.oriented = [
            {"id": one.id, "path": one.path, "title": one.title[:200], "stamp": one.stamp}
            for one in blocks
        ]
        session.save()
    wake(place, begins=True)
    if (
        not blocks and not resumed and isinstance(source, str)
    ):  # without one it is no client's beginning
        text = EMPTY
    goes_on = resumed or source == "compact"
    lines = [] if goes_on else [last_conversation(place), questions(place)]
    return next(
        (
            said
            for said in ("\n\n".join(filter(None, (text, *lines))), text)
            if units(said) <= LIMIT
        ),
        "",
    )


def last_conversation(place: Place) -> str:
    """How the last conversation of this project ended, in its own words; "" where nobody knows."""
    try:
        with open(os.path.join(place.root, ".oneiro", "conversations.json"), encoding="utf-8") as f:
            record = json.load(f)
        here, last = os.stat(place.root), record["projects"][place.project]
        if record["root"] != [here.st_dev, here.st_ino]:
            return ""
        known = os.lstat(os.path.join(place.root, last["path"])).st_size == last["size"]
        if not known or last["session"] == place.session:
            return ""
        return ended(last["day"], last["messages"], last["id"], last["words"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def questions(place: Place) -> str:
    """How many questions wait for the connected model, where it has the tools to answer them."""
    try:
        names = os.listdir(os.path.join(place.state, "questions"))
    except OSError:
        return ""
    parked = {name.removesuffix(".json") for name in names if name.endswith(".json")}
    number = sum(f"{name}.answer" not in parked for name in parked if not name.endswith(".answer"))
    if not number or "dreams" not in tool_sets():
        return ""
    one = (
        "1 question about stored notes waits"
        if number == 1
        else f"{number} questions about stored notes wait"
    )
    return (
        f"{one} for a judgement (the skill dream describes how they are answered, with dream_next "
        f"and dream_decide)."
    )


def published(root: str) -> tuple[str, list[Block]] | None:
    """The rendering the owner or the last command left, if it still is what the notes say."""
    folder = os.path.join(root, ".oneiro")
    try:
        with open(os.path.join(folder, "orientation.json"), encoding="utf-8") as file:
            record = json.load(file)
        with open(os.path.join(folder, "orientation.md"), encoding="utf-8", newline="") as file:
            text = file.read()
        here = os.stat(root)
        fits = (
            record["root"] == [here.st_dev, here.st_ino]
            and record["limit"] == LIMIT
            and record["stamp"] == stamp(text)
            and record["folder"] == _mtime(os.path.join(root, FOLDER))
            and all(
                [one["size"], one["mtime_ns"]] == _size_and_time(os.path.join(root, one["path"]))
                for one in record["notes"]
            )
        )
        return (text, [_known(one) for one in record["blocks"]]) if fits else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _known(one: Mapping[str, Any]) -> Block:
    names = "id path title text priority core timestamp when".split()
    return Block(*(one[name] for name in names))


def _mtime(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _size_and_time(path: str) -> list[int | None]:
    try:
        found = os.lstat(path)
    except OSError:
        return [None, None]
    return [found.st_size, found.st_mtime_ns]


def rendered(root: str) -> tuple[str, list[Block]]:
    """The same from the notes in the orientation folder: slower, and never stale."""
    from pathlib import Path

    from oneiro_vault.capture.privacy import veil
    from oneiro_vault.core import memory as memories
    from oneiro_vault.errors import OneiroError
    from oneiro_vault.settings.definitions import load

    settings = load(Path(root), strict=False)
    shown = veil(settings["secrets.mode"], settings["secrets.allowed"])
    blocks = []
    for path in _notes(root):
        try:
            with open(os.path.join(root, path), "rb") as file:
                note = memories.parse(path, shown(file.read(_LARGEST)))
        except (OSError, OneiroError):
            continue
        if belongs(note):
            changed = memories.epoch(note.timestamp) if note.timestamp else None
            blocks.append(
                block(note, note.body, note.id, note.when() if changed is None else changed)
            )
    found = render(blocks)
    return found.text, found.blocks


def _notes(root: str) -> list[str]:
    """Paths of the orientation folder's notes, and of others that the last rendering rested on."""
    paths: dict[str, None] = {}
    try:
        names = sorted(os.listdir(os.path.join(root, FOLDER)))
    except OSError:
        names = []
    for name in names:
        if name.lower().endswith(".md") and not os.path.islink(os.path.join(root, FOLDER, name)):
            paths[f"{FOLDER}/{name}"] = None
    try:
        with open(os.path.join(root, ".oneiro", "orientation.json"), encoding="utf-8") as file:
            known = [one["path"] for one in json.load(file)["notes"]]
    except (OSError, ValueError, KeyError, TypeError):
        known = []
    home = os.path.realpath(root) + os.sep
    for path in known:
        if isinstance(path, str) and os.path.realpath(os.path.join(root, path)) == home + path:
            paths[path] = None
    return list(paths)


def wake(place: Place, begins: bool = False) -> None:
    """See to it that an owner runs soon, without waiting for it. One that runs is told that a
    conversation `begins`: it loads the model before the first prompt."""
    if _alive(place.root):
        if begins and place.setting("inject.tokens"):
            _announce(place.root)
        return
    if not place.setting("owner.start") or _tried(place.state):
        return
    parent = os.path.abspath(os.path.join(__file__, "..", "..", ".."))
    code = (
        f"import sys; {parent!r} in sys.path or sys.path.append({parent!r}); from "
        f"oneiro_vault.cli.main import main; sys.exit(main())"
    )
    # -P: the folder of the conversation is somebody's project and must not be imported from
    argv = [sys.executable, "-P", "-c", code, "--vault", place.root, "capture", "--pending"]
    try:
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        os.posix_spawn(sys.executable, argv, os.environ, file_actions=nothing, setsid=True)
    except (OSError, RuntimeError):  # no sessions in it here: the next command starts one
        return


def _alive(root: str) -> bool:
    """An owner of our version? The kernel lets go of its lock when it dies."""
    from oneiro_vault.daemon import client, protocol
    from oneiro_vault.settings import locations

    return client.owner_of(root).get("version") == protocol.version() and client.held(
        locations.lock_file(root)
    )


def _announce(root: str) -> None:
    from oneiro_vault.daemon import client
    from oneiro_vault.settings import locations

    owner = client.owner_of(root)
    try:
        if not locations.stopped(int(owner.get("pid") or 0)):
            client.Line(owner, _BRIEF).tell("/api/inject", b'{"prompt": ""}')
    except client.UnreachedError:
        return


def _tried(state: str) -> bool:
    """Did a hook try a moment ago? Notes this attempt."""
    path = os.path.join(state, "woken")
    last = _mtime(path)
    if last is not None and 0 <= time.time() - last / 1e9 < _AGAIN:
        return True
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        os.utime(path)
    except OSError:
        return True
    return False
