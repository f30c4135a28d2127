"""Obsidian opens the vault: links go where it would take them. What it does is written down here
as a resolver of its own, from its documentation, and compared with the index, case by case."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.markdown import parser
from tests.copies import new_vault
from tests.operations.conftest import QUICK

if TYPE_CHECKING:
    from oneiro_vault.answers import Graphed

FILES = {
    "entities/Peter Novak.md": "---\ntype: entity\naliases: [Pete]\n---\nWrites.\n\n- works_for [[WOBS]]\n",
    "entities/WOBS.md": "---\ntype: entity\n---\n# WOBS\n\nBuilds links.\n\n## Who works there\n\nFour. ^four\n",
    "entities/Überblick.md": "---\ntype: entity\n---\nA project.\n",
    "projects/anderson/Order.md": "---\ntype: entity\ntitle: Anderson order\n---\nTwelve articles.\n",
    "projects/miller/Brief.md": "# Brief\n\nShort.\n",
    "notes/2026.05 plan.md": "# Plan\n\nA plan.\n",
    "Home.md": "# Home\n\nEverything.\n",
}
CASES = [
    ("Home.md", "[[WOBS]]", "entities/WOBS.md"),
    ("Home.md", "[[wobs]]", "entities/WOBS.md"),
    ("Home.md", "[[WOBS.md]]", "entities/WOBS.md"),
    ("Home.md", "[[entities/WOBS]]", "entities/WOBS.md"),
    ("Home.md", "[[entities/WOBS.md|the firm]]", "entities/WOBS.md"),
    ("Home.md", "[[WOBS#Who works there]]", "entities/WOBS.md"),
    ("Home.md", "[[WOBS#WOBS#Who works there]]", "entities/WOBS.md"),
    ("Home.md", "[[WOBS#^four]]", "entities/WOBS.md"),
    ("Home.md", "![[WOBS#^four]]", "entities/WOBS.md"),
    ("Home.md", "[[Peter Novak|Pete]]", "entities/Peter Novak.md"),
    ("Home.md", "[[Peter Novak]]'s", "entities/Peter Novak.md"),
    ("Home.md", "[[anderson/Order]]", "projects/anderson/Order.md"),
    ("Home.md", "[[Order|Anderson order]]", "projects/anderson/Order.md"),
    ("Home.md", "[[überblick]]", "entities/Überblick.md"),
    ("Home.md", "[[2026.05 plan]]", "notes/2026.05 plan.md"),
    ("Home.md", "[Pete](entities/Peter%20Novak.md)", "entities/Peter Novak.md"),
    ("Home.md", "[Pete](<entities/Peter Novak.md>)", "entities/Peter Novak.md"),
    ("Home.md", "[firm](entities/WOBS.md#Who%20works%20there)", "entities/WOBS.md"),
    ("projects/miller/Brief.md", "[[../anderson/Order]]", "projects/anderson/Order.md"),
    ("projects/miller/Brief.md", "[other](../anderson/Order.md)", "projects/anderson/Order.md"),
    ("projects/miller/Plan.md", "[[./Brief]]", "projects/miller/Brief.md"),
    ("Home.md", "[[#Home]]", ""),
    ("Home.md", "[[Nobody]]", ""),
    ("Home.md", "`[[WOBS]]`", ""),
    ("Home.md", "[web](https://example.org/WOBS.md)", ""),
]
"""(where it stands, what is written, the file Obsidian opens: "" for none but its own)"""
_LINK = re.compile(
    r"!?\[\[([^\]|#]*)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]|!?\[[^\]]*\]\(<?([^)>#]+)>?(?:#[^)]*)?\)"
)


def obsidian(source: str, written: str, files: Mapping[str, str] = FILES) -> str:
    """The file that a link opens: relative to where it stands if it begins with a dot, a whole path,
    the end of one, a file's name anywhere; letters' case does not matter, aliases name nothing."""
    found = _LINK.search(written)
    if found is None or "`" in written or "://" in written:
        return ""
    target = (found[1] or found[2] or "").replace("%20", " ").strip().removesuffix(".md")
    if target.startswith("."):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    wanted = target.casefold()
    paths = {path.removesuffix(".md").casefold(): path for path in files if path != source}
    fitting = [own for own in paths if own == wanted or own.endswith(f"/{wanted}")]
    return paths[min(fitting, key=len)] if wanted and fitting else ""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    root = tmp_path_factory.mktemp("obsidian") / "vault"
    new_vault(root)
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    with App.open(root, QUICK) as opened:
        yield opened


@pytest.mark.parametrize(("source", "written", "opens"), CASES)
def test_a_link_goes_where_obsidian_takes_it(
    app: App, source: str, written: str, opens: str
) -> None:
    assert obsidian(source, written) == opens, "the list itself"
    alone = Path(source).with_name("Only this.md").as_posix()
    (app.house.vault.root / alone).write_text(f"# Only this\n\n{written}\n", "utf-8")
    app.house.indexing.reconcile()
    index = app.house.index
    row = next(one for one in index.list(limit=1000) if one.path == alone)
    ends = {edge.target for edge in index.neighbours([row.key]) if edge.source == row.key}
    assert {one.path for one in index.rows(ends).values()} - {alone} == (
        {opens} if opens else set()
    )


def test_a_heading_and_a_block_are_kept_apart_from_the_name() -> None:
    links = parser.parse("See [[WOBS#Who works there|them]] and [[WOBS#^four]].").links
    assert [(one.target, one.heading, one.label) for one in links] == [
        ("WOBS", "Who works there", "them"),
        ("WOBS", "^four", ""),
    ]


def test_an_alias_finds_its_note_here_and_stays_readable_there(app: App) -> None:
    found = app.call("graph", {"name": "Pete"})
    assert found["nodes"][0]["path"] == "entities/Peter Novak.md"
    assert obsidian("Home.md", "[[Pete]]") == "", "Obsidian writes [[Peter Novak|Pete]]"


def test_a_bare_name_opens_what_a_machine_filed(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", QUICK) as opened:
        items = [
            {"text": "Writes.", "title": "Peter Novak", "type": "entity"},
            {"text": "Ask [[Peter Novak]] first.", "title": "Whom to ask"},
        ]
        entity, note = opened.call("remember", {"items": items})["results"]
        paths = {entity["path"]: "", note["path"]: ""}
        assert obsidian(note["path"], "[[Peter Novak]]", paths) == entity["path"]
        links = opened.call("show", {"id": note["id"]})["links"]
        assert [one["id"] for one in links] == [entity["id"]]


def test_the_canvas_names_files_that_are_there(app: App) -> None:
    from oneiro_vault.core.markdown.diagrams import canvas

    found = cast("Graphed", app.call("graph", {"name": "Peter Novak", "depth": 2}))
    drawn = json.loads(canvas(found))
    files = {node["file"] for node in drawn["nodes"] if node["type"] == "file"}
    assert {"entities/Peter Novak.md", "entities/WOBS.md"} <= files
    assert all((app.house.vault.root / file).is_file() for file in files)
