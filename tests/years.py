"""A year and a half of somebody's memory, made at once: thousands of notes of every type, of people,
projects and months, and a commit for every week. Always the same but for the dates, which end today."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from oneiro_vault.vault import layout

DAY = 86_400.0
DAYS = 540
"""The first note is so old."""
FIRST = "Mara Jonas Ivo Lene Tomas Sabine Rui Hanna Otto Nadia".split()
LAST = "Ostberg Pihl Kader Brandt Rehn Ohl Teles Lind Weiss Farouk".split()
PEOPLE = [f"{first} {last}" for first in FIRST for last in LAST]
PROJECTS = ["Harbour survey", "Kitchen", "Petrel", "Ferry timetable", "Garden", "Choir",
            "Tax return", "Night school", "Atlas"]  # fmt: skip
TAGS = "work home money health travel boat music reading weather tools".split()
ID = "0123456789abcdefghjkmnpqrstvwxyz"
TOLD = {
    "Who it is": "- She surveys harbours, and sings in a choir on Tuesdays.\n- Her sister lives in Bergen "
    "[2026-03-02].\n- She wants short answers, and figures before opinions.",
    "What goes on": "- The kitchen is being rebuilt; [[Mara Ostberg]] draws the plans.\n- The [[Petrel]] "
    "is in the yard until the mast is mended.\n- The tax return waits for two receipts.",
}  # fmt: skip
"""Title and body of what every conversation begins with."""
SENTENCES = (
    "{who} wants the {thing} {done} before {month}.",
    "The {thing} for {project} costs {number} euro, {who} says.",
    "{who} and [[{other}]] {did} the {thing} in {place}.",
    "In {place} the {thing} is kept {where}.",
    "After the storm the {thing} had to be {done} again.",
    "{who} prefers the {colour} {thing} to the {other_thing}.",
    "The {other_thing} goes to {place} every {weekday}.",
    "{who} asked for {number} more of the {colour} kind.",
    "For {project} nobody may touch the {thing} on a {weekday}.",
    "It rained in {place}, so the {other_thing} stayed {where}.",
    "{who} found the {thing} {where}, {colour} with rust.",
    "By {month} the {other_thing} should be {done}; [[{other}]] will see to it.",
    "The key to the {thing} hangs {where} in {place}.",
    "{number} copies of the {thing} went to [[{other}]].",
)
WORDS = {
    "thing": "ledger mast sail invoice kiln lease gate compass engine chart stove lamp permit "
    "contract ladder window drawing recipe anchor pump menu poster bicycle camera violin map saw "
    "kettle tent boiler hedge roof stair passport receipt fuse rudder bench clock lens",
    "other_thing": "van letter crate parcel trolley dinghy file order harvest sample spare battery "
    "cable blanket filter mirror handle timber paint varnish notebook ticket survey summary",
    "done": "mended sold painted signed moved counted copied weighed cleaned rented sharpened "
    "translated tuned photographed insured replaced measured labelled",
    "did": "mended bought found drew tried carried packed played cooked planted lent described "
    "cancelled ordered",
    "place": "Leeds Bergen Porto Ghent Malmö Trieste Cork Gdańsk Tartu Nantes Odense Lucca Zadar "
    "Lübeck Dingle Ystad",
    "where": "under the stairs|behind the shed|on the upper shelf|in the cellar|beside the door|"
    "in the loft|by the window|at the neighbour's|in a tin box|on the quay",
    "colour": "green red white grey yellow black blue brown striped plain",
    "month": "January February March April May June July August September October November",
    "weekday": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
}  # fmt: skip
LISTS = {name: said.split("|" if "|" in said else None) for name, said in WORDS.items()}
SHARES = {"semantic": 50, "episodic": 40, "procedure": 7, "principle": 3}
FOLDERS = {"semantic": "semantic", "episodic": "episodic", "procedure": "procedures",
           "principle": "principles", "entity": "entities", "orientation": "orientation"}  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A file of the vault, and when it came to be (epoch seconds)."""

    path: str
    text: str
    when: float
    ident: str


def write(root: Path, memories: int = 5_000) -> None:
    """A vault at `root` (which is made) of so many memories, by two processes of git."""
    now = time.time()
    root.mkdir(parents=True)
    layout.create_here(root, clock=lambda: now - (DAYS + 1) * DAY)
    for command, fed in (
        (["fast-import", "--quiet", "--force"], _stream(notes(memories, now))),
        (["reset", "--quiet", "--hard"], b""),
    ):
        subprocess.run(["git", "-C", str(root), *command], input=fed, check=True)


