"""Random settings files as people and programs write them: JSON, JSONC, TOML, in every layout."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(
    [
        "mcpServers",
        "hooks",
        "SessionStart",
        "Stop",
        "oneiro2",
        "env",
        "a",
        "ключ",
        'q"uote',
        "servers",
        "x/y",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [
            0.5,
            1e-7,
            "",
            "text",
            "// no comment",
            "/* nor this */",
            "\u2028",
            "🙂",
            "tab\t",
            "},",
            "\ud800",
        ]
    ),
    st.text(max_size=5),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SERVERS = st.dictionaries(
    st.sampled_from(["files", "git", "a b"]),
    st.fixed_dictionaries({"command": st.text(max_size=4)}),
    max_size=2,
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {
            "hooks": st.lists(
                st.fixed_dictionaries({"command": st.sampled_from(["mine", "oneiro-like"])}),
                max_size=2,
            )
        }
    ),
    max_size=2,
)
ROOTS = st.fixed_dictionaries(
    {},
    optional={
        "mcpServers": SERVERS,
        "hooks": st.dictionaries(
            st.sampled_from(["SessionStart", "Stop", "PreToolUse"]), GROUPS, max_size=3
        ),
        "other": VALUES,
        "theme": st.just("dark"),
    },
)


class Writer:
    """Spells a value with random white space, comments and trailing commas; `draw` decides."""

    def __init__(self, draw: Any, comments: bool) -> None:
        self.draw, self.comments = draw, comments
        self.newline = draw(st.sampled_from(["\n", "\r\n", "\n", "\r"]))
        plain = [
            "",
            "",
            " ",
            "\t",
            "  ",
            self.newline,
            self.newline + "  ",
            " " + self.newline + self.newline + "\t",
        ]
        marks = [
            "/* c */",
            f"// c{self.newline}",
            f" //  c  {self.newline}  ",
            "/**/ ",
            f'{self.newline}// {{ "a": 1, {self.newline}',
        ]
        self.gaps = st.sampled_from(plain + (marks if comments else []))

    def gap(self) -> str:
        return str(self.draw(self.gaps))

    def value(self, value: Any) -> str:
        if isinstance(value, dict):
            return self.container(
                "{}",
                [
                    json.dumps(key) + self.gap() + ":" + self.gap() + self.value(item)
                    for key, item in value.items()
                ],
            )
        if isinstance(value, list):
            return self.container("[]", [self.value(item) for item in value])
        return json.dumps(value, ensure_ascii=self.draw(st.booleans()))

    def container(self, brackets: str, parts: list[str]) -> str:
        text = ",".join(self.gap() + part + self.gap() for part in parts)
        if parts and self.comments and self.draw(st.booleans()):
            text += "," + self.gap()
        return brackets[0] + (text or self.gap()) + brackets[1]


@st.composite
def wild(draw: Any, comments: bool) -> tuple[str, Any]:
    """A text in no layout at all, and what it says."""
    value = draw(ROOTS)
    writer = Writer(draw, comments)
    text = draw(st.sampled_from(["", "\ufeff"])) + writer.gap() + writer.value(value) + writer.gap()
    return text, value


@st.composite
def tidy(draw: Any) -> tuple[str, Any]:
    """A text as a program writes it: indented or minified, any line ends."""
    value = draw(ROOTS)
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":")])) if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline) + draw(
        st.sampled_from(["", newline])
    ), value


def comments(text: str) -> list[str]:
    """The comments of a JSONC text, sorted."""
    found = re.findall(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', text, re.DOTALL)
    return sorted(comment.strip() for comment in found if comment)


TOML_LINES = st.sampled_from(
    [
        "# a comment", "", "   ", "[other]", "[other.deep]", "[[list]]", "[mcp_servers.files]",
        '[mcp_servers."a.b"]  # c', "[mcp_servers.oneiro2]",
    ]
)  # fmt: skip
TOML_VALUES = st.sampled_from(
    [
        "1", "true", '"x # no"', "'lit [x]'", "1979-05-27T07:32:00Z", "[1, 2]",
        '[\n  "a", # c ]\n  "b",\n]', "{ a = 1, b.c = [2] }",
        '"""\n[mcp_servers.oneiro]\ncommand = "no"\n"""', "'''it's [x] \"\"\" '''",
        '"""a\\\n  b"""', '"""x""""', "0x1F", "-inf", "{}",
    ]
)  # fmt: skip
TOML_KEYS = st.sampled_from(["a", "b", "command", '"q k"', "'l'", "d.e", "x-y", '"t\\t"', "1"])


@st.composite
def toml(draw: Any) -> str:
    """A random TOML file that means something (the caller drops those that do not)."""
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        pair = (
            f"{draw(TOML_KEYS)} {draw(st.sampled_from(['=', ' = ', '=  ']))} "
            f"{draw(TOML_VALUES)}{draw(st.sampled_from(['', '  ', ' # c']))}"
        )
        lines.append(draw(st.one_of(TOML_LINES, st.just(pair))))
    text: str = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
    mark: str = draw(st.sampled_from(["", "\ufeff"]))
    return mark + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
