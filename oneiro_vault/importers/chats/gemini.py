"""Gemini: Google's My Activity (JSON or HTML, in any language), whose records are single turns, and
the prompts of AI Studio."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Final

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats import dialogue
from oneiro_vault.importers.chats.activity_page import cells, parted, plain
from oneiro_vault.importers.chats.dialogue import (
    Object,
    digest,
    entries,
    inside,
    name_of,
    told,
    written,
)
from oneiro_vault.importers.elements import Damaged, elements
from oneiro_vault.importers.records import Format, Record, Skipped, Turn

_PRODUCT: Final = re.compile(r"gemini|bard", re.I)
_PROMPTED: Final = re.compile(
    r"(?:Prompted|Asked Bard|Asked Gemini|Asked|Said|(?:\w+\s){0,2}[Pp]rompt\w*(?:\s\w+)?\s?[:：])"
    r"\s+(?=\S)"
)
"""In English, and where a language has the word itself."""
_OTHER: Final = re.compile(
    r"(?:Used|Created|Selected|Gave|Viewed|Visited|Shared|Deleted|Opened|Turned|Canceled|Edited)\b"
)
_ATTACHED: Final = re.compile(r"\s*Attached (\d+) files?\.?\s*$")
_SAMPLE: Final = 400
_MOST_FILES: Final = 3000
_COMMON: Final = 0.6
_FEWEST: Final = 4
"""Records from which the verb before prompts is told in a language that nobody listed."""
_HEAD: Final = 1 << 18
"""Bytes that tell what a file is: of a page the style comes before what is in it."""
_OF_FILE: Final = "the export says no date, so it is the file's"
_NOT_A_PROMPT: Final = "it is no prompt but something else that was done"


def recognises(archive: Archive) -> bool:
    """My Activity of Gemini, or files of AI Studio."""
    return any(_pages(archive)) or any(_studio(archive))


def read(archive: Archive) -> Iterator[Record]:
    """Each record of My Activity as a conversation of its own, and AI Studio's conversations."""
    for kind, name in _pages(archive):
        seen: Counter[str] = Counter()
        yield from (_json(archive, name, seen) if kind == "json" else _html(archive, name, seen))
    for name in _studio(archive):
        yield from _prompt(archive, name)


def _pages(archive: Archive) -> Iterator[tuple[str, str]]:
    """("json" or "html", name) of what is My Activity of Gemini; a record in both forms counts once
    later, by its second and its words."""
    for name in _some(archive, (".json", ".html")):
        suffix = PurePosixPath(name).suffix.lower()
        if suffix == ".json" and any(map(_is_record, dialogue.begins(archive, name, 5))):
            yield "json", name
        elif suffix == ".html" and b"outer-cell" in archive.head(name, _HEAD):
            yield "html", name


def _some(archive: Archive, suffixes: tuple[str, ...]) -> list[str]:
    """Files that may be meant, by how their names end; a file by itself always. Of very many none:
    that is somebody's home and no export."""
    names = archive.names()
    found = [
        name for name in names
        if PurePosixPath(name).suffix.lower() in suffixes or len(names) == 1
    ]  # fmt: skip
    return found if len(found) <= _MOST_FILES else []


def _is_record(record: Object) -> bool:
    return isinstance(record.get("title"), str) and "time" in record and "header" in record


# -- My Activity


def _json(archive: Archive, name: str, seen: Counter[str]) -> Iterator[Record]:
    prefix = _prefix(archive, name)
    with archive.open(name) as stream:
        for number, one in enumerate(elements(stream, keys=("items",))):
            where = f"{name}, record {number + 1}"
            if isinstance(one, Damaged):
                yield Skipped(where, one.why)
            elif not isinstance(one, dict) or not isinstance(one.get("title"), str):
                yield Skipped(where, "it is no record of My Activity")
            elif _of_gemini(one):
                yield _activity(where, one, prefix, seen)


def _of_gemini(record: Object) -> bool:
    """Other products share the shape."""
    said = [record.get("header"), *entries(record.get("products"))]
    return any(isinstance(one, str) and _PRODUCT.search(one) for one in said)


def _prefix(archive: Archive, name: str) -> str:
    """The words before prompts in the language of the export: what most answered records begin
    with."""
    with archive.open(name) as stream:
        titles = []
        for number, one in enumerate(elements(stream, keys=("items",))):
            if isinstance(one, dict) and _of_gemini(one) and one.get("safeHtmlItem"):
                titles.append(str(one.get("title")))
            if number >= _SAMPLE:
                break
    return common_beginning(titles)


def common_beginning(titles: list[str]) -> str:
    """The words that most of them begin with, "" when that says nothing."""
    found = ""
    for length in range(1, 5):
        starts = Counter(" ".join(one.split()[:length]) for one in titles if one.split()[length:])
        start, count = starts.most_common(1)[0] if starts else ("", 0)
        if count < max(_FEWEST, _COMMON * len(titles)):
            break
        found = start
    return found


def _activity(where: str, record: Object, prefix: str, seen: Counter[str]) -> Record:
    at = dialogue.moment(record.get("time"))
    answers = record.get("safeHtmlItem")
    first = answers if isinstance(answers, Mapping) else next(iter(entries(answers)), None)
    answer = plain(written(inside(first, "html") or first))
    files = [name_of(one, 200) for one in entries(record.get("attachedFiles"))]
    files = [name for name in files if name]
    return _single(where, record["title"], at, answer, prefix, files, seen)


