"""Three versions of a file become one that holds the words of both, for the git merge driver and
`sync`.

Two machines that merge the same pair get the same bytes: a side that is a merge of the other
already goes first, then a person's before a machine's (its words changed and its `timestamp` did
not), then the later `timestamp`, then the greater bytes. It keeps its place where both changed the
same thing, and the other's words stand right below in a `> [!conflict]` callout.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oneiro_vault.core.merge import merge_body, merge_frontmatter
from oneiro_vault.core.merge.merge_frontmatter import MISSING, Head, instant
from oneiro_vault.core.merge.units import below, callout, held, line_ends, plain, says

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS: Final = "Changed on both sides; these are the other values"

_NOTE: Final = re.compile(r"\.(?:md|markdown)\Z", re.I)
_LEDGER: Final = re.compile(r"ledger/.*\.jsonl\Z")
_HASHED: Final = re.compile(
    r"(?:\A|/)(?:[^/]*\.(?:toml|ya?ml|cfg|ini)|\.git(?:ignore|attributes))\Z", re.I
)


class Merged(NamedTuple):
    """The merged bytes, and how many times one side's words had to be put beside the other's."""

    data: bytes
    clashes: int = 0


def merge_file(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """By what it is: a note, a ledger, a list of settings. Of any other kind of file the one with
    the greater bytes stands, as one clash. `base` is None (or empty) when there is none."""
    if ours == theirs or base == theirs:
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    if _LEDGER.match(path):
        return Merged(_ledger(base or b"", ours, theirs))
    if _NOTE.search(path):
        return merge(base, ours, theirs)
    first, second = max(ours, theirs), min(ours, theirs)
    return _settings(base or b"", first, second) if _HASHED.search(path) else Merged(first, 1)


def merge(base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """Merge a note."""
    if ours == theirs or base == theirs:
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    files = [_Text(data) for data in (ours, theirs)]
    old = _Text(base) if base else None
    texts = [file.text for file in (*([old] if old else []), *files)]
    heads = _heads(texts)
    if heads[-2] is None or heads[-1] is None:
        return _whole(ours, theirs)
    before = heads[0] if old and heads[0] else Head("", {}, "", {}, {})
    sides = _ordered(before, bool(old), (heads[-2], ours), (heads[-1], theirs))
    found = _by_parts(before, *sides)
    if found is None:
        return _whole(ours, theirs, two=_are_two(before, *sides))
    newline, mark = (
        _picked([file.style[i] for file in (*([old] if old else []), *files)]) for i in (0, 1)
    )
    return Merged((mark + found[0]).replace("\n", newline).encode("utf-8"), found[1])


class _Text:
    """`style`: its line end and byte order mark, without which `text` is; None: it is none."""

    def __init__(self, data: bytes) -> None:
        self.text: str | None = None
        self.style = ("\n", "")
        if b"\0" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        text = text[len(mark) :]
        self.text, newline = line_ends(text)
        self.style = (newline, mark)


def _heads(texts: Sequence[str | None]) -> list[Head | None]:
    """All by their lines, or else all as YAML, so that values compare."""
    found = [None if text is None else merge_frontmatter.read(text) for text in texts]
    if None not in found:
        return found
    from oneiro_vault.core.merge import merge_yaml

    return [None if text is None else merge_yaml.read(text) for text in texts]


def _ordered(
    base: Head, known: bool, one: tuple[Head, bytes], other: tuple[Head, bytes]
) -> tuple[Head, Head]:
    ranks = [
        _rank(base, known, *side, against[0]) for side, against in ((one, other), (other, one))
    ]
    return (one[0], other[0]) if ranks[0] > ranks[1] else (other[0], one[0])


def _rank(
    base: Head, known: bool, side: Head, data: bytes, other: Head
) -> tuple[bool, bool, float, bytes]:
    before, lines = held(base.text), {line.strip() for line in other.text.split("\n")}
    merge_of = any(
        lines.issuperset(quoted) for quoted in held(side.text) if quoted and quoted not in before
    )
    return merge_of, known and _by_hand(side, base), instant(side.meta.get("timestamp", "")), data


def _by_hand(side: Head, base: Head) -> bool:
    """A machine that changes words moves the date."""
    if side.meta.get("timestamp") != base.meta.get("timestamp"):
        return False
    return side.body != base.body or any(
        side.meta.get(key) != base.meta.get(key) for key in ("title", "description")
    )


def _picked(values: Sequence[str]) -> str:
    """Without a base the plain one."""
    *base, one, other = values
    return min(one, other) if not base else other if one == base[0] else one


def _are_two(base: Head, first: Head, second: Head) -> bool:
    ids = [head.meta.get("id", MISSING) for head in (first, second)]
    return not base.text and MISSING not in ids and ids[0] != ids[1]


def _by_parts(base: Head, first: Head, second: Head) -> tuple[str, int] | None:
    """None when it cannot be written as a note, or when these are two memories."""
    if _are_two(base, first, second):
        return None
    date = str(second.meta.get("timestamp", "") or "")
    body, clashes = merge_body.merge(base.body, first.body, second.body, date)
    keys = merge_frontmatter.merge(base, first, second, body)
    words = plain(body)
    lost = {key: value for key, value in keys.held.items() if not says(words, str(value))}
    if lost:
        body = below(body, callout("\n".join(merge_frontmatter.spelled(lost, second)), KEYS, date))
        clashes += 1
    text = merge_frontmatter.compose(keys, base, first, second, body) if first.plain else None
    if text is None:
        return _as_yaml(base, first, second, keys, body, clashes)
    return _flagged(text) if clashes else text, clashes


def _flagged(text: str) -> str:
    head = merge_frontmatter.read(text)
    flagged = None if head is None else merge_frontmatter.with_flag(head)
    if flagged is None:
        from oneiro_vault.core.merge import merge_yaml

        flagged = merge_yaml.with_flag(text)
    return flagged


def _as_yaml(
    base: Head, first: Head, second: Head, keys: merge_frontmatter.Merged, body: str, clashes: int
) -> tuple[str, int] | None:
    from oneiro_vault.core.merge import merge_yaml
    from oneiro_vault.errors import InvalidInput

    if first.plain:  # its values are spellings: decide anew by what they mean
        heads = [
            head
            for each in (base, first, second)
            if (head := merge_yaml.read(each.text)) is not None
        ]
        return _by_parts(*heads) if len(heads) == 3 else None
    try:
        text = merge_yaml.compose(keys, base, first, second, body)
    except InvalidInput:
        return None
    return _flagged(text) if clashes else text, clashes


def _whole(ours: bytes, theirs: bytes, two: bool = False) -> Merged:
    from oneiro_vault.core.merge import merge_yaml

    return Merged(
        *merge_yaml.merge_whole(ours, theirs, merge_yaml.TWO if two else merge_yaml.BROKEN)
    )


def _ledger(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    lines = [
        dict.fromkeys(line.rstrip(b"\r") for line in data.split(b"\n") if line.strip())
        for data in (base, ours, theirs)
    ]
    new = sorted(
        {**lines[1], **lines[2]}.keys() - lines[0].keys(), key=lambda line: (_time(line), line)
    )
    return b"".join(line + b"\n" for line in [*lines[0], *new])


def _time(line: bytes) -> str:
    import json  # notes need none

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(found.get("t", "")) if isinstance(found, dict) else ""


def _settings(base: bytes, first: bytes, second: bytes) -> Merged:
    """Where both changed the same lines, the second side's stand below as comments."""
    texts = [data.decode("utf-8", "surrogateescape") for data in (base, first, second)]
    lines = [text.split("\n") for text in texts]
    merged = merge_body.by_lines(*lines)
    if merged is not None and (_parses(merged) or not all(map(_parses, lines[1:]))):
        return Merged(_joined(merged))
    return Merged(_joined([*texts[1].rstrip("\n").split("\n"), *_commented(*lines)]), 1)


def _parses(lines: Sequence[str]) -> bool:
    """Lines that met without a clash may say one table or key twice."""
    import tomllib  # notes need none

    try:
        tomllib.loads("\n".join(lines))
    except ValueError:
        return False
    return True


def _commented(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    missing = [line for line in second if line.strip() and line not in first and line not in base]
    return [
        "# changed on both sides; the other version said:",
        *(f"# {line}" for line in missing),
        "",
    ]


def _joined(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")
