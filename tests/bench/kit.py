"""What every measurement shares: rows of the table, seeded notes, repeated timing."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FIRST = "ka lo mi ren tal sor vey bru dan fel gor hin jas kel mor nep ost pri qua rus".split()
MIDDLE = "ba do fi ge ha ik ju kr li me no pol ri su ta ve wi yo zet ar".split()
LAST = "n s t rd lm ck nd rt x l mp sh st ph rn th ng dge lk r".split()
WORDS = [a + b + c for c in LAST for b in MIDDLE for a in FIRST]
"""8,000 words. `pick` draws them as language does: a few everywhere, most of them rare."""


def pick(rng: random.Random, words: Sequence[str] = WORDS) -> str:
    """One word; the n-th is drawn about 1/n times as often as the first (Zipf)."""
    return words[int(len(words) ** rng.random()) - 1]


@dataclass(frozen=True)
class Row:
    """One line of the table: ours and the bare baseline (`unit`), their ratio, and the bar ("<= 3"
    or ">= 0.85")."""

    what: str
    ours: float
    bare: float | None
    bar: str
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.bare if self.bare else self.ours

    @property
    def holds(self) -> bool:
        sign, number = self.bar.split()
        return self.ratio <= float(number) if sign == "<=" else self.ratio >= float(number)


def body(rng: random.Random, words: int) -> str:
    """A note as people write them: a heading, sentences of common and rare words, a list, two
    links."""
    picked = [pick(rng) for _ in range(words)]
    lines = [" ".join(picked[i : i + 14]).capitalize() + "." for i in range(0, words, 14)]
    links = f"See [[{rng.choice(WORDS)} {rng.choice(WORDS)}]] and [[{rng.choice(WORDS)}]]."
    half = len(lines) // 2
    items = [f"- {line}" for line in lines[half : half + 3]]
    return "\n".join(
        [
            "# " + " ".join(picked[:4]),
            "",
            *lines[:half],
            "",
            *items,
            "",
            *lines[half + 3 :],
            "",
            links,
            "",
        ]
    )


def note(rng: random.Random, words: int = 120) -> str:
    """A whole note with frontmatter."""
    ident = "".join(rng.choices("0123456789abcdefghjkmnpqrstvwxyz", k=12))
    day = f"20{rng.randint(20, 26)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    named = f"title: {rng.choice(WORDS)} {rng.choice(WORDS)}\ntags: [{rng.choice(WORDS)}, bench]"
    head = f"id: {ident}\ntype: semantic\n{named}\ncreated: {day}T10:00:00Z\nsource: user"
    return f"---\n{head}\n---\n{body(rng, words)}"


def write_notes(root: Path, count: int, words: int = 120, seed: int = 1) -> list[Path]:
    """`count` notes in folders of months, as a vault files them."""
    rng, paths = random.Random(seed), []
    for number in range(count):
        folder = root / "semantic" / f"{2020 + number // 3600}" / f"{number // 300 % 12 + 1:02}"
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"note-{number:06}.md")
        paths[-1].write_text(note(rng, words), encoding="utf-8")
    return paths


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median(work: Callable[[], object], times: int = 5, warmup: int = 1) -> float:
    """Median seconds over `times` calls after a warm-up."""
    for _ in range(warmup):
        work()
    return statistics.median(timed(work) for _ in range(times))


def paired(
    ours: Callable[[], object], bare: Callable[[], object], times: int = 5, warmup: int = 1
) -> tuple[float, float]:
    """Medians of two things measured in turn, so that a change in the machine's speed hits both."""
    for _ in range(warmup):
        ours()
        bare()
    pairs = [(timed(ours), timed(bare)) for _ in range(times)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
