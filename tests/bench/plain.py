"""Collections of plain texts with questions, read from documentation that distributions ship: none
of it is part of this repository.

`python -m tests.bench.plain ROOT...` scores recall on those of them that stand under a root (`/`,
or a folder into which `perl-doc`, `python3.11-doc`, `debian-faq` and `gnome-user-docs` were
unpacked), beside plain rank fusion of the same two lists. A question is what its author wrote above
or beside a text, and is taken out of that text.
"""

from __future__ import annotations

import argparse
import gzip
import html
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tests.bench import devset
from tests.recall import domains

Pairs = Iterator[tuple[str, str]]
_LEAST: Final = 120
"""Characters of a text that answers anything."""
_MOST: Final = 500
"""Texts of a collection."""


def main() -> None:
    """Print nDCG@10 of every collection found: ours, rank fusion, and what is between."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", type=Path, default=[Path("/")])
    parser.add_argument("--only", choices=sorted(READERS), action="append")
    options = parser.parse_args()
    found = Table(
        "collection", "questions", "recall", "rank fusion", "ahead", title="nDCG@10, plain notes"
    )
    for name in options.only or READERS:
        units = collection(name, options.roots)
        if units:
            ours, fused = (
                devset.score(units, runs) for runs in zip(*map(_runs, units), strict=True)
            )
            cells = (ours["nDCG@10"], fused["nDCG@10"], ours["nDCG@10"] - fused["nDCG@10"])
            found.add_row(name, str(ours["n"]), *(f"{cell:.1f}" for cell in cells))
    Console().print(found)


def _runs(unit: devset.Unit) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    app, ids, folder = devset.build(unit, plain=True)
    try:
        return devset.answers(unit, app, ids), devset.fused(unit, app, ids)
    finally:
        app.close()
        folder.cleanup()


def collection(name: str, roots: Sequence[Path]) -> list[devset.Unit]:
    """The vaults of one collection as a development set; none where nothing of it is installed."""
    for root in roots:
        groups = [_distinct(group) for group in READERS[name](root)]
        units: list[devset.Unit] = [
            unit(f"{name}{number}", group) for number, group in enumerate(groups) if len(group) > 1
        ]
        if units:
            return units
    return []


def unit(name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """(question, text) pairs as one vault: every text is the answer to its question alone."""
    docs = [
        {"id": f"{name}:{number}", "text": text, "meta": {}}
        for number, (_, text) in enumerate(pairs)
    ]
    asked = [
        (one["id"], question) for one, (question, _) in zip(docs, pairs, strict=True) if question
    ]
    return {
        "cid": name,
        "docs": docs,
        "queries": [
            {"qid": f"q{one}", "text": text, "cat": "", "rel": [one]} for one, text in asked
        ],
    }


def _distinct(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """At most so many, drawn at random but the same every time; what is asked twice or says too
    little is left out."""
    found = {text.strip(): " ".join(question.split()) for question, text in pairs}
    asked = Counter(found.values())
    least = _LEAST if len(found) > _LEAST else 0
    kept = [
        (question, text)
        for text, question in found.items()
        if len(text) >= least and (asked[question] == 1 or not question)
    ]
    return kept if len(kept) <= _MOST else random.Random(3).sample(kept, _MOST)


def _python_faq(root: Path) -> Iterator[Pairs]:
    """The questions of Python's FAQ and the sections that answer them."""
    yield _rst_headings(root.glob("usr/share/doc/python3.*/html/_sources/faq/*.rst.txt"))


