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

from oneiro_vault.clients.edit import splice
from oneiro_vault.clients.edit.entries import Want, hooks, server
from oneiro_vault.clients.edit.insert import add, current, drop
from oneiro_vault.clients.edit.jsonc import Document
from oneiro_vault.clients.edit.trace import Trace, Trouble
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
    trace = Trace(existed=text is not None)
    inside = add(text, wants, style, trace)
    assert all(current(inside, want, style) is not None for want in wants)
    again = copy.deepcopy(trace)
    assert add(inside, wants, style, again) == inside, "a second setup changes nothing"
    assert again == trace
    return inside, drop(inside, wants, style, Trace(**json.loads(json.dumps(trace.to_dict()))))


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
@settings(max_examples=60, deadline=None)
def test_jsonc_of_any_shape_comes_back_byte_for_byte(made: tuple[str, Any]) -> None:
    text, value = made
    inside, after = there_and_back(text, ALL, "jsonc")
    assert after == text
    assert stripped(Document(inside).root.value()) == stripped(value)
    assert texts.comments(inside) == texts.comments(text)


@given(texts.wild(comments=False) | texts.tidy())
@settings(max_examples=50, deadline=None)
def test_json_of_any_shape_comes_back_byte_for_byte(made: tuple[str, Any]) -> None:
    text, value = made
    inside, after = there_and_back(text, ALL, "json")
    assert after == text
    assert stripped(json.loads(inside.removeprefix("\ufeff"))) == stripped(value), (
        "and a plain JSON reader can read it"
    )


@given(texts.tidy())
@settings(
    deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)  # how many are filtered out is chance
def test_what_a_program_wrote_is_extended_in_its_own_layout(made: tuple[str, Any]) -> None:
    text, value = made
    assume("\n  " in text and value)
    inside = add(text, [SERVER], "json", Trace())
    indents = {len(line) - len(line.lstrip(" ")) for line in inside.splitlines()}
    unit = min(indents - {0})
    assert all(indent % unit == 0 for indent in indents)
    assert ("\r\n" in text) == ("\r\n" in inside)
    assert len(re.findall("(?<!\r)\n", inside)) == (0 if "\r\n" in text else inside.count("\n"))


@given(texts.wild(comments=True), st.sampled_from(["before", "after", "server", "hook", "group"]))
@settings(max_examples=50, deadline=None)
def test_what_a_person_adds_in_between_stays(made: tuple[str, Any], where: str) -> None:
    """Our entries are no longer where we put them, or no longer the last: only they go."""
    text, _ = made
    trace = Trace()
    inside = add(text, ALL, "jsonc", trace)
    document = Document(inside)
    places: dict[str, tuple[Any, str]] = {"after": (document.root, "theirs")}
    servers = document.root.get("mcpServers")
    events = document.root.get("hooks")
    assert servers is not None
    assert events is not None
    starts = events.node.get("SessionStart")
    assert starts is not None
    places["server"] = servers.node, "theirs"
    places["hook"] = events.node, "theirs"
    places["group"] = starts.node, ""
    if where == "before":
        edited = (
            inside[: document.root.start + 1] + '"theirs": 1,' + inside[document.root.start + 1 :]
        )
    else:
        edited = splice.insert(document, places[where][0], {"theirs": 1}, places[where][1])
    after = drop(edited, ALL, "jsonc", trace)
    assert after is not None
    assert "oneiro mcp" not in after
    assert "/opt/a b/oneiro" not in after
    found = Document(after).root.value()
    kept = Document(edited).root.value()
    assert "theirs" in json.dumps(found)
    assert stripped(found) == stripped(kept)
    assert texts.comments(after) == texts.comments(text)


@given(texts.toml())
@settings(max_examples=60, deadline=None)
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
@settings(deadline=None)
def test_toml_a_person_adds_below_stays(text: str, more: str) -> None:
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        assume(False)
    trace = Trace()
    after = drop(add(text, TOML, "toml", trace) + more, TOML, "toml", trace)
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


def test_a_removal_without_its_trace_leaves_no_entry_and_valid_json() -> None:
    inside = add(None, ALL, "json", Trace())
    after = drop(inside, ALL, "json", Trace())
    assert json.loads(after or "") == {
        "mcpServers": {},
        "hooks": {want.path[1]: [] for want in HOOKS},
    }


def test_a_file_we_made_and_somebody_used_stays() -> None:
    trace = Trace(existed=False)
    inside = add(None, ALL, "json", trace).replace("{", '{\n  "theme": "dark",', 1)
    assert json.loads(drop(inside, ALL, "json", trace) or "") == {"theme": "dark"}
    commented = add(None, ALL, "jsonc", trace := Trace(existed=False)) + "// mine\n"
    assert drop(commented, ALL, "jsonc", trace) == "{}\n// mine\n"


def test_another_vault_moves_our_entries_and_keeps_what_was_added_to_them() -> None:
    trace = Trace()
    text = '{\n    "theme": "dark"\n}'
    inside = add(text, ALL, "json", trace)
    tuned = inside.replace('"timeout": 5', '"timeout": 55').replace(
        '"type": "stdio",', '"env": {"A": "1"},\n            "type": "stdio",'
    )
    moved = add(tuned, MOVED, "json", trace)
    assert moved.count("/new/oneiro") == len(ALL)
    assert "/opt/a b" not in moved
    assert '"timeout": 55' in moved
    assert json.loads(moved)["mcpServers"]["oneiro"]["env"] == {"A": "1"}
    assert list(json.loads(moved)["mcpServers"]["oneiro"]) == ["env", "type", "command", "args"]
    assert add(moved, MOVED, "json", trace) == moved
    assert drop(moved, ALL, "json", trace) == text


