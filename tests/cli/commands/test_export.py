"""export from the command line, and what stats draws."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.box import Box


def test_an_export_says_what_it_did_and_did_not(fresh: Box) -> None:
    box = fresh.init()
    box.remember("The harbour is deep.")
    said = box.ok("export", "jsonl", "out.jsonl")
    assert said.splitlines()[0] == f"Exported 1 memory to {box.folder / 'out.jsonl'}"
    found = box.json("export", "okf", "bundle", "--type", "semantic", "--archived")
    assert (found["memories"], found["target"]) == (1, str(box.folder / "bundle"))
    assert (box.folder / "bundle" / "index.md").read_text().startswith("---\nokf_version")
    again = box("export", "book", "bundle/log.md")
    assert again.returncode == 2
    assert b"no export made it" in again.stderr
    assert box("export", "pdf", "x").returncode == 2
    site = box.json("export", "site", "pages.zip", "--since", "2020")
    assert (site["format"], site["memories"]) == ("site", 1)
    assert (box.folder / "pages.zip").stat().st_size > 10_000
    nothing = box("export", "site", "none", "--tag", "mountain")
    assert b"no memory fits" in nothing.stderr
    assert not (box.folder / "none").exists()


def test_stats_are_drawn(fresh: Box) -> None:
    box = fresh.init()
    assert box.ok("stats", "--plot").count("nothing yet") == 5
    box.ok("show", box.remember("The harbour is deep.")["id"])
    text = box.ok("stats", "--plot")
    assert "1 memory" in text
    assert "looked at otherwise" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Wrote" in box.ok("stats", "--svg", "all.svg")
    drawn = (box.folder / "all.svg").read_text()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert box.ok("stats", "--svg", "-").strip() == drawn.strip()
    assert box.json("stats", "--plot")["lasting"] == 0
