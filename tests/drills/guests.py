"""Four kinds of folders that people have had for years before any tool came: made of words drawn by
number, the same every time."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

WORDS: Final = {
    "en": "harbour keel paint rudder anchor market bread winter letter garden bridge engine "
          "summer window river",
    "de": "Hafen Kiel Größe Ruder Anker Markt Brötchen Winter Straße Garten Brücke Motor Sommer "
          "Fenster Fluss",
    "es": "puerto quilla pintura timón ancla mercado pan invierno carta jardín puente motor "
          "verano ventana río",
    "fr": "port quille peinture gouvernail ancre marché pain hiver lettre jardin pont moteur été "
          "fenêtre rivière",
    "ru": "гавань киль краска руль якорь рынок хлеб зима письмо сад мост мотор лето окно река",
    "el": "λιμάνι καρίνα χρώμα πηδάλιο άγκυρα αγορά ψωμί χειμώνας γράμμα κήπος γέφυρα μηχανή",
    "tr": "liman omurga boya dümen çapa pazar ekmek kış mektup bahçe köprü yaz pencere ırmak",
    "ja": "港 竜骨 塗装 舵 錨 市場 冬 手紙 庭 橋 機関 夏 窓 川",
    "ko": "항구 용골 페인트 방향타 닻 시장 빵 겨울 편지 정원 다리 엔진 여름 창문 강",
}  # fmt: skip
_LETTERS: Final = "bcdfghjklmnpqrstvwz"
BROKEN: Final = (
    "title: ADR-{n}: use {w}\ndate: 2024-03-05", "title: @{w}\ndate: 2024-03-05",
    "title: %{w}\ndate: 2024-03-05",
    "title: {w}\n\ttags: x\ndate: 2024-03-05", 'title: "{w}\ndate: 2024-03-05',
    "title: {w}\ntitle: again\ndate: 2024-03-05",
    "tags: [a, {w}\ndate: 2024-03-05", "title: `{w}` first\ncreated_at: 2024-03-05",
    "aliases: *{w}\nDate: 2024-03-05",
)  # fmt: skip


def coined(number: int) -> str:
    """A word that no other note has."""
    word = ""
    for _ in range(6):
        number, letter = divmod(number, len(_LETTERS))
        word += _LETTERS[letter] + "aeiou"[letter % 5]
    return word


def phrase(number: int, language: str = "en") -> str:
    """Some words of the body of note `number`, two of which no other note has."""
    rng = random.Random(number)
    words = rng.sample(WORDS[language].split(), 3)
    return " ".join([words[0], coined(2 * number), words[1], coined(2 * number + 1), words[2]])


def _body(number: int, language: str, rng: random.Random) -> str:
    pool = WORDS[language].split()
    parts = [
        " ".join(rng.choices(pool, k=rng.randint(6, 40))) + "." for _ in range(rng.randint(1, 8))
    ]
    parts.insert(rng.randint(0, len(parts)), f"{phrase(number, language)}.")
    parts.insert(
        0,
        rng.choice(
            [
                "",
                "## Log",
                "> [!note] " + pool[0],
                "| a | b |\n|---|---|\n| c | d |",
                "```sh\nls -l # listing\n```",
            ]
        ),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def documentation(n: int) -> Iterator[tuple[str, bytes, str]]:
    """Pages of a program in nine languages: numbered folders, front matter of a site generator,
    headings, code."""
    for number in range(n):
        language, rng = [*WORDS][number % len(WORDS)], random.Random(number)
        head = rng.choice(
            [
                "",
                f"---\ntitle: {coined(10**6 + number)}\nsidebar_position: {number}\n---\n",
                f"---\nid: page-{number}\nslug: /{number}\n---\n",
            ]
        )
        text = (
            f"{head}# {WORDS[language].split()[0]} {number}\n\nimport Tabs from '@theme/Tabs';\n\n"
            f"{_body(number, language, rng)}"
        )
        yield (
            f"docs/{language}/{number % 12:02}-part/page-{number}.md",
            text.encode(),
            phrase(number, language),
        )


def hub(n: int) -> Iterator[tuple[str, bytes, str]]:
    """Pages of a community, by thousands of hands: every kind of date, some broken front matter,
    equal titles."""
    dates = (
        "date: 2023-05-08",
        "Date: May 8, 2023",
        "created_at: 2023-05-08T10:00:00Z",
        "published: 08.05.2023",
        "date created: 2023/5/8",
        "",
    )
    for number in range(n):
        rng = random.Random(number)
        head = (
            f"title: Meeting\n{dates[number % len(dates)]}\ntags:\n  - sea/boats\nauthors: [ada, "
            f"bob]"
        )
        if number % 40 == 7:
            head = BROKEN[number // 40 % len(BROKEN)].format(n=number, w=coined(10**6 + number))
        end = "\r\n" if number % 9 == 0 else "\n"
        text = f"---\n{head}\n---\n{_body(number, 'en', rng)}".replace("\n", end)
        yield (
            f"{rng.choice(['guides', 'people', 'news/2023', 'wiki'])}/page {number}.md",
            text.encode(),
            phrase(number),
        )


def diary(n: int) -> Iterator[tuple[str, bytes, str]]:
    """Somebody's daily notes and lists over ten years, in two languages: dates in names, nested
    tags, nothing above the text."""
    for number in range(n):
        rng, language = random.Random(number), ("de", "en")[number % 2]
        names = (
            f"daily/20{14 + number % 10}-{number % 12 + 1:02}-{number % 28 + 1:02} {number}.md",
            f"Zettel/20{14 + number % 10}0{number % 9 + 1}151200 {number}.md",
            f"Journal/20{14 + number % 10}/{number % 12 + 1:02}/Eintrag {number}.md",
            f"Ideen 🌱/Notiz {number}.md",
        )  # fmt: skip
        text = f"{_body(number, language, rng)}\n#sea/boats #{coined(10**6 + number)}\n"
        yield (
            names[number % len(names)],
            (b"\xef\xbb\xbf" if number % 7 == 0 else b"") + text.encode(),
            phrase(number, language),
        )


def attic(n: int) -> Iterator[tuple[str, bytes, str]]:
    """What was carried from program to program: other encodings, blocks that nobody closed, half a
    merge, every kind of broken YAML."""
    for number in range(n):
        rng, kind = random.Random(number), number % 10
        body = _body(number, "de", rng)
        text = {
            0: f"---\ntitle: {coined(10**6 + number)}\ntags: [x]\n\n{body}",
            1: f"---\n{BROKEN[number % len(BROKEN)].format(n=number, w=coined(10**6 + number))}\n"
            f"---\n{body}",
            2: f"{body}\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n",
            3: f"---\n{body}",
            4: f"---\ntags: a, b\nUpdated: 2019-01-02\n...\n{body}",
        }.get(kind, f"# {coined(10**6 + number)}\n\n{body}")
        encoding = {5: "latin-1", 6: "utf-16", 7: "utf-8-sig", 8: "cp1252"}.get(kind, "utf-8")
        yield f"old stuff/{number // 50}/{number}.MD", text.encode(encoding), phrase(number, "de")


KINDS: Final[dict[str, Callable[[int], Iterator[tuple[str, bytes, str]]]]] = {
    "documentation": documentation, "hub": hub, "diary": diary, "attic": attic,
}  # fmt: skip


def put(root: Path, kind: str, n: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Write such a folder, committed on 2 February 2020 unless it is a diary; path -> bytes, path
    -> a phrase of its body."""
    files, phrases = {}, {}
    for path, data, words in KINDS[kind](n):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
        files[path], phrases[path] = data, words
    if kind != "diary":
        env = {
            **os.environ,
            "GIT_AUTHOR_DATE": "2020-02-02T12:00:00+00:00",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        for argv in (
            ("init", "-q", "-b", "main"),
            ("add", "-A"),
            (*who, "commit", "-qm", "all of it"),
        ):
            subprocess.run(["git", "-C", str(root), *argv], check=True, env=env)
    return files, phrases
