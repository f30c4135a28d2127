"""Random notes, random edits of them by people and machines, and what must hold of every merge."""

from __future__ import annotations

import re
from random import Random
from typing import Final

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.merge.three_way import merge
from oneiro_vault.core.merge.units import held

WORD: Final = re.compile(r"\bw\d+\b")
_HEAD: Final = (
    "title", "description", "tags", "aliases", "timestamp", "created", "status", "trust",
    "importance", "derived_from", "mood", "list", "outcome",
)  # fmt: skip


class Maker:
    """Notes out of words that are each used once, so that a lost one is seen."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.day = 1

    def word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def words(self, most: int = 4) -> str:
        return " ".join(self.word() for _ in range(self.random.randint(1, most)))

    def piece(self) -> str:
        kind = self.random.choice(
            (
                "text",
                "text",
                "lines",
                "item",
                "item",
                "items",
                "heading",
                "relation",
                "quote",
                "fence",
                "table",
                "nested",
            )
        )
        words = self.words()
        return {
            "text": words,
            "lines": f"{words}\n{self.words()}\n{self.words()}\n{self.words()}",
            "item": f"- {words}",
            "items": f"- {words}\n- {self.words()}\n- [ ] {self.words()}",
            "heading": f"## {words}",
            "relation": f"- {self.random.choice(('works_for', 'part_of'))} [[{words}]]",
            "quote": f"> [!note] {words}\n> {self.words()}",
            "fence": f"```sh\n{words}\n\n- {self.words()}\n```",
            "table": f"| {words} | {self.word()} |\n|---|---|\n| {self.words()} | {self.word()} |",
            "nested": f"1. {words}\n   - {self.words()}\n\n     {self.words()}",
        }[kind]

    def body(self) -> list[str]:
        return [self.piece() for _ in range(self.random.randint(0, 7))]

    def meta(self) -> dict[str, object]:
        meta: dict[str, object] = {"id": "7k2m9x4q8w3n", "type": "semantic"}
        for key in self.random.sample(_HEAD, self.random.randint(0, len(_HEAD))):
            meta[key] = self.value(key)
        return meta

    def value(self, key: str) -> object:
        if key in ("tags", "aliases", "derived_from", "list"):
            return [self.word() for _ in range(self.random.randint(0, 3))]
        if key in ("timestamp", "created"):
            self.day += 1
            return f"2026-11-{self.random.randint(1, 28):02d}T10:00:00+00:00"
        choices: dict[str, list[object]] = {
            "status": ["active", "pending", "dormant", "superseded", "archived"],
            "trust": ["user", "said", "model", "external"],
            "importance": [0.1, 0.5, 1.0],
        }
        return self.random.choice(choices.get(key) or [self.words()])

    def edited(
        self, meta: dict[str, object], body: list[str]
    ) -> tuple[dict[str, object], list[str]]:
        """A side: some keys and some pieces changed, added, deleted, moved."""
        meta, body = dict(meta), list(body)
        for _ in range(self.random.randint(0, 4)):
            self._edit_meta(meta)
        for _ in range(self.random.randint(0, 4)):
            self._edit_body(body)
        if self.random.random() < 0.5:
            meta["timestamp"] = self.value("timestamp")
        return meta, body

    def _edit_meta(self, meta: dict[str, object]) -> None:
        key = self.random.choice(_HEAD)
        old = meta.get(key)
        if isinstance(old, list) and old and self.random.random() < 0.7:
            items = list(old)
            self.random.choice(
                (lambda: items.append(self.word()), lambda: items.remove(self.random.choice(items)))
            )()
            meta[key] = items
        elif key in meta and self.random.random() < 0.3:
            del meta[key]
        else:
            meta[key] = self.value(key)

    def _edit_body(self, body: list[str]) -> None:
        place = self.random.randint(0, len(body))
        what = self.random.choice(
            ("insert", "insert", "change", "change", "line", "delete", "move", "rewrite")
        )
        if what == "insert" or not body:
            body.insert(place, self.piece())
            return
        place = min(place, len(body) - 1)
        if what == "change":
            words = WORD.findall(body[place])
            body[place] = (
                re.sub(rf"\b{self.random.choice(words)}\b", self.words(2), body[place])
                if words
                else self.piece()
            )
        elif what == "line":
            body[place] += f"\n{'  ' if body[place][:1] in '-1' else ''}{self.words()}"
        elif what == "delete":
            del body[place]
        elif what == "move":
            body.insert(self.random.randint(0, len(body) - 1), body.pop(place))
        else:
            body[place : place + 3] = self.body()

    def text(self, meta: dict[str, object], body: list[str]) -> str:
        text = (
            yaml_block.compose(meta, "\n\n".join(body) + "\n" * self.random.randint(0, 2))
            if meta
            else "\n\n".join(body)
        )
        if self.random.random() < 0.1:
            text = text.replace("\n", "\r\n")
        if self.random.random() < 0.05:
            text = "\ufeff" + text
        return text


def case(random: Random) -> tuple[bytes | None, bytes, bytes]:
    """A base (sometimes none) and two sides."""
    make = Maker(random)
    meta, body = (make.meta() if random.random() < 0.9 else {}), make.body()
    base = make.text(meta, body)
    ours, theirs = (make.text(*make.edited(meta, body)) for _ in range(2))
    return (None if random.random() < 0.1 else base.encode()), ours.encode(), theirs.encode()


def hold(base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
    """Merge, and check what a merge promises. Returns the merged bytes."""
    merged = merge(base, ours, theirs)
    shown = (
        f"\n--- base\n{(base or b'').decode()}\n--- ours\n{ours.decode()}\n--- theirs\n"
        f"{theirs.decode()}\n--- merged\n{merged.data.decode()}"
    )
    assert merge(base, theirs, ours) == merged, (
        f"not symmetric{shown}\n--- the other way\n{merge(base, theirs, ours).data.decode()}"
    )
    yaml_block.read(merged.data.decode())
    was, mine, other, now = (
        set(WORD.findall((data or b"").decode())) for data in (base, ours, theirs, merged.data)
    )
    assert (mine | other) - was <= now, f"lost what is new: {(mine | other) - was - now}{shown}"
    assert was & mine & other <= now, f"lost what both have: {(was & mine & other) - now}{shown}"
    assert now <= mine | other, f"came back: {now - mine - other}{shown}"
    assert merged.clashes == 0 or b"[!conflict]" in merged.data
    for side in (ours, theirs):
        again = merge(base, merged.data, side)
        callouts = held(yaml_block.read(again.data.decode())[1])
        assert len(callouts) == len(set(callouts)), (
            f"a callout doubled{shown}\n--- again\n{again.data.decode()}"
        )
        assert mine | other <= was | set(WORD.findall(again.data.decode())), (
            f"lost in the second merge{shown}\n--- again\n{again.data.decode()}"
        )
    return merged.data
