"""Broken frontmatter hides no word, gives nobody any trust, and brings nothing back into
service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.salvage import fault, mended, salvage
from oneiro_vault.core.memory import Memory, parse
from oneiro_vault.errors import UnreadableNote

BODY = "The keel was painted in May.\n"


def of(head: str, body: str = BODY, former: Memory | None = None) -> Memory:
    """What is salvaged of a note with this block, which must be one that cannot be read."""
    data = f"---\n{head}---\n{body}".encode()
    with pytest.raises(UnreadableNote):
        parse("n/File.md", data)
    return salvage("n/File.md", data, former)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("title: ADR-1: use UTC\n", "ADR-1: use UTC"),
        ("title: @name\n", "@name"),
        ("title: %percent\n", "%percent"),
        ("title: `code` first\n", "`code` first"),
        ('title: "never closed\n', "never closed"),
        ('title: "a" and more\n', '"a" and more'),
        ("title: Good\ntags: [a, b\n", "Good"),
        ("title: Good\ntitle: Other\n", "Good"),
        ("title: Good\n\tdate: 2024-03-05\n", "Good"),
        ("title: [unclosed\n", "[unclosed"),
        ("title:Glued\ndate: 2024-03-05\n", "Glued"),
        ("title: {{title}}\n", "{{title}}"),
        ("title: &anchor here\n", "&anchor here"),
        ("title: Good\n@name\n", "Good"),
        ("title: !tag x\n", "!tag x"),
        ("date: @x\n", "File"),
    ],
)
def test_the_title_of_a_broken_block(head: str, title: str) -> None:
    found = of(head)
    assert found.title == title
    assert BODY.strip() in found.body
    assert (found.problems, found.trust, found.type, found.core, found.id) == (
        ("frontmatter",),
        "external",
        "note",
        False,
        "",
    )


def test_what_else_single_lines_say() -> None:
    head = (
        "title: a: b\nDate: 2024-03-05 10:00\ntags:\n  - sea\n  - boat/keel\naliases: [Kiel, "
        "Rumpf\nupdated: 2024-04-01\nmood: {x\n"
    )
    found = of(head)
    assert (found.title, found.created[:10], found.timestamp[:10]) == (
        "a: b",
        "2024-03-05",
        "2024-04-01",
    )
    assert (found.tags, found.aliases) == (("sea", "boat/keel"), ("Kiel", "Rumpf"))
    assert of("title: a: b\ntags: one, two\n").tags == ("one", "two")
    assert of("title: a: b\ntags: #one\n").tags == ()


def test_nothing_that_would_raise_it_is_believed() -> None:
    head = (
        "title: a: b\nid: 0123456789ab\ntype: orientation\ntrust: user\nsource: user\ncore: true\n"
        "status: active\npriority: 9\n"
    )
    found = of(head)
    assert (found.id, found.type, found.trust, found.core, found.status, found.priority) == (
        "",
        "note",
        "external",
        False,
        "active",
        None,
    )


@pytest.mark.parametrize(
    "line",
    [
        "status: pending",
        "status: 'pending",
        "Status: Pending # by hand",
        "status: active\nstatus: pending",
    ],
)
def test_what_was_out_of_service_stays_so(line: str) -> None:
    assert of(f"title: a: b\n{line}\n").status == "pending"


def test_the_last_good_version_says_whose_it_is() -> None:
    good = parse(
        "n/File.md",
        b"---\nid: 0123456789ab\ntype: semantic\ntitle: Keel\ntrust: model\nsource: model\ntags: "
        b"[sea]\n---\nOld.\n",
    )
    found = of(
        "id: 0123456789ab\ntype: orientation\ntitle: The keel: painted\ntrust: user\ncore: true\n",
        former=good,
    )
    assert (found.id, found.type, found.trust, found.core) == (
        "0123456789ab",
        "semantic",
        "model",
        False,
    )
    assert (found.title, found.tags, found.body) == ("The keel: painted", ("sea",), BODY)
    assert of("mood: @x\n", former=good).title == "Keel"
    assert of("title: a: b\n", former=replace(good, status="superseded")).status == "superseded"


def test_a_block_that_is_never_closed_keeps_all_words() -> None:
    data = (
        b"---\ntitle: Harbour\ntags: [sea]\n\n# Harbour\n\nThe crane is broken.\n\n---\n\nAnd the "
        b"pier too.\n"
    )
    with pytest.raises(UnreadableNote):
        parse("x.md", data)
    found = salvage("x.md", data)
    assert (found.title, found.tags) == ("Harbour", ("sea",))
    assert "The crane is broken." in found.body
    assert "And the pier too." in found.body
    data = b"---\ntitle: Harbour\nThe crane is broken.\n"
    assert salvage("x.md", data).body == "The crane is broken.\n"


def test_other_encodings() -> None:
    found = salvage(
        "x.md", "---\r\ntitle: Größe\r\ntags: [maß]\r\n---\r\nÜber Öl.\r\n".encode("cp1252")
    )
    assert (found.title, found.tags, found.body, found.problems) == (
        "Größe",
        ("maß",),
        "Über Öl.\r\n",
        ("encoding",),
    )
    assert salvage("x.md", "Grüße vom Meer".encode("utf-16")).body == "Grüße vom Meer"


@pytest.mark.parametrize(
    "data", [b"a\0b", b"---\ntitle: x\n---\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"]
)
def test_what_stays_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableNote):
        salvage("x.md", data)


def test_a_page_about_merges_is_read_when_nothing_better_is_known() -> None:
    data = b"How to merge:\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"
    assert salvage("x.md", data, unmerged=True).body == data.decode()


def test_what_is_always_loaded_keeps_its_last_good_version() -> None:
    block = parse(
        "o.md", b"---\nid: 0123456789ab\ntype: orientation\ntitle: Team\n---\nFour people.\n"
    )
    with pytest.raises(UnreadableNote):
        salvage("o.md", b"---\ntitle: a: b\n---\nFive.\n", block)


@pytest.mark.parametrize(
    ("line", "quoted"),
    [
        ("title: ADR-1: use UTC", 'title: "ADR-1: use UTC"'),
        ("title: @name", 'title: "@name"'),
        ('title:  %x \\ "y"  ', 'title:  "%x \\\\ \\"y\\""  '),
        ("title: `code`", 'title: "`code`"'),
        ("title: {{title}}", 'title: "{{title}}"'),
        ("title: *bold* words", 'title: "*bold* words"'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_value_gets_quotes_and_nothing_else_changes(line: str, quoted: str, end: str) -> None:
    text = end.join(
        ["\ufeff---", "# mine", "tags: [a,  b]", line, "mood:   'x'", "---", "Body: @all", ""]
    )
    done = mended(text.encode())
    assert done is not None
    assert done.decode() == text.replace(line, quoted)
    assert yaml_block.read(done.decode())[0]["title"] == line.partition(":")[2].strip()


@pytest.mark.parametrize(
    "head",
    [
        "title: fine", 'title: "never closed', "tags: [a, b", "title: a\ntitle: b",
        "title: x\n\ttags: y", "title: a: b # said", "title: a: b\n- x: [",
        "@name", "title: a: b\ntitle: c", "key: |\n  a: b\n c: d",
    ],
)  # fmt: skip
def test_what_could_be_meant_otherwise_is_left_alone(head: str) -> None:
    assert mended(f"---\n{head}\n---\nBody.\n".encode()) is None
    assert mended(f"---\n{head}\nBody.\n".encode()) is None


def test_other_faults() -> None:
    assert fault(b"---\ntitle: fine\n---\n") is None
    wrong = fault("Größe".encode("utf-16"))
    assert wrong is not None
    assert (wrong.mend, wrong.line, mended("Größe".encode("utf-16"))) == (
        "save the file as UTF-8",
        None,
        None,
    )
