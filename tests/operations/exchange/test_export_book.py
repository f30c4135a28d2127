"""The book reads from the front: chapters, groups, links inside, headings below its own."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from markdown_it import MarkdownIt

from oneiro_vault.app import App
from tests.operations.conftest import Call, stored
from tests.pictures import encoded


def book(call: Call, place: Path, name: str = "") -> str:
    call("export", format="book", target=str(place))
    return (place / name if name else place).read_text()


def test_chapters_are_in_the_order_a_reader_wants(app: App, call: Call, tmp_path: Path) -> None:
    stored(call, "We sail at five.", type="episodic", created="2026-03-05", title="Departure")
    stored(call, "We sailed at six.", type="episodic", created="2025-12-24", title="Christmas")
    stored(call, "Peter is the captain.", type="entity", title="Peter", kind="person")
    stored(call, "Ask before deleting.", type="principle", title="Ask")
    stored(call, "1. Pull.\n2. Push.", type="procedure", title="Rowing")
    stored(call, "The bar is open.", type="orientation", title="Now")
    for number in range(3):
        stored(call, f"Tide number {number} is high.", tags=["tides"], title=f"Tide {number}")
    stored(call, "The gull is grey.", tags=["birds"], title="Gull")
    old = stored(call, "The boat is called Petrel.", title="Boat")
    call("correct", id=old, text="The boat is called Kittiwake now.")
    text = book(call, tmp_path / "out", "book.md")
    assert re.findall(r"(?m)^#{1,3} (.*)$", text) == [
        "vault", "Orientation", "People and projects", "Person", "Knowledge", "tides",
        "Other subjects", "Procedures", "Principles", "Timeline", "2025-12", "2026-03",
        "What held before", app.house.index.list(status="superseded")[0].created[:7],
    ]  # fmt: skip
    assert text.index("#### Christmas") < text.index("#### Departure")
    assert "replaced by [The boat is called Kittiwake now.](#m-" in text


def test_links_lead_inside_the_book(app: App, call: Call, tmp_path: Path) -> None:
    peter = stored(call, "The captain.", type="entity", title="Peter [the] Great", aliases=["P"])
    stored(call, "See [[P]], [[P|him]], [[Nobody]] and `[[P]]`.\n\n# Part\n\nUnder\n=====\n\n---\n",
           title="Links")  # fmt: skip
    text = book(call, tmp_path / "out.md")
    assert f"See [P](#m-{peter}), [him](#m-{peter}), Nobody and `[[P]]`." in text
    marks = set(re.findall(r'<a id="([^"]+)"></a>', text))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= marks
    tokens = MarkdownIt().parse(text)
    deep = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    assert deep.count(1) == 1  # no note's heading stands above those of the book
    assert "**Part**" in text
    assert "**Under**" in text


def test_pictures_lie_beside_it_or_are_named(app: App, call: Call, tmp_path: Path) -> None:
    picture = {"data": base64.b64encode(encoded()).decode(), "alt": "the boat"}
    stored(call, "Our boat.", images=[picture])
    text = book(call, tmp_path / "out", "book.md")
    (shown,) = re.findall(r"!\[the boat\]\((.*?)\)", text)
    assert (tmp_path / "out" / shown).read_bytes() == encoded()
    found = call("export", format="book", target=str(tmp_path / "one.md"))
    assert (found["attachments"], found["left_beside"]) == (1, 1)
    assert "*(picture: the boat)*" in (tmp_path / "one.md").read_text()


def test_who_wrote_it_is_said_in_words(call: Call, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "boat.md").write_text("She is called Petrel.\n")
    call("import_", path=str(tmp_path / "elsewhere"))
    assert "imported from markdown" in book(call, tmp_path / "book.md")
