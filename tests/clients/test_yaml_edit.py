"""Goose's YAML: our entry goes in so that it comes out byte for byte, whatever the layout."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from oneiro_vault.clients import edit, yaml_edit
from oneiro_vault.clients.edit import Trouble, Want

ENTRY = {
    "name": "oneiro",
    "type": "stdio",
    "enabled": True,
    "cmd": "/opt/a b/oneiro",
    "args": ["mcp", "--vault", "/home/pat/my: vault # é🙂\x7f"],
    "timeout": 300,
}
WANT = Want(("extensions",), ENTRY)
TEXTS = [
    "",
    "\n\n",
    "# mine, without a line end",
    "a: 1",
    "a: 1\r\nb: 2\r\n",
    "---\n# head\na: 1\n...\n",
    "extensions:",
    "extensions:\n",
    "extensions: # none yet\nb: 1\n",
    "extensions: {}\nb: 1\n",
    "extensions: {x: {cmd: y}, }  # brace\n",
    "{a: 1, b: [2]}\n",
    "{}",
    "extensions:\n  a:\n    cmd: x\n  # between\n\n  b: {cmd: y}\n# end\n",
    "z: |\n  text\n\n\nextensions:\n      deep:\n           cmd: |-\n             x\n             y\n",
    'extensions:\n  "oneiro2": {cmd: oneiro}\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_in_and_out_again(text: str) -> None:
    after = yaml_edit.added(text, WANT)
    assert yaml.safe_load(after)["extensions"]["oneiro"] == ENTRY
    assert yaml_edit.current(after, WANT) == ENTRY
    assert yaml_edit.added(after, WANT) == after, "a second time changes nothing"
    assert yaml_edit.dropped(after, WANT) == text
    assert yaml_edit.dropped(text, WANT) == text


def test_a_file_that_only_we_were_in_goes_away() -> None:
    made = yaml_edit.added(None, WANT)
    assert yaml_edit.dropped(made, WANT) is None
    assert yaml_edit.dropped(made + "a: 1\n", WANT) == "a: 1\n"
    assert edit.drop(edit.add("\ufeffa: 1\n", [WANT], "yaml"), [WANT], "yaml") == "\ufeffa: 1\n"


def test_what_a_person_or_goose_itself_wrote_stays() -> None:
    """Goose writes the whole file anew when it is configured: without comments, in its order."""
    made = yaml.safe_load(yaml_edit.added("a: 1\nextensions:\n  b: {cmd: y}\n", WANT))
    made["extensions"]["oneiro"]["timeout"] = 5
    again = yaml.safe_dump(made)
    moved = Want(("extensions",), ENTRY | {"cmd": "/new/oneiro"})
    after = yaml.safe_load(yaml_edit.added(again, moved))
    assert after["extensions"]["oneiro"] == ENTRY | {"cmd": "/new/oneiro", "timeout": 5}
    assert yaml.safe_load(yaml_edit.dropped(again, WANT) or "") == {
        "a": 1,
        "extensions": {"b": {"cmd": "y"}},
    }


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nextensions:\n  oneiro: {cmd: other}\n", 3, 'another server called "oneiro"'),
        ("a: [1\nb: 2\n", 2, "expected ',' or ']'"),
        ("a: 1\n\tb: 2\n", 2, "cannot start any token"),
        ("- a\n- b\n", 1, "should hold a mapping"),
        ("a: 1\n---\nb: 2\n", 2, "but found another document"),
        ("a: \x00", 1, "unacceptable character"),
        ("extensions:\n- no\n", 2, '"extensions" should hold a mapping'),
        ("a: &x {b: 1}\nextensions: *x\n", 1, "written in a way setup cannot"),
        ("extensions: none", 1, '"extensions" should hold a mapping'),
    ],
)
def test_what_cannot_be_edited_is_refused_by_its_place(text: str, line: int, said: str) -> None:
    with pytest.raises(Trouble) as caught:
        yaml_edit.added(text, WANT)
    assert said in str(caught.value)
    assert caught.value.line == line


SCALARS = st.sampled_from([1, True, None, "text", "a: b", "# no", "two\nlines\n", "é🙂", "'", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cmd", "x y", "k", "oneiro"]), inner, max_size=3)
    ),
    max_leaves=6,
)
FILES = st.dictionaries(st.sampled_from(["a", "b", "GOOSE_MODE"]), VALUES, max_size=3)
TABLES = st.dictionaries(st.sampled_from(["developer", "x"]), VALUES, max_size=2)


@pytest.mark.slow
@given(FILES, st.none() | TABLES, st.data())
def test_any_file_comes_back(
    file: dict[str, Any], table: dict[str, Any] | None, data: st.DataObject
) -> None:
    whole = file if table is None else file | {"extensions": table}
    text = yaml.safe_dump(
        whole,
        default_flow_style=data.draw(st.sampled_from([None, True, False])),
        indent=data.draw(st.sampled_from([2, 4, 7])),
        allow_unicode=data.draw(st.booleans()),
        sort_keys=data.draw(st.booleans()),
        line_break=data.draw(st.sampled_from(["\n", "\r\n"])),
        explicit_start=data.draw(st.booleans()),
    )
    text = text.rstrip("\n") if data.draw(st.booleans()) else text
    assume(yaml.safe_load(text) == whole)
    after = yaml_edit.added(text, WANT)
    assert yaml.safe_load(after) == whole | {"extensions": (table or {}) | {"oneiro": ENTRY}}
    assert yaml_edit.dropped(after, WANT) == text