def _rst_headings(files: Iterable[Path]) -> Pairs:
    for file in sorted(files):
        parts = re.split(
            r"^(\S.*)\n([-=~^.])\2{5,}\n", file.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
        yield from (
            (question, text)
            for question, text in zip(parts[1::3], parts[3::3], strict=True)
            if "?" in question
        )


def _python_library(root: Path) -> Iterator[Pairs]:
    """What a function of the library does, its first sentence, and everything else said of it."""
    entry = re.compile(
        r"^\.\. (?:function|method|class):: .*\n(?:   .*\n)*\n((?:   .*\n|\n)+)", re.MULTILINE
    )

    def pairs() -> Pairs:
        for file in sorted(root.glob("usr/share/doc/python3.*/html/_sources/library/*.rst.txt")):
            for match in entry.finditer(file.read_text(encoding="utf-8")):
                text = re.sub(
                    r":\w+:`[~!.]*([^`]*)`", r"\1", re.sub(r"^ +", "", match[1], flags=re.MULTILINE)
                ).strip()
                first, end, rest = text.partition(".\n")
                if end and 20 < len(first) < 200 and "::" not in first and len(rest) > 2 * _LEAST:
                    yield first, rest

    yield pairs()


def _perl_faq(root: Path) -> Iterator[Pairs]:
    yield _pod(root.glob("usr/share/perl/5.*/pod/perlfaq?.pod"), "=head2")


def _perl_messages(root: Path) -> Iterator[Pairs]:
    """What the interpreter says when something is wrong, and what that means."""
    for file in sorted(root.glob("usr/share/perl/5.*.*/pod/perldiag.pod")):
        yield (
            (re.sub(r"%\S*|<--.*", "", name), text.partition(")")[2])
            for name, text in _pod([file], "=item")
            if len(name.split()) > 3
        )


def _pod(files: Iterable[Path], mark: str) -> Pairs:
    for file in sorted(files):
        parts = re.split(
            rf"^{mark} (.*(?:\n.+)*)\n\n",
            file.read_text(encoding="utf-8", errors="replace"),
            flags=re.MULTILINE,
        )
        for question, text in zip(parts[1::2], parts[2::2], strict=True):
            yield (
                _podless(question),
                _podless(re.split(r"^=(?!item|over|back)", text, flags=re.MULTILINE)[0]),
            )


def _podless(text: str) -> str:
    text = re.sub(r"[A-Z]<<? ?([^<>]*?) ?>?>", r"\1", re.sub(r"X<[^<>]*>", "", text))
    return re.sub(r"^=\w+.*\n", "", text, flags=re.MULTILINE)


def _manuals(root: Path) -> Iterator[Pairs]:
    """Programs by what their manual's first line says of them."""

    def pairs() -> Pairs:
        files = [
            file
            for part in "18"
            for file in root.glob(f"usr/share/man/man{part}/*.{part}.gz")
            if not file.is_symlink()
        ]
        family = {
            re.split(r"[-_.]", file.name)[0]: file for file in sorted(files)
        }  # thousands are of one program
        for file in family.values():
            page = subprocess.run(
                ["man", "-l", file],
                capture_output=True,
                text=True,
                env={"MANWIDTH": "200", "PATH": "/usr/bin:/bin"},
            ).stdout
            name = re.search(r"^NAME\n\s+(.*?) [-–—] +(.*)\n", page, re.MULTILINE)
            body = re.search(r"^(?:SYNOPSIS|DESCRIPTION)\n(.*)", page, re.MULTILINE | re.DOTALL)
            if name and body and len(name[2].split()) > 2:
                yield name[2], re.sub(r"^ {3,}", "", body[1], flags=re.MULTILINE)[:6_000]

    yield pairs()


def _packages(root: Path) -> Iterator[Pairs]:
    """Installed packages by their summaries."""
    status = root / "var/lib/dpkg/status"

    def pairs() -> Pairs:
        for summary, text in re.findall(
            r"^Description: (.*)\n((?: .*\n)+)", status.read_text(encoding="utf-8"), re.MULTILINE
        ):
            yield summary, re.sub(r"^ \.?", "", text, flags=re.MULTILINE)

    if status.exists():
        yield pairs()


def _distribution_faq(root: Path) -> Iterator[Pairs]:
    for file in root.glob("usr/share/doc/debian/FAQ/debian-faq.en.txt.gz"):
        parts = re.split(
            r"^\d+\.\d+\.\s(\S.*(?:\n\S.*)*)\n\n",
            gzip.decompress(file.read_bytes()).decode(),
            flags=re.MULTILINE,
        )
        yield (
            (question, re.split(r"^Chapter", text, flags=re.MULTILINE)[0])
            for question, text in zip(parts[1::2], parts[2::2], strict=True)
        )


def _desktop_help(root: Path) -> Iterator[Pairs]:
    """Pages of a desktop's help by what their summaries say one would do."""
    yield ((summary, text) for summary, _, text in _desktop_pages(root) if len(summary.split()) > 3)


def _desktop_asked(root: Path) -> Iterator[Pairs]:
    """The same pages by questions that people would ask, written by hand; pages without one are
    among the texts."""
    lines = Path(__file__).with_name("desktop.txt").read_text(encoding="utf-8").splitlines()
    asked = dict(line.split(" | ") for line in lines)
    yield ((asked.get(title, ""), text) for _, title, text in _desktop_pages(root))


def _desktop_pages(root: Path) -> Iterator[tuple[str, str, str]]:
    """(summary, title, title and text) of every page."""
    for file in sorted(root.glob("usr/share/help/C/gnome-help/*.page")):
        page = re.sub(r"<!--.*?-->", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        summary = re.search(r"<desc>(.*?)</desc>", page, re.DOTALL)
        parts = re.search(r"</info>\s*<title>(.*?)</title>(.*)", page, re.DOTALL)
        if summary and parts:
            title = " ".join(_tagless(parts[1]).split())
            yield _tagless(summary[1]), title, f"# {title}\n\n{_tagless(parts[2])}"


def _tagless(text: str) -> str:
    return re.sub(r"\n\s*\n\s*", "\n\n", html.unescape(re.sub(r"<[^<>]*>", "", text))).strip()


def _lives(root: Path) -> Iterator[Pairs]:
    """Short notes of eight lives in one vault, which are ours."""
    if root == Path("/"):
        yield ((question, note) for pairs in domains.pairs() for note, question in pairs)


READERS: Final[dict[str, Callable[[Path], Iterator[Pairs]]]] = {
    "python faq": _python_faq, "perl faq": _perl_faq, "manuals": _manuals,
    "desktop help": _desktop_help, "desktop asked": _desktop_asked, "lives": _lives,
    "packages": _packages, "messages": _perl_messages, "distribution faq": _distribution_faq,
    "library": _python_library,
}  # fmt: skip


if __name__ == "__main__":
    main()
