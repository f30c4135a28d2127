"""The house has floors, and arrows only point down: who may import whom, and which heavy packages
live in one room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import oneiro_vault
from oneiro_vault.operations.runtime import House

PACKAGE = Path(oneiro_vault.__file__).parent

FLOOR = {
    "errors": 0, "settings": 0, "answers": 0, "api": 0,
    "core": 1,
    "vault": 2, "index": 2, "judges": 2, "classify": 2,
    "mind": 3, "recall": 3, "capture": 3, "sync": 3, "auth": 3, "clients": 3,
    "importers": 3,
    "operations": 4, "app": 4,
    "mcp": 5, "cli": 5, "daemon": 5, "http": 5, "hook": 5, "memory_tool": 5,
    "web": 5,
}  # fmt: skip
SAME_FLOOR = {
    ("classify", "index"), ("judges", "classify"), ("app", "operations"), ("cli", "daemon"),
    ("daemon", "cli"), ("daemon", "mcp"), ("daemon", "http"), ("http", "daemon"),
    ("cli", "http"), ("http", "auth"), ("http", "web"), ("daemon", "web"), ("web", "daemon"), ("cli", "web"),
    ("cli", "hook"), ("hook", "cli"), ("hook", "daemon"), ("memory_tool", "cli"),
    ("importers", "capture"),
}  # fmt: skip
LIGHT = {("hook", "capture"), ("cli", "capture")}
"""Faces that reach past the app into a room of plain functions: the hook program could not import
the app in its time."""
ONLY_IN = {
    "pygit2": {
        "vault/git/repository.py",
        "vault/git/objects.py",
        "vault/git/staging_area.py",
    },
    "git": {"vault/git/commands.py"},
    "chromadb": {"index/vectors/backends.py"},
    "sentence_transformers": {"index/embed/worker.py"},
    "torch": {"index/embed/worker.py"},
    "onnxruntime": {"index/embed/onnx.py"},
    "tokenizers": {"index/embed/onnx.py", "index/embed/pieces.py"},
    "onnx": set(),
    "huggingface_hub": {"index/embed/worker.py"},
    "watchdog": {"index/watch.py"},
    "markdown_it": {"core/markdown/parser.py", "web/notes.py"},
    "nh3": {"web/notes.py"},
    "jinja2": {"web/templating.py"},
    "frontmatter": {"core/frontmatter/yaml_block.py"},
    "starlette": {"daemon/asgi.py", "http/", "web/"},
    "uvicorn": {"daemon/asgi.py", "http/listen_tcp.py"},
    "h11": {"http/auth/client_documents.py", "http/listen_tcp.py"},
    "dateparser": {"core/time/date_words.py"},
    "Stemmer": {"core/text/language.py", "core/text/polarity.py"},
    "sentencex": {"core/text/claims.py"},
    "stop_words": {"core/text/language.py"},
    "PIL": {"operations/remember/images.py"},
    "detect_secrets": {"vault/secrets/secret_scan.py"},
    "git_filter_repo": {"vault/purge/filter_program.py"},
    "mcp": {"mcp/", "clients/installing.py"},
    "mcp_types": {"mcp/"},
    "textual": {"cli/screens/"},
    "anthropic": {"judges/model_api.py", "memory_tool.py"},
}
PURE = {
    "os",
    "subprocess",
    "socket",
    "sqlite3",
    "time",
    "random",
    "secrets",
    "pathlib",
    "shutil",
    "tempfile",
    "threading",
    "urllib",
    "http",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Absolute names of everything a module imports anywhere in it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(dotted: str) -> str | None:
    """`oneiro_vault.index.keyword.fts` -> `index`; None for the package itself or somebody
    else's."""
    parts = dotted.split(".")
    if parts[1:3] == ["http", "auth"]:
        return "auth"
    return parts[1] if parts[0] == "oneiro_vault" and len(parts) > 1 and parts[1] in FLOOR else None


