"""An export of ChatGPT as large as wanted, written as a stream: `python -m tests.importers.giant
PATH MEGABYTES`."""

from __future__ import annotations

import json
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.importers.exports import BEGAN, chat

WORDS = (
    "kiln glaze harbour lantern orchard copper ferry meadow bicycle violin garden window letter "
    "market winter bread engine river ladder candle forest mirror pepper basket stone thread "
    "summer island bridge paper station kettle blanket tunnel barrel saddle anchor needle"
).split()
MESSAGES = 40
_LINKS = 14
"""Records of sources beside an answer: most of an export is not what was said."""


def paragraphs(rng: random.Random, count: int) -> list[str]:
    """A stock of them, so that two gigabytes take no hour to make up."""
    return [
        " ".join(
            " ".join(rng.choices(WORDS, k=rng.randint(6, 14))).capitalize() + "." for _ in range(9)
        )
        for _ in range(count)
    ]


def conversations(seed: int = 1) -> Iterator[str]:
    """One after the other, each some 400 kB of JSON, without end."""
    rng = random.Random(seed)
    stock = paragraphs(rng, 4000)
    number = 0
    while True:
        turns = [
            ("user" if n % 2 == 0 else "assistant", f"{rng.choice(stock)} Number {number}/{n}.")
            for n in range(MESSAGES)
        ]
        made = chat(f"chat-{number:06}", turns, BEGAN + 7200 * number)
        for node in made["mapping"].values():
            if node["message"] is not None:
                node["message"]["metadata"] = {
                    "citations": [], "model_slug": "x", "search_result_groups": [
                        {"url": f"https://example.org/{rng.getrandbits(160):x}", "snippet":
                         rng.choice(stock)[:500]} for _ in range(_LINKS)
                    ]}  # fmt: skip
        yield json.dumps(made)
        number += 1


def write(path: Path, megabytes: int, seed: int = 1) -> int:
    """A zip with so much of it in one file; how many conversations."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as file,
    ):
        return _fill(file, megabytes << 20, seed)


def _fill(file: IO[bytes], most: int, seed: int) -> int:
    written = count = 0
    file.write(b"[")
    for one in conversations(seed):
        data = (", " if count else "").encode() + one.encode()
        file.write(data)
        written, count = written + len(data), count + 1
        if written >= most:
            break
    file.write(b"]")
    return count


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2])), "conversations")