def _single(
    where: str,
    title: str,
    at: datetime | None,
    answer: str,
    prefix: str,
    files: list[str],
    seen: Counter[str],
) -> Record:
    """One prompt and its answer. `files`: names of what was attached."""
    prompt = _prompt_of(title, prefix, bool(answer))
    if prompt is None:
        return Skipped(f"{where} ({name_of(title)})", _NOT_A_PROMPT)
    attached = _ATTACHED.search(prompt)
    if attached:
        prompt = prompt[: attached.start()]
        files = files or [f"{attached[1]} files"]
    prompt = prompt.strip()
    if not prompt:
        return Skipped(where, "it has no words")
    second = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if at else ""
    base = digest("gemini", second, " ".join(prompt.split()))
    seen[base] += 1
    ident = base if seen[base] == 1 else f"{base}-{seen[base]}"
    turns = [Turn(f"{ident}-1", "user", prompt, at)]
    turns += [Turn("", "tool", told("attached", name), at) for name in files]
    turns += [Turn(f"{ident}-2", "assistant", answer, at)] if answer else []
    return dialogue.conversation(where, ident, "", turns, at, at)


def _prompt_of(title: str, prefix: str, answered: bool) -> str | None:
    """The words of the person, None for what is no prompt."""
    if verb := _PROMPTED.match(title):
        return title[verb.end() :]
    if _OTHER.match(title):
        return None
    if prefix and " ".join(title.split()).startswith(f"{prefix} "):
        words = re.match(r"\s*" + r"\s+".join(map(re.escape, prefix.split())) + r"\s+", title)
        return title[words.end() :] if words else title
    return title if answered else None


def _html(archive: Archive, name: str, seen: Counter[str]) -> Iterator[Record]:
    sample = list(islice(cells(archive, name), _SAMPLE))
    prefix = common_beginning([prompt for prompt, _, answer in map(parted, sample) if answer])
    if sample and not any(cell.product for cell in sample):
        yield Skipped(name, "no record of it says of which product it is: Google may have changed "
                      "the page; export My Activity once more as JSON")  # fmt: skip
        return
    for number, cell in enumerate(cells(archive, name)):
        where = f"{name}, record {number + 1}"
        if not _PRODUCT.search(cell.product):
            continue
        prompt, day, answer = parted(cell)
        if day is None:
            yield Skipped(where, "its date cannot be read, or is of an unknown time zone")
        else:
            yield _single(where, prompt, day, answer, prefix, [], seen)


# -- AI Studio


def _studio(archive: Archive) -> Iterator[str]:
    """Files of prompts, mostly without a suffix."""
    for name in _some(archive, ("", ".json")):
        head = archive.head(name, _HEAD).lstrip(b"\xef\xbb\xbf \r\n\t")
        chunks = b'"chunkedPrompt"' in head or b'"runSettings"' in head
        bare = head[:1] == b"[" and b'"role"' in head and b'"text"' in head
        if head[:1] in (b"{", b"[") and (chunks or (bare and b'"model"' in head)):
            yield name


def _prompt(archive: Archive, name: str) -> Iterator[Record]:
    try:
        found = json.loads(archive.read(name).decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError, InvalidInput) as error:
        yield Skipped(name, f"it cannot be read ({error})")
        return
    chunks = entries(found) or entries(inside(found, "chunkedPrompt", "chunks"))
    turns = list(_system(found))
    for number, chunk in enumerate(chunks):
        turns += _chunk(chunk, number)
    dated = any(turn.at for turn in turns)
    at, remark = (None, "") if dated else (archive.modified(name), _OF_FILE)
    title = PurePosixPath(name).stem if name.lower().endswith(".json") else PurePosixPath(name).name
    ident = digest("aistudio", title, turns[0].text if turns else "")
    yield dialogue.conversation(name, ident, title, turns, at, remark=remark)


def _system(found: object) -> Iterator[Turn]:
    if words := written(inside(found, "systemInstruction")).strip():
        yield Turn("", "quoted", told("system instruction", words))


def _chunk(chunk: Any, number: int) -> Iterator[Turn]:
    """What was said; thoughts are nobody's words."""
    at = dialogue.moment(inside(chunk, "createTime"))
    words, role = written(inside(chunk, "text")).strip(), inside(chunk, "role")
    for key in ("driveDocument", "driveImage", "driveAudio", "driveVideo", "inlineFile"):
        if inside(chunk, key) is not None:
            yield Turn(
                "", "tool", told("attached", f"{key} {written(inside(chunk, key, 'id'))}"), at
            )
    if code := inside(chunk, "executableCode"):
        yield Turn("", "tool", told("code", written(inside(code, "code") or code)), at)
    if words and role in ("user", "model") and inside(chunk, "isThought") is not True:
        ident = digest("chunk", str(number), words)
        yield Turn(ident, "user" if role == "user" else "assistant", words, at)


FORMAT: Final = Format("gemini", "Gemini (Google's My Activity, AI Studio)", recognises, read)