def test_a_hook_somebody_put_into_our_group_stays() -> None:
    trace = Trace()
    inside = add("{}", ALL, "json", trace)
    document = Document(inside)
    groups = document.root.value()["hooks"]["SessionStart"]
    groups[0]["hooks"].append({"type": "command", "command": "mine"})
    events = document.root.get("hooks")
    assert events is not None
    starts = events.node.get("SessionStart")
    assert starts is not None
    edited = splice.replace(document, starts.node, groups)
    after = json.loads(drop(edited, ALL, "json", trace) or "")
    assert after == {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


def test_toml_written_by_hand_is_known_and_moved_and_removed() -> None:
    text = (
        '[mcp_servers.oneiro] # mine\nargs = [\n "mcp", # x\n]\ncommand = "oneiro"\nenabled = '
        'false\n\n[mcp_servers.oneiro.env]\nA = "1"\n[z]\n'
    )
    moved = add(text, TOML, "toml", Trace())
    assert tomllib.loads(moved)["mcp_servers"]["oneiro"] == {
        "enabled": False,
        "env": {"A": "1"},
    } | server(["/opt/oneiro", "mcp", "--vault", 'C:\\Users\\"pat"\x7f'])
    assert "enabled = false" in moved
    assert drop(moved, TOML, "toml", Trace()) == "[z]\n"


def test_a_dotted_or_inline_entry_of_ours_is_removed() -> None:
    dotted = 'a = 1\nmcp_servers.oneiro.command = "oneiro"\nmcp_servers.oneiro.args = ["mcp"]\n'
    assert drop(dotted, TOML, "toml", Trace()) == "a = 1\n"
    inline = (
        '[mcp_servers]\noneiro = { command = "oneiro", args = ["mcp"] }\nb = { command = "b" }\n'
    )
    assert drop(inline, TOML, "toml", Trace()) == '[mcp_servers]\nb = { command = "b" }\n'


BROKEN: list[tuple[str, str, int, int, str]] = [
    ("json", '{"a": 1,\n  "b" 2}', 2, 7, "':'"),
    ("json", '{\n  "a": 1, // note\n}', 2, 11, "comment"),
    ("json", '{"a": [1, 2,]}', 1, 12, "comma"),
    ("json", "\ufeff[]", 1, 1, "should hold an object"),
    ("json", '{"mcpServers": []}', 1, 16, "should hold an object"),
    ("json", '{"hooks": {"SessionStart": {}}}', 1, 28, "should hold an array"),
    ("json", '{"mcpServers": {},\r\n"mcpServers": {}}', 2, 1, "second time"),
    (
        "json",
        '{"mcpServers": {"oneiro": {"command": "npx", "args": ["oneiro-something", "mcp"]}}}',
        1,
        17,
        "another server",
    ),
    ("jsonc", "{ /* never ends", 1, 3, "nothing"),
    ("jsonc", '{"a": "\n"}', 1, 7, "string"),
    ("json", "[" * 5000, 1, 102, "deep"),
    ("toml", "a = 1\nb = [1,\n", 3, 1, ""),
    ("toml", "a = 1\na = 2\n", 2, 6, ""),
    ("toml", "x = 1\nmcp_servers = { files = { command = 'f' } }\n", 2, 1, "inline table"),
    (
        "toml",
        "mcp_servers = { oneiro = { command = 'oneiro', args = ['mcp'] } }",
        1,
        1,
        "inline table|own line|shorten|no command",
    ),
    ("toml", "[mcp_servers.oneiro]\ncommand = 'other'\n", 1, 1, "another server"),
]


@pytest.mark.parametrize(("style", "text", "line", "column", "what"), BROKEN)
def test_what_cannot_be_edited_is_refused_with_its_place(
    style: str, text: str, line: int, column: int, what: str
) -> None:
    with pytest.raises(Trouble) as caught:
        add(text, TOML if style == "toml" else ALL, style, Trace())
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert re.search(what, str(caught.value)) or what == "nothing"


def test_an_inline_table_of_servers_cannot_be_shortened() -> None:
    with pytest.raises(Trouble, match="shorten"):
        drop(
            "mcp_servers = { oneiro = { command = 'oneiro', args = ['mcp'] } }",
            TOML,
            "toml",
            Trace(),
        )


def test_nothing_of_ours_means_nothing_changes() -> None:
    text = (
        '{"mcpServers": {"oneiro": {"command": "someone-elses"}}, "hooks": {"SessionStart": '
        '[{"hooks": [{"command": "x"}]}, 3, {"hooks": 4}]}}'
    )
    assert drop(text, ALL, "json", Trace()) == text
    assert current(text, SERVER, "json") is None
    assert current(text, HOOKS[0], "json") is None
    assert drop("", ALL, "json", Trace()) == ""
    assert current(" ", SERVER, "json") is None
