"""Which of what a trained tagger doubts in a typed line, or what is in another language, is its
writer's after all: what goes on with their own words, where nothing tells of others'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oneiro_vault.core.conversation import tagging
from oneiro_vault.core.conversation.signs import (
    ENGLISH,
    SIGNS,
    UNKNOWN,
    Extent,
    cued,
    tells_reader,
)
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect, is_english

_NEAR: Final = 80
"""Characters at the end of a text in which a conjunction may stand."""
_FEW: Final = 30
"""Words of a lone sentence that somebody typed."""
_SHORT: Final = 3
"""Words of a sentence too short to tell its language."""
_KNOWN: Final = ("", ENGLISH, "de")
"""Languages in which it can be told whether somebody speaks of others' words."""


def of(
    line: str, words: Sequence[tagging.Word], parts: Sequence[Extent], plain: bool, alone: bool
) -> Iterator[Extent]:
    """From the first word of each sentence that `tagging` takes for somebody else's, to its end;
    behind one that is its writer's after all, what it would say without that one."""
    doubts, settled = tagging.doubtful(line), 0
    for number, (_, start, stop) in enumerate(words[: len(doubts)]):
        if start < settled or doubts[number] < tagging.SURE or not line[start].isalnum():
            continue
        settled = next((end for _, end in parts if end >= stop), len(line))
        if plain and (
            (not number and alone and _lone(line))
            or _in_passing(line, start, parts)
            or _breaks_off(line, start, settled, parts)
            or _dictates(line[:start], line[start:settled])
        ):
            behind = sum(begins < settled for _, begins, _ in words)
            fresh = tagging.doubtful(line[settled:])
            doubts[behind:] = map(min, doubts[behind:], fresh)
        elif not (plain and _goes_on(line[:start], parts)):
            yield start, settled


def _breaks_off(line: str, start: int, end: int, parts: Sequence[Extent]) -> bool:
    """Do these words stand in the middle of a sentence, without a mark or a word that tells of
    others', and as nobody begins? Then nothing was pasted there."""
    begins = max((one for one, _ in parts if one < start), default=0)
    before, said = line[begins:start], line[start:end]
    known = SIGNS["known"].search(line) and detect(line) in _KNOWN
    told = cued(line[:end]) or SIGNS["left_by"].search(line[:end])
    if not before.strip() or not known or told:
        return False
    if tells_reader(said) or SIGNS["utterance"].match(said):
        return False
    small = not said[:1].isupper() and SIGNS["midway"].search(before)
    return bool(small or SIGNS["broken_off"].search(before))


def _in_passing(line: str, at: int, parts: Sequence[Extent]) -> bool:
    """Does a sentence begin here, in a line of small letters that asks or tells a reader nothing,
    nor speaks of others' words? Who pastes a sentence has something to say about it."""
    small = all(line[start].islower() for start, _ in parts) and at in dict(parts)
    told = cued(line) or any(SIGNS[one].search(line) for one in ("left_by", "elsewhere", "readers"))
    known = SIGNS["known"].search(line) and detect(line) in _KNOWN
    return bool(small and known and not told and "?" not in line and not tells_reader(line))


def _dictates(before: str, said: str) -> bool:
    """Does somebody say behind a colon how they do something ("how I close up: first …")?"""
    if not before.rstrip().endswith((":", "：")):
        return False
    head = SIGNS["to_write"].sub("", before.rstrip(" :："))
    if any(SIGNS[one].search(head) for one in ("names_it", "others_words", "elsewhere")):
        return False
    own = SIGNS["own_way"].search(head) or SIGNS["first_step"].match(said)
    strange = tells_reader(said) or SIGNS["utterance"].match(said)
    return bool(own and SIGNS["claims"].search(head)) and not strange


def _lone(line: str) -> bool:
    """Is it one sentence, of somebody who speaks of themselves and to nobody? Who pastes, asks or
    says something, too."""
    first, *more = claims.split_sentences(line) or [""]
    speaks = SIGNS["claims"].search(first) and len(first.split()) <= _FEW
    if more or "?" in first or detect(line) not in _KNOWN:
        return False
    strange = cued(line) or tells_reader(line) or SIGNS["readers"].search(line)
    return bool(speaks and not strange)


def _goes_on(before: str, parts: Sequence[Extent]) -> bool:
    """Does a clause join what its writer has just said of themselves ("my name is Jo, and I ..."),
    where nothing so far tells of others' words? Nobody pastes after an "and"."""
    begins = max((start for start, _ in parts if start < len(before)), default=0)
    if not (joint := SIGNS["joint"].search(before, begins)):
        return False
    said = before[begins : joint.start()]
    told = any(SIGNS[sign].search(before) for sign in ("names_it", "others_words"))
    return bool(SIGNS["claims"].search(said)) and not told


def joint(before: str) -> int:
    """Where the conjunction stands with which a text ends, and the marks before it: its length
    when there is none."""
    found = SIGNS["joint"].search(before, max(0, len(before) - _NEAR))
    return found.start() if found and not found["rest"] else len(before)


def another_language(parts: Sequence[str]) -> int | None:
    """English is mixed in by everybody; and who writes it goes on in a language of their own, where
    they ask nothing about it, in small letters or with English in it."""
    language = ""
    for number, sentence in enumerate(parts):
        found = detect(sentence) if len(sentence.split()) > _SHORT else ""
        english = is_english(sentence) or bool(SIGNS["english_words"].search(sentence))
        found = found or (ENGLISH if english else "")
        if language and found not in ("", language, ENGLISH) and SIGNS["claims"].search(sentence):
            mixes = sentence[:1].islower() or english
            if language != ENGLISH or not mixes or _asks_about(parts, number):
                return number
        language = found or language or (UNKNOWN if sentence.endswith(("?", "？")) else "")
    return None


def _asks_about(parts: Sequence[str], number: int) -> bool:
    """Does the sentence before tell of words that are somebody else's, or any ask about them?"""
    before = parts[number - 1]
    told = cued(before) or SIGNS["elsewhere"].search(before) or before.endswith("?")
    return bool(told or SIGNS["speech"].search(" ".join(parts)))