def allowed(source: str, target: str) -> bool:
    if source == target or FLOOR[target] == 0:
        return True
    if (source, target) in SAME_FLOOR | LIGHT:
        return True
    if FLOOR[source] == 5:
        return target in {"app", "core"}
    return FLOOR[target] < FLOOR[source]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_down(path: Path) -> None:
    here = path.relative_to(PACKAGE)
    source = "auth" if here.parts[:2] == ("http", "auth") else here.parts[0].removesuffix(".py")
    if source not in FLOOR:
        return  # __init__ and __main__ are doors, not rooms
    bad = {t for name in imports(path) if (t := room(name)) and not allowed(source, t)}
    assert not bad, f"{here} must not import {', '.join(sorted(bad))}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_have_one_room(path: Path) -> None:
    here = path.relative_to(PACKAGE).as_posix()
    tops = {name.split(".")[0] for name in imports(path)}
    bad = {top for top in tops & ONLY_IN.keys() if not here.startswith(tuple(ONLY_IN[top]))}
    assert not bad, f"{here} imports {', '.join(sorted(bad))}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=lambda p: p.name)
def test_core_is_pure(path: Path) -> None:
    bad = {name.split(".")[0] for name in imports(path)} & PURE
    assert not bad, f"core/{path.name} imports {', '.join(sorted(bad))}"


def test_the_settings_are_read_by_app_and_faces_only() -> None:
    """Rooms below are handed what they need."""
    readers = {
        p.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for p in modules()
        if any(name.startswith("oneiro_vault.settings.definitions") for name in imports(p))
    }
    assert readers <= {"app", "operations", "cli", "daemon", "hook", "settings", "__init__"}


def test_nothing_behind_the_door_of_the_vault_leads_back_to_it() -> None:
    """Not even for its type: they are handed its parts. `layout` stands before it, and makes
    vaults."""
    behind = set((PACKAGE / "vault").rglob("*.py")) - {PACKAGE / "vault" / "layout.py"}
    assert {
        str(path.relative_to(PACKAGE))
        for path in behind
        if "oneiro_vault.vault.vault" in imports(path)
    } == set()


FIELDS = 12
"""Of `House`, which every operation may ask for anything; each part of it is a class of its own."""
LEANING = 29
"""Modules that take the whole house; the others name the parts they need. It was 44."""


def test_the_house_is_small_and_few_take_the_whole_of_it() -> None:
    house = "oneiro_vault.operations.runtime.House"
    assert len(fields(House)) <= FIELDS
    assert sum(house in imports(path) for path in modules()) <= LEANING


def test_every_room_is_on_a_floor() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert rooms <= FLOOR.keys()


MOST = 12
"""Entries of a folder that a reader takes in at a glance; the rooms themselves are the
exception."""
MODULES = 351
"""285 before the web page, the importers and the exporters, each format of which is a module."""


def test_folders_are_small() -> None:
    for folder in {p.parent for p in modules()} - {PACKAGE}:
        code = [p for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
        assert len(code) - 1 <= MOST, f"{folder.relative_to(PACKAGE)} has {len(code) - 1} entries"


def test_modules_are_few() -> None:
    assert len([*PACKAGE.rglob("*.py")]) <= MODULES


def test_no_line_is_longer_than_a_hundred_columns() -> None:
    assert [
        f"{path.relative_to(PACKAGE)}:{number}"
        for path in modules()
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if len(line) > 100
    ] == []


def test_a_name_occurs_once() -> None:
    """But for protocols, and for commands, tools and pages, which are named for what they show."""
    faces = (PACKAGE / "cli" / "commands", PACKAGE / "mcp" / "tools", PACKAGE / "web" / "views")
    names = [
        p.stem
        for p in modules()
        if p.stem not in {"__init__", "base"} and not any(face in p.parents for face in faces)
    ]
    assert {name for name in names if names.count(name) > 1} == set()
