"""A review as one editable text, like the list of `git rebase -i`: a line a proposal, the first word says what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound, shown

ACCEPT: Final = "accept"
REJECT: Final = "reject"
SKIP: Final = "skip"
_KEPT: Final = "Nothing was changed."
_SHORTEST: Final = 4
"""Characters of an id."""
_VERBS: Final = {verb[:length]: verb for verb in (ACCEPT, REJECT, SKIP) for length in (1, len(verb))}
_HEAD: Final = """# {count} for review. Change the first word of a line, save, and it happens:
#   accept  let it happen (a)
#   reject  do not, and do not propose it again; words after a # are the reason (r)
#   skip    leave it for another time (s), as does a line that is not there
"""


def written(proposals: Iterable[Mapping[str, Any]]) -> str:
    """The list, with everything skipped: saving it unread changes nothing. Rows are those of the operation `review`."""
    rows = list(proposals)
    lines: list[str] = []
    branch = ""
    for row in rows:
        if row["branch"] != branch:
            branch = row["branch"]
            lines += ["", f"# {branch}"]
        lines += ["", f"{SKIP} {row['id']} {row['op']}: {_plain(row['title'])}"]
        lines += [f"#   why: {_plain(row['reason'])}"] if row["reason"] else []
        lines += [f"#   no longer fits: {_plain(row['stale'])}"] if row["stale"] else []
        for change in row["changes"]:
            keys = ", ".join(f"{key} {_plain(value)}" for key, value in change["keys"].items())
            lines.append(f"#   {'new' if change['is_new'] else 'note'} {_plain(change['title'])}{f' ({keys})' if keys else ''}")
            lines += [f"#     {_plain(change['words'])}"] if change["words"] else []
    count = "1 proposal" if len(rows) == 1 else f"{len(rows)} proposals"
    return _HEAD.format(count=count) + "\n".join(lines) + "\n"


def read(text: str) -> list[tuple[str, str, str]]:
    """(what, id, reason) of every line that says to do something. Raises ValueError that names the line."""
    found: list[tuple[str, str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        said, _, reason = line.partition("#")
        words = said.split()
        if not words:
            continue
        verb = _VERBS.get(words[0].lower())
        if verb is None:
            raise ValueError(f"line {number} begins with {words[0][:40]!r}, not with accept, reject or skip")
        if len(words) < 2:
            raise ValueError(f"line {number} names no proposal")
        if verb != SKIP:
            if words[1] in {ident for _, ident, _ in found}:
                raise ValueError(f"line {number} decides {words[1][:40]} a second time")
            found.append((verb, words[1], " ".join(reason.split())))
    return found


def named(waiting: Mapping[str, str], name: str) -> list[str]:
    """The ids of those that wait (id -> branch) that an id, its beginning, or a branch means. Raises NotFound, AmbiguousId."""
    whole = [ident for ident, branch in waiting.items() if branch == name]
    fits = whole or [ident for ident in waiting if len(name) >= _SHORTEST and ident.startswith(name.lower())]
    if not fits:
        raise NotFound(f"no proposal {shown(name)} waits for review", kept=_KEPT, hint="`oneiro review --list` shows those that do.")
    if not whole and len(fits) > 1:
        raise AmbiguousId(f"{shown(name)} fits {len(fits)} proposals: {', '.join(fits[:8])}", kept=_KEPT)
    return fits


def settled(waiting: Mapping[str, str], lines: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """What `read` found with whole ids, each once; a branch stands for what no other line decides. Raises also InvalidInput."""
    means = [(line, named(waiting, line[1]), line[1] in waiting.values()) for line in lines]
    single = [ident for _, ids, is_branch in means if not is_branch for ident in ids]
    if twice := [ident for ident in single if single.count(ident) > 1]:
        raise InvalidInput(f"two lines decide {twice[0]}", kept=_KEPT, hint="Leave one of them.")
    taken, found = set(single), []
    for (verb, _, reason), ids, is_branch in means:
        for ident in ids:
            if not (is_branch and ident in taken):
                found.append((verb, ident, reason))
                taken.add(ident)
    return found


def _plain(text: str) -> str:
    """Somebody's words on one line, without the mark that begins a reason."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace("#", "＃")
