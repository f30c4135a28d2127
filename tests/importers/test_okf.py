"""Bundles that other programs made, of both versions, with what trips a reader up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from oneiro_vault.importers import okf
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.records import Note, Skipped

INDEX = '---\nokf_version: "0.2"\n---\n# Shop\n'
BUNDLE = {
    "index.md": INDEX,
    "log.md": "# Log\n\n## 2026-01-01\n",
    "tables/index.md": "# Tables\n",
    "tables/orders.md": (
        "---\ntype: BigQuery Table\ntitle: Orders\ndescription: One row an order.\n"
        "resource: bq://shop.orders\ntags: [sales, core]\ncreated: 2025-01-02\n"
        'generated: {by: "human:ana", at: "2026-02-03T04:05:06Z"}\n'
        'verified: {by: "human:bo", at: 2026-02-04}\nstatus: deprecated\nstale_after: 2026-09-01\n'
        "sources:\n  - {resource: https://shop.example/spec, id: spec, title: Spec}\n"
        "source: nightly crawl\nid: 42\nowner: sales\ncore: true\n---\n"
        "Joins [customers](/tables/customers%20%C3%BC.md#keys) and [gone](/no/such.md), "
        "see [the index](index.md), `[c](/tables/customers%20%C3%BC.md)`.[^spec]\n"
    ),
    "tables/customers ü.md": "---\ntype: semantic\n---\n# Customers\n\nBack to [](orders.md).\n",
    "blank.md": "---\ntype: ''\n---\nNo type.\n",
    "none.md": "No block at all.\n",
    "broken.md": "---\ntype: [\n---\nx\n",
    "Index.MD": "---\ntype: playbook\n---\nNot the index.\n",
    "orders.csv": "a,b\n",
}


def read(folder: Path, files: dict[str, str]) -> tuple[dict[str, Note], list[Skipped]]:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    with Archive.at(folder) as archive:
        found = list(okf.read(archive))
    notes = {one.path: one for one in found if isinstance(one, Note)}
    return notes, [one for one in found if isinstance(one, Skipped)]


def test_a_bundle_of_another_program(tmp_path: Path) -> None:
    notes, skipped = read(tmp_path, BUNDLE)
    assert [one.where for one in skipped] == ["broken.md"]
    assert notes.keys() == {
        "tables/orders.md", "tables/customers ü.md", "blank.md", "none.md", "Index.MD",
    }  # fmt: skip
    orders = notes["tables/orders.md"]
    assert (orders.id, orders.title, orders.trust, orders.data) == (
        "tables/orders", "Orders", "external", None,
    )  # fmt: skip
    assert orders.at == datetime(2025, 1, 2, tzinfo=UTC)
    assert orders.updated == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    meta = dict(orders.meta)
    assert meta["type"] == "semantic"
    assert meta["kind"] == "BigQuery Table"
    assert meta["status"] == "archived"
    assert str(meta["valid_until"]).startswith("2026-09-01")
    assert meta["tags"] == ["sales", "core"]
    assert meta["resource"] == "bq://shop.orders"
    assert meta["owner"] == "sales"
    assert meta["sources"] == [
        {"resource": "https://shop.example/spec", "id": "spec", "title": "Spec"}
    ]
    assert meta["verified"] == {"by": "human:bo", "at": "2026-02-04"}
    # what means something else here is kept under another name, and claims nothing
    assert (meta["okf_source"], meta["okf_id"], meta["okf_core"]) == ("nightly crawl", 42, True)
    assert not {"source", "id", "core"} & meta.keys()
    # links go by title, broken ones and code stay
    assert "[[Customers|customers]] and [gone](/no/such.md)" in orders.text
    assert "see [the index](index.md), `[c](/tables/customers%20%C3%BC.md)`" in orders.text
    assert notes["tables/customers ü.md"].text.endswith("Back to [[Orders]].\n")
    assert notes["blank.md"].meta["type"] == notes["none.md"].meta["type"] == "semantic"
    assert "kind" not in notes["blank.md"].meta


def test_the_first_version_has_one_date_and_citations(tmp_path: Path) -> None:
    text = (
        "---\ntype: Note\ntimestamp: 2025-06-01T10:00:00Z\n---\nSaid.\n\n## Citations\n\n"
        "1. [Spec](https://shop.example/spec)\n2. ![no](pic.png)\n\n## After\n\n[x](https://y.z)\n"
    )
    notes, _ = read(tmp_path, {"index.md": INDEX.replace("0.2", "0.1"), "a.md": text})
    note = notes["a.md"]
    assert note.at == note.updated == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert note.meta["sources"] == [{"resource": "https://shop.example/spec", "title": "Spec"}]


def test_pictures_are_found_from_the_top_and_from_beside(tmp_path: Path) -> None:
    files = {
        "index.md": INDEX, "img/a b.png": "x", "t/c.png": "x",
        "t/n.md": "---\ntype: x\n---\n![a](/img/a%20b.png) ![c](c.png) ![d](gone.png)\n",
    }  # fmt: skip
    notes, _ = read(tmp_path, files)
    assert sorted(notes["t/n.md"].pictures.values()) == ["img/a b.png", "t/c.png"]


def test_only_a_bundle_says_that_it_is_one(tmp_path: Path) -> None:
    cases = [(INDEX, True), ("# Just an index\n", False), ("---\nokf_version: [\n---\n", False)]
    for number, (text, known) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "index.md").write_text(text)
        with Archive.at(folder) as archive:
            assert okf.recognises(archive) is known
    with Archive.at(tmp_path) as archive:  # an index further down is no bundle's
        assert not okf.recognises(archive)


def test_a_stamp_of_a_wrong_shape_stops_no_other(tmp_path: Path) -> None:
    files = {
        "index.md": INDEX,
        "a.md": "---\ntype: x\noneiro: {version: 1, kept: [no]}\n---\nx\n",
        "b.md": "---\ntype: x\noneiro: {version: 9, added: [type]}\n---\nlater\n",
        "c.md": "---\ntype: x\noneiro: {version: 1, added: [type]}\n---\nours\n",
    }
    notes, skipped = read(tmp_path, files)
    assert [one.where for one in skipped] == ["a.md"]
    assert (notes["b.md"].data, notes["c.md"].data) == (None, b"ours\n")
