"""Four folders as people keep them, with ten questions each: notes written by hand amid others made
of sentences written by hand."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_DATA: Final = Path(__file__).with_name("questions.toml")
_SLOT: Final = re.compile(r"\{(\w+)\}")
KINDS: Final = ("hub", "docs", "diary", "attic")


def put(root: Path, kind: str, n: int) -> list[tuple[str, str]]:
    """Write about `n` notes into a folder; returns (question, path of the note that answers it)."""
    data = tomllib.loads(_DATA.read_text(encoding="utf-8"))[kind]
    for path, text in _bulk(data, random.Random(kind), n):
        _write(root / path, text.encode())
    for note in data["notes"]:
        _write(root / note["path"], note["text"].encode(note.get("encoding", "utf-8")))
    return [(note["question"], note["path"]) for note in data["notes"]]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _bulk(data: dict[str, Any], rng: random.Random, n: int) -> Iterator[tuple[str, str]]:
    for number in range(n):
        folder = rng.choice(data["folders"])
        spoken = data.get(folder.partition("/")[0], data)
        parts = [
            _filled(line, spoken["words"], rng)
            for line in rng.sample(spoken["lines"], rng.choice((2, 3, 5, 8)))
        ]
        title = _filled(rng.choice(spoken["titles"]), spoken["words"], rng)
        yield _place(folder, number, rng), _head(title, number, rng) + _joined(parts, rng)


def _filled(line: str, words: dict[str, list[str]], rng: random.Random) -> str:
    filled = _SLOT.sub(lambda slot: rng.choice(words[slot[1]]), line)
    return filled[:1].upper() + filled[1:]


def _place(folder: str, number: int, rng: random.Random) -> str:
    day = f"20{rng.randint(14, 23)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return f"{folder}/{rng.choice((f'page {number}', f'{day} {number}', f'{number}'))}.md"


def _head(title: str, number: int, rng: random.Random) -> str:
    """Front matter as people write it, some of it broken, or a heading, or nothing at all."""
    day = f"20{rng.randint(14, 23)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return rng.choice(
        (
            f"---\ntitle: {title}\ndate: {day}\n---\n",
            f"---\nDate: {day}\ntags:\n  - sea/boats\n---\n# {title}\n\n", f"# {title}\n\n", "",
            f'---\ntitle: "{title}\ncreated_at: {day}\n---\n',
            f"---\ntitle: ADR-{number}: {title}\n---\n", f"\ufeff# {title}\n\n", "## Log\n\n",
        )
    )  # fmt: skip


def _joined(parts: list[str], rng: random.Random) -> str:
    """Sentences in one paragraph, in several, or as a list."""
    listed = (
        "\n".join(part if part.startswith("- ") else f"- {part}" for part in parts),
        " ".join(parts),
        "\n\n".join(parts),
    )
    return rng.choice(listed) + "\n"