def notes(memories: int, now: float) -> Iterator[Note]:
    """The oldest first; one that replaces another comes after what became of that."""
    chance = random.Random(7)
    ages = sorted((DAYS * chance.random() ** 1.4 for _ in range(memories)), reverse=True)
    named = PEOPLE[: max(8, min(len(PEOPLE), memories // 50))]
    known = [*named, *PROJECTS]
    facts: list[Note] = []
    for number, age in enumerate(ages):
        when = now - max(age, 0.1) * DAY
        if number < len(known):
            yield _entity(chance, known, known[number], when)
        elif memories - number <= len(TOLD):
            title, body = [*TOLD.items()][memories - number - 1]
            yield _note(chance, "orientation", title, body, when, _made_of(chance, facts))
        else:
            made = _memory(chance, named, when, facts)
            if made.path.startswith("semantic") and chance.random() < 0.06 and facts:
                old = facts.pop(chance.randrange(len(facts)))
                yield _replaced(old, made)
                made = replace(made, text=_with(made.text, f"supersedes: [{old.ident}]"))
            facts += [made] if made.path.startswith("semantic") else []
            yield made


def _entity(chance: random.Random, known: Sequence[str], name: str, when: float) -> Note:
    kind = "project" if name in PROJECTS else "person"
    others = chance.sample([one for one in known if one != name], 3)
    said = [chance.choice(("knows", "works_on", "associated_with")) for _ in others]
    lines = [f"- {relation} [[{other}]]" for relation, other in zip(said, others, strict=True)]
    body = f"{_sentence(chance, name, known)}\n\n" + "\n".join(lines)
    return _note(chance, "entity", name, body, when, {"kind": kind})


def _memory(
    chance: random.Random, named: Sequence[str], when: float, facts: Sequence[Note]
) -> Note:
    kind = chance.choices([*SHARES], [*SHARES.values()])[0]
    who = _often(chance, named)
    body = " ".join(_sentence(chance, who, named) for _ in range(chance.choice((1, 2, 2, 3, 4))))
    title = body.partition(".")[0]
    if kind == "episodic" and chance.random() < 0.1:
        title = f"{chance.choice(LISTS['thing']).capitalize()} day"
        body = f"# {title}\n\n{body}\n\n- **Done**: {_sentence(chance, who, named)}\n- *Open*: the rest"
    keys = _often_said(chance, named, who)
    if kind != "episodic" and facts and chance.random() < 0.2:
        keys |= _made_of(chance, facts)
    if chance.random() < 0.01:
        keys["flags"] = "[contradiction]"
    return _note(chance, kind, title, body, when, keys)


def _often_said(chance: random.Random, named: Sequence[str], who: str) -> dict[str, str]:
    """Frontmatter that some notes have."""
    sources = ("user", "model", "import:chatgpt", "import:obsidian")
    keys = {"source": chance.choices(sources, (60, 25, 10, 5))[0]}
    if chance.random() < 0.6:
        keys["tags"] = _list(chance.sample(TAGS, chance.choice((1, 1, 2))))
    if chance.random() < 0.5:
        keys["about"] = _list(dict.fromkeys([who, _often(chance, named)]))
    if chance.random() < 0.4:
        keys["project"] = _often(chance, PROJECTS)
    return keys


def _made_of(chance: random.Random, facts: Sequence[Note]) -> dict[str, str]:
    return {"derived_from": _list(chance.choice(facts[-200:]).ident for _ in range(2))}


def _replaced(old: Note, by: Note) -> Note:
    """The older note, once another holds instead."""
    until = datetime.fromtimestamp(by.when, UTC).isoformat()
    said = f"status: superseded\nsuperseded_by: {by.ident}\nvalid_until: {until}"
    return replace(old, text=_with(old.text, said), when=by.when)


def _with(text: str, keys: str) -> str:
    return text.replace("\n---\n", f"\n{keys}\n---\n", 1)


def _note(
    chance: random.Random, kind: str, title: str, body: str, when: float, keys: dict[str, str]
) -> Note:
    ident = "".join(chance.choices(ID, k=12))
    moment = datetime.fromtimestamp(when, UTC)
    plain = title.replace("[[", "").replace("]]", "")
    dated = moment.strftime("/%Y/%m") if kind in ("semantic", "episodic") else ""
    words = plain if kind == "entity" else "-".join([*plain.lower().split()[:7], ident])
    head = {"id": ident, "type": kind, "title": f'"{plain}"', "created": moment.isoformat(), **keys}
    lines = "\n".join(f"{key}: {value}" for key, value in head.items())
    text = f"---\n{lines}\n---\n{body}\n"
    return Note(f"{FOLDERS[kind]}{dated}/{words}.md", text, when, ident)


def _sentence(chance: random.Random, who: str, named: Sequence[str]) -> str:
    picked = {name: chance.choice(words) for name, words in LISTS.items()}
    return chance.choice(SENTENCES).format(
        **picked,
        who=who,
        other=_often(chance, named),
        project=_often(chance, PROJECTS),
        number=chance.randrange(2, 900),
    )


def _often(chance: random.Random, of: Sequence[str]) -> str:
    """The first ones more often than the last."""
    return of[int(len(of) * chance.random() ** 2)]


def _list(of: Iterable[str]) -> str:
    return f"[{', '.join(of)}]"


def _stream(made: Iterable[Note]) -> bytes:
    """For git: a commit for every week, by whom and when it would have been written."""
    parts: list[bytes] = []
    weeks: dict[int, list[Note]] = {}
    for note in made:
        weeks.setdefault(int(note.when // (7 * DAY)), []).append(note)
    for week in weeks.values():
        by = f"oneiro (user) <user@oneiro> {int(week[-1].when)} +0000"
        ids = "".join(f"Oneiro-Memory: {ident}\n" for ident in dict.fromkeys(n.ident for n in week))
        said = f"remember: {len(week)} memories\n\nOneiro-Op: remember\n{ids}Oneiro-Actor: user\n"
        parts.append(f"commit refs/heads/main\nauthor {by}\ncommitter {by}\n".encode())
        parts.append(_data(said) + (b"" if len(parts) > 1 else b"from refs/heads/main^0\n"))
        parts += [f"M 100644 inline {note.path}\n".encode() + _data(note.text) for note in week]
    return b"".join(parts) + b"done\n"


def _data(text: str) -> bytes:
    told = text.encode()
    return b"data %d\n%b\n" % (len(told), told)
