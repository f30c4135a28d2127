"""Only a mend that can be no other is made, and it is proved."""

from __future__ import annotations

import pytest

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.diagnosis import fault, mended


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
