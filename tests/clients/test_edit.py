"""Putting our entries in and taking them out is the identity, whatever the file looks like;
everything else keeps every character."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from oneiro_vault.clients.edit import Document, Trouble, Want, add, current, drop, hooks, server
from tests.clients import texts

SERVER = Want(
    ("mcpServers",),
    {"type": "stdio"} | server(["/opt/a b/oneiro", "mcp", "--vault", "/home/pat/vault"]),
)
HOOKS = hooks(["/opt/a b/oneiro"], "/home/pat/vault")
ALL = [SERVER, *HOOKS]
TOML = [
    Want(
        ("mcp_servers",),
        server(["/opt/oneiro", "mcp", "--vault", 'C:\\Users\\"pat"\x7f'], startup_timeout_sec=30),
    )
]
MOVED = [
    Want(("mcpServers",), {"type": "stdio"} | server(["/new/oneiro", "mcp", "--vault", "/v2"])),
    *hooks(["/new/oneiro"], "/v2"),
]


def there_and_back(text: str | None, wants: list[Want], style: str) -> tuple[str, str | None]:
    """The text with our entries, and without them again; the way there is also checked to be
    complete and final."""
    inside = add(text, wants, style)
    assert current(inside, wants[0], style) is not None
    assert add(inside, wants, style) == inside, "a second setup changes nothing"
    return inside, drop(inside, wants, style)


def data(text: str) -> Any:
    """What a JSONC text says."""
    return Document(text.removeprefix("\ufeff"), "jsonc").value


def stripped(value: Any) -> Any:
    """What a settings file says, without our entries and without containers that are there for
    them."""
    value = copy.deepcopy(value)
    value.get("mcpServers", {}).pop("oneiro", None)
    for event in [want.path[1] for want in HOOKS]:
        groups = value.get("hooks", {}).get(event, [])
        groups[:] = [group for group in groups if "/opt/a b/oneiro" not in json.dumps(group)]
        if not groups:
            value.get("hooks", {}).pop(event, None)
    return {
        key: item
        for key, item in value.items()
        if not (key in ("hooks", "mcpServers") and item == {})
    }


@pytest.mark.slow
@given(texts.wild(comments=True))
@settings(max_examples=60)
def test_jsonc_of_any_shape_comes_back_byte_for_byte(made: tuple[str, Any]) -> None:
    text, value = made
    inside, after = there_and_back(text, ALL, "jsonc")
    assert after == text
    assert stripped(data(inside)) == stripped(value)
    assert texts.comments(inside) == texts.comments(text)


@given(texts.wild(comments=False) | texts.tidy())
@settings(max_examples=50)
def test_json_of_any_shape_comes_back_byte_for_byte(made: tuple[str, Any]) -> None:
    text, value = made
    inside, after = there_and_back(text, ALL, "json")
    assert after == text
    assert stripped(json.loads(inside.removeprefix("\ufeff"))) == stripped(value), (
        "and a plain JSON reader can read it"
    )


@pytest.mark.slow
@given(texts.tidy())
@settings(
    suppress_health_check=[HealthCheck.filter_too_much]
)  # how many are filtered out is chance
def test_what_a_program_wrote_is_extended_in_its_own_layout(made: tuple[str, Any]) -> None:
    text, value = made
    assume("\n  " in text and value)
    inside = add(text, [SERVER], "json")
    indents = {len(line) - len(line.lstrip(" ")) for line in inside.splitlines()}
    unit = min(indents - {0})
    assert all(indent % unit == 0 for indent in indents)
    assert ("\r\n" in text) == ("\r\n" in inside)
    assert len(re.findall("(?<!\r)\n", inside)) == (0 if "\r\n" in text else inside.count("\n"))


@given(texts.wild(comments=True), st.sampled_from(["before", "server", "hook", "group"]))
@settings(max_examples=50)
def test_what_a_person_adds_in_between_stays(made: tuple[str, Any], where: str) -> None:
    """Our entries are no longer where we put them, or no longer the first: only they go."""
    text, _ = made
    inside = add(text, ALL, "jsonc")
    mark = "\ufeff" if inside.startswith("\ufeff") else ""
    document = Document(inside.removeprefix(mark), "jsonc")
    at = {
        "before": document.root,
        "server": document.container(SERVER, 1),
        "hook": document.container(HOOKS[0], 1),
        "group": document.container(HOOKS[0], 2),
    }[where]
    assert at is not None
    edited = mark + document.inserted(at, "" if where == "group" else "theirs", {"theirs": 1})
    after = drop(edited, ALL, "jsonc")
    assert after is not None
    assert "oneiro mcp" not in after
    assert "/opt/a b/oneiro" not in after
    found, kept = data(after), data(edited)
    assert "theirs" in json.dumps(found)
    assert stripped(found) == stripped(kept)
    assert texts.comments(after) == texts.comments(text)


@given(texts.toml())
@settings(max_examples=60)
@example("x = 1")
@example("\ufeff")
@example('[mcp_servers]\nfiles = { command = "x" }\n')
def test_toml_comes_back_byte_for_byte(text: str) -> None:
    try:
        before = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        assume(False)
    inside, after = there_and_back(text, TOML, "toml")
    assert after == text
    found = tomllib.loads(inside.removeprefix("\ufeff"))
    assert found["mcp_servers"].pop("oneiro") == TOML[0].entry
    before.setdefault("mcp_servers", {})
    assert found == before


@given(
    texts.toml(),
    st.sampled_from(
        [
            "[theirs]\nx = 1\n",
            "# theirs\n",
            "\n\n[theirs]",
            '[mcp_servers.oneiro.tools]\nx = "ours by name"\n',
        ]
    ),
)
def test_toml_a_person_adds_below_stays(text: str, more: str) -> None:
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        assume(False)
    after = drop(add(text, TOML, "toml") + more, TOML, "toml")
    assert after is not None
    ours = more.startswith("[mcp_servers.oneiro")
    assert after.startswith(text)
    assert ("theirs" in after) is not ours
    assert tomllib.loads(after.removeprefix("\ufeff")).get("mcp_servers", {}).get("oneiro") is None


@pytest.mark.parametrize("style", ["json", "jsonc", "toml"])
def test_no_file_before_is_no_file_after(style: str) -> None:
    wants = TOML if style == "toml" else ALL
    inside, after = there_and_back(None, wants, style)
    assert after is None
    assert inside.endswith("\n")
    if style != "toml":
        assert inside == json.dumps(json.loads(inside), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("text", ["", "\n", " \r\n ", "\ufeff", "{}", "{}\n", "{ }", "{\n}\n"])
def test_a_file_that_says_nothing_comes_back(text: str) -> None:
    assert there_and_back(text, ALL, "json")[1] == text


@pytest.mark.parametrize(
    "text",
    [
        '{"hooks": {}}',
        '{"mcpServers": { }, "hooks": {"SessionStart": []}}',
        '{\n  "hooks": {\n    // later\n  }\n}',
        '{"hooks": {"Stop": [ ]}}',
    ],
)
def test_containers_that_were_empty_are_empty_again(text: str) -> None:
    assert there_and_back(text, ALL, "jsonc")[1] == text


def test_a_file_we_made_and_somebody_used_stays() -> None:
    inside = add(None, ALL, "json").replace("{", '{\n  "theme": "dark",', 1)
    assert json.loads(drop(inside, ALL, "json") or "") == {"theme": "dark"}
    commented = add(None, ALL, "jsonc") + "// mine\n"
    assert drop(commented, ALL, "jsonc") == "{}\n// mine\n"


def test_another_vault_moves_our_entries_and_keeps_what_was_added_to_them() -> None:
    text = '{\n    "theme": "dark"\n}'
    inside = add(text, ALL, "json")
    tuned = inside.replace('"timeout": 5', '"timeout": 55').replace(
        '"type": "stdio",', '"env": {"A": "1"},\n            "type": "stdio",'
    )
    moved = add(tuned, MOVED, "json")
    assert moved.count("/new/oneiro") == len(ALL)
    assert "/opt/a b" not in moved
    assert '"timeout": 55' in moved
    assert json.loads(moved)["mcpServers"]["oneiro"]["env"] == {"A": "1"}
    assert list(json.loads(moved)["mcpServers"]["oneiro"]) == ["env", "type", "command", "args"]
    assert add(moved, MOVED, "json") == moved
    assert drop(moved, ALL, "json") == text


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{\n  "mcpServers": {\n    %s,\n  },\n  "a": 1,\n}', '{\n  "a": 1,\n}'),
        (
            '{\n  "mcpServers": {\n    "b": {},\n    %s,\n  },\n}',
            '{\n  "mcpServers": {\n    "b": {},\n  },\n}',
        ),
        ('{"mcpServers": {"b": {}, %s, }}', '{"mcpServers": {"b": {}, }}'),
        ('{"mcpServers": {"b": {}, // c\n %s}}', '{"mcpServers": {"b": {} // c\n }}'),
    ],
)
def test_an_entry_last_in_its_container_goes_with_its_comma(text: str, after: str) -> None:
    ours = '"oneiro": {"command": "oneiro", "args": ["mcp"]}'
    found = drop(text % ours, [SERVER], "jsonc")
    assert found is not None
    assert data(found) == data(after)
    assert found.replace(" ", "") == after.replace(" ", "")


def test_a_hook_somebody_put_into_our_group_stays() -> None:
    inside = add("{}", ALL, "json")
    changed = json.loads(inside)
    changed["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "mine"})
    edited = json.dumps(changed, indent=2)
    after = json.loads(drop(edited, ALL, "json") or "")
    assert after == {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_toml_written_by_hand_is_known_and_moved_and_removed() -> None:
    text = (
        '[mcp_servers.oneiro] # mine\nargs = [\n "mcp", # x\n]\ncommand = "oneiro"\nenabled = '
        'false\n\n[mcp_servers.oneiro.env]\nA = "1"\n[z]\n'
    )
    moved = add(text, TOML, "toml")
    assert tomllib.loads(moved)["mcp_servers"]["oneiro"] == {
        "enabled": False,
        "env": {"A": "1"},
    } | server(["/opt/oneiro", "mcp", "--vault", 'C:\\Users\\"pat"\x7f'])
    assert "enabled = false" in moved
    assert drop(moved, TOML, "toml") == "\n[z]\n", "at the end now, as setup writes it"


@pytest.mark.parametrize(
    "text",
    [
        'a = 1\nmcp_servers.oneiro.command = "oneiro"\nmcp_servers.oneiro.args = ["mcp"]\n',
        '[mcp_servers]\noneiro = { command = "oneiro", args = ["mcp"] }\nb = { command = "b" }\n',
    ],
)
def test_an_entry_that_is_no_table_of_its_own_is_left_to_the_person(text: str) -> None:
    for act in (add, drop):
        with pytest.raises(Trouble, match="cannot take out"):
            act(text, TOML, "toml")


BROKEN: list[tuple[str, str, int, int, str]] = [
    ("json", '{"a": 1,\n  "b" 2}', 2, 7, "':'"),
    ("json", '{\n  "a": 1, // note\n}', 2, 11, "Expecting"),
    ("json", '{"a": [1, 2,]}', 1, 13, "Expecting"),
    ("json", "\ufeff[]", 1, 1, "should hold an object"),
    ("json", '{"mcpServers": []}', 1, 16, "should hold an object"),
    ("json", '{"hooks": {"SessionStart": {}}}', 1, 28, "should hold an array"),
    (
        "json",
        '{"mcpServers": {"oneiro": {"command": "npx", "args": ["oneiro-something", "mcp"]}}}',
        1,
        17,
        "another server",
    ),
    ("jsonc", "{ /* never ends", 1, 3, "nothing"),
    ("jsonc", '{"a": "\n"}', 1, 8, "control character"),
    ("json", "[" * 5000, 1, 1, "recursion"),
    ("toml", "a = 1\nb = [1,\n", 3, 1, ""),
    ("toml", "a = 1\na = 2\n", 2, 6, ""),
    ("toml", "x = 1\nmcp_servers = { files = { command = 'f' } }\n", 2, 1, "inline table"),
    ("toml", "[mcp_servers.oneiro]\ncommand = 'other'\n", 1, 14, "another server"),
]


@pytest.mark.parametrize(("style", "text", "line", "column", "what"), BROKEN)
def test_what_cannot_be_edited_is_refused_with_its_place(
    style: str, text: str, line: int, column: int, what: str
) -> None:
    with pytest.raises(Trouble) as caught:
        add(text, TOML if style == "toml" else ALL, style)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert re.search(what, str(caught.value)) or what == "nothing"


def test_nothing_of_ours_means_nothing_changes() -> None:
    text = (
        '{"mcpServers": {"oneiro": {"command": "someone-elses"}}, "hooks": {"SessionStart": '
        '[{"hooks": [{"command": "x"}]}, 3, {"hooks": 4}]}}'
    )
    assert drop(text, ALL, "json") == text
    assert current(text, SERVER, "json") is None
    assert drop("", ALL, "json") == ""
    assert current(" ", SERVER, "json") is None
