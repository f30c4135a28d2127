"""The house has floors, and arrows only point down: who may import whom, and which heavy packages live in one room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import oneiro_vault

PACKAGE = Path(oneiro_vault.__file__).parent

FLOOR = {
    "errors": 0, "parameters": 0, "agreement": 0, "config": 0,
    "core": 1,
    "vault": 2, "index": 2, "judges": 2, "classify": 2,
    "mind": 3, "recall": 3, "capture": 3, "sync": 3, "access": 3, "clients": 3,
    "operations": 4, "app": 4,
    "mcp": 5, "web": 5, "cli": 5, "daemon": 5, "hook": 5, "memory_tool": 5,
}  # fmt: skip
SAME_FLOOR = {
    ("classify", "index"), ("judges", "classify"), ("app", "operations"), ("cli", "daemon"), ("daemon", "cli"), ("daemon", "mcp"), ("daemon", "web"),
    ("cli", "hook"), ("hook", "cli"), ("hook", "daemon"), ("memory_tool", "cli"),
}  # fmt: skip
LIGHT = {("hook", "capture"), ("cli", "capture")}
"""Faces that reach past the app into a room of plain functions: the hook program could not import the app in its time."""
ONLY_IN = {
    "pygit2": {"vault/git.py", "vault/objects.py", "vault/repositories.py", "vault/staging.py"},
    "git": {"vault/commands.py"},
    "chromadb": {"index/vectors.py"},
    "sentence_transformers": {"index/worker.py"},
    "torch": {"index/worker.py"},
    "onnxruntime": {"index/onnx.py"},
    "tokenizers": {"index/onnx.py"},
    "onnx": set(),
    "huggingface_hub": {"index/hub.py"},
    "watchdog": {"index/watch.py"},
    "markdown_it": {"core/markdown.py"},
    "frontmatter": {"core/frontmatter.py"},
    "starlette": {"daemon/server.py", "daemon/http/"},
    "uvicorn": {"daemon/server.py", "daemon/http/patience.py"},
    "h11": {"access/documents.py", "daemon/http/patience.py"},
    "dateparser": {"core/foreign.py"},
    "Stemmer": {"core/language.py", "core/polarity.py"},
    "sentencex": {"core/sentences.py"},
    "stop_words": {"core/language.py"},
    "PIL": {"operations/thumbnails.py"},
    "detect_secrets": {"vault/secrets.py"},
    "git_filter_repo": {"vault/refilter.py"},
    "mcp": {"mcp/"},
    "mcp_types": {"mcp/"},
    "anthropic": {"judges/anthropic_api.py", "memory_tool/"},
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


def imports(path: Path) -> Iterator[str]:
    """Absolute names of everything a module imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(dotted: str) -> str | None:
    """`oneiro_vault.index.text` -> `index`; None for the package itself or somebody else's."""
    parts = dotted.split(".")
    return parts[1] if parts[0] == "oneiro_vault" and len(parts) > 1 and parts[1] in FLOOR else None


def allowed(source: str, target: str) -> bool:
    if source == target or FLOOR[target] == 0:
        return True
    if source == "config" or (target == "config" and FLOOR[source] < 4):
        return False
    if (source, target) in SAME_FLOOR | LIGHT:
        return True
    if FLOOR[source] == 5:
        return target in {"app", "core"}
    return FLOOR[target] < FLOOR[source]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_down(path: Path) -> None:
    here = path.relative_to(PACKAGE)
    source = here.parts[0].removesuffix(".py")
    if source not in FLOOR:
        return  # __init__ and __main__ are doors, not rooms
    bad = {t for name in imports(path) if (t := room(name)) and not allowed(source, t)}
    assert not bad, f"{here} must not import {', '.join(sorted(bad))}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_have_one_room(path: Path) -> None:
    here = path.relative_to(PACKAGE).as_posix()
    tops = {name.split(".")[0] for name in imports(path)}
    bad = {top for top in tops & ONLY_IN.keys() if not ONLY_IN[top] & {here, f"{here.rpartition('/')[0]}/"}}
    assert not bad, f"{here} imports {', '.join(sorted(bad))}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").glob("*.py")), ids=lambda p: p.name)
def test_core_is_pure(path: Path) -> None:
    bad = {name.split(".")[0] for name in imports(path)} & PURE
    assert not bad, f"core/{path.name} imports {', '.join(sorted(bad))}"


def test_config_is_read_by_app_and_faces_only() -> None:
    readers = {
        p.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for p in modules()
        if any(name.startswith("oneiro_vault.config") for name in imports(p))
    }
    assert readers <= {"app", "operations", "cli", "daemon", "config", "__init__"}


def test_every_room_is_on_a_floor() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert rooms <= FLOOR.keys()
