"""Questions that wait for the connected model or a person, and their answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.markdown.quoting import escape
from oneiro_vault.core.question import (
    DEEP,
    LONGEST_ANSWER,
    Question,
    Raw,
    Shown,
    check,
    form_of,
    names_memories,
)
from oneiro_vault.errors import (
    Elsewhere,
    InvalidInput,
    LockTimeout,
    NotFound,
    OneiroError,
    shown,
)
from oneiro_vault.judges import deferred
from oneiro_vault.mind.loops import encode
from oneiro_vault.operations.dream import choose_judge, run_now
from oneiro_vault.operations.dream.run_now import LOOPS
from oneiro_vault.operations.runtime import House

MOST: Final = 45
"""Questions of a batch."""
ROOM: Final = 16_000
"""Characters of quoted memories in a batch of more than one question, about 4,000 tokens."""
FOLLOWING: Final = ("consolidate", "synthesize", "entities", "distil")
"""Loops that go on with what `encode` has filed, in the same go: what a conversation said would
else reach the orientation one night and one sitting later."""
SHORTEST: Final = 4
"""Characters of an id that stand for it."""
Sitting: TypeAlias = dict[str, frozenset[int]]
"""Question that waits -> hashes of what whoever was asked it has read in the same sitting: memories
under their names there, instructions with their forms."""
_WAITS: Final = "Nothing was changed; the question still waits."


def dream_next(house: House) -> answers.NextQuestion:
    """The first question in the order of a night (what was said comes before what follows from
    it), as a text with quoted memories and the form of its answer, and the `batch` it can be
    answered in."""
    found = _waiting(house)
    house.dreams.sitting.clear()  # whoever asks anew may have read nothing
    return {
        "schema": 1,
        "question": found[0] if found else None,
        "waiting": len(found),
        "batch": batch(found, sitting=house.dreams.sitting),
    }


def _waiting(house: House) -> list[answers.Question]:
    """Those without an answer, by the loops of a night; of one loop the oldest first."""
    left = run_now.left_open(house.dreams)
    found = deferred.waiting(choose_judge.folder(house.dreams))
    loops = {ident: place for place, name in enumerate(LOOPS) for ident in left.get(name, ())}
    return sorted(found, key=lambda one: loops.get(str(one["id"]), len(LOOPS)))


def batch(
    waiting: Sequence[answers.Question],
    answered: Sequence[answers.Question] = (),
    sitting: Sitting | None = None,
) -> answers.Batch | None:
    """The first question with others of its kind, or one like those just `answered` with others
    like that: instruction and form once, every memory once.

    `quoted` are all memories but those that whoever answers has read in the `sitting`, and texts
    that are no memories yet under the name of their question; "" without any. Ids go by as much of
    them as tells them apart. `again`: instruction and form were read before.
    """
    sitting = {} if sitting is None else sitting
    known = frozenset[int]().union(*(sitting.pop(str(one["id"]), ()) for one in answered))
    for ident in sitting.keys() - {str(one["id"]) for one in waiting}:
        del sitting[ident]
    if not waiting:
        return None
    chosen = _fitting_together(waiting, answered)
    short = _short([*waiting, *answered])
    memories = {ident: text for entry in chosen for ident, text in _quoted(entry)}
    named = {ident: f"{short[ident]}{text.removeprefix(ident)}" for ident, text in memories.items()}
    lines = [line for line in named.values() if hash(line) not in known]
    lines += [f"{short[entry['id']]}: {given}" for entry in chosen if (given := _given(entry))]
    whole = _asks(chosen[0])
    now = known | {*map(hash, named.values()), hash(whole)}
    for entry in chosen:  # of two who were asked the same what both have read
        sitting[entry["id"]] = now & sitting.get(entry["id"], now)
    return {
        "kind": chosen[0]["kind"],
        "instruction": chosen[0]["instruction"],
        "answer": chosen[0]["schema"],
        "again": hash(whole) in known,
        "quoted": f"<memory>\n{escape(chr(10).join(lines))}\n</memory>" if lines else "",
        "questions": [
            {
                "id": short[entry["id"]],
                "ids": [short[name] for name in entry["ids"]],
                "together": [short[name] for name in entry.get("together", ())],
            }
            for entry in chosen
        ],
    }


def _fitting_together(
    waiting: Sequence[answers.Question], answered: Sequence[answers.Question]
) -> list[answers.Question]:
    kinds = {_asks(one) for one in answered}
    kind = _asks(next((one for one in waiting if _asks(one) in kinds), waiting[0]))
    found: list[answers.Question] = []
    memories: dict[str, str] = {}
    given = 0
    for entry in (one for one in waiting if _asks(one) == kind):
        if len(found) == MOST:
            break
        quoted = dict(_quoted(entry))
        if any(memories.get(ident, text) != text for ident, text in quoted.items()):
            continue  # another part of the same memory: it has a batch of its own
        size = sum(map(len, (memories | quoted).values())) + given + len(_given(entry))
        if found and size > ROOM:
            continue
        memories |= quoted
        given += len(_given(entry))
        found.append(entry)
    return found


def _quoted(entry: answers.Question) -> Iterable[tuple[str, str]]:
    return zip(entry["ids"], entry["memories"], strict=True)


def _given(entry: answers.Question) -> str:
    return " ".join(str(entry["given"]).split())


def _asks(entry: answers.Question) -> str:
    """What all questions of a batch have in common."""
    return json.dumps([entry["kind"], entry["instruction"], entry["schema"]])


def _short(waiting: Sequence[answers.Question]) -> dict[str, str]:
    """id -> its beginning that no other one of these has."""
    every = {str(entry["id"]) for entry in waiting} | {
        str(ident) for entry in waiting for ident in entry["ids"]
    }
    often = Counter(ident[:length] for ident in every for length in range(SHORTEST, len(ident)))
    return {
        ident: next(
            (
                ident[:length]
                for length in range(SHORTEST, len(ident))
                if often[ident[:length]] == 1
            ),
            ident,
        )
        for ident in every
    }


def dream_answers(
    house: House, answers: Mapping[str, Any] | str, progress: Progress = quiet
) -> answers.AnswersTaken:
    """Answer several questions, {id: answer}; `batch` are the next. What does not fit is `refused`
    and waits on; a loop goes on after the last answer to what it asked. When none fits, raises
    NotFound for a question that does not wait, InvalidInput for an answer that a loop would not
    take."""
    place = choose_judge.folder(house.dreams)
    known = {str(entry["id"]): entry for entry in _waiting(house)}
    fitting: dict[str, Mapping[str, object]] = {}
    refused: dict[str, OneiroError] = {}
    for name, said in _parsed(answers, MOST * LONGEST_ANSWER).items():
        ident = whole(name, known)
        try:
            fitting[ident] = _fitting(known, ident, said)
        except OneiroError as error:
            refused[name] = error
    if not fitting:
        raise next(iter(refused.values()), InvalidInput("there is no answer in it", kept=_WAITS))
    for ident, answer in fitting.items():
        deferred.answer(place, ident, answer)
    runs = _go_on(house, fitting, [one for one in known if one not in fitting], progress)
    waiting = _waiting(house)
    return {
        "schema": 1,
        "taken": len(fitting),
        "refused": [
            {"id": ident, "problem": f"{error}. {error.kept}"} for ident, error in refused.items()
        ],
        "waiting": len(waiting),
        "runs": runs,
        "batch": batch(waiting, [known[ident] for ident in fitting], house.dreams.sitting),
    }


def _go_on(
    house: House, answered: Iterable[str], waiting: Sequence[str], progress: Progress
) -> list[answers.Run]:
    """Run the loops that asked what was answered, and once all of it is filed those that go over
    it, as far as none of their own questions waits; where what they decide is to be reviewed,
    together after the last answer. The next run does it where they cannot run now."""
    left, review = run_now.left_open(house.dreams), run_now.to_review(house.dreams)
    asked = [name for name in LOOPS if not set(answered).isdisjoint(left.get(name, ()))]
    free = [name for name in LOOPS if set(waiting).isdisjoint(left.get(name, ()))]
    loops = [name for name in asked if name in free]
    if review:
        loops = [] if waiting else [name for name in LOOPS if left.get(name)]
    runs = _run(house, loops, review, progress)
    if encode.name in loops and not run_now.left_open(house.dreams).get(encode.name):
        after = [name for name in free if name in FOLLOWING and name not in loops]
        runs += _run(house, after, review, progress)
    return runs


def _run(house: House, loops: Sequence[str], review: bool, progress: Progress) -> list[answers.Run]:
    if not loops:
        return []
    judge = run_now.asked_by(house.dreams)
    try:
        return run_now.run(house, loops, judge, review=review, progress=progress)["runs"]
    except (LockTimeout, Elsewhere):  # the answers are kept
        return []


def _fitting(
    known: Mapping[str, answers.Question], ident: str, answer: Any
) -> Mapping[str, object]:
    if ident not in known:
        raise NotFound(
            f"no question {shown(ident)} waits: it was answered, or is asked anew under another id "
            "since what it shows has changed",
            kept="What was answered before stays as it is.",
            hint="`oneiro dream answer` shows the next one.",
        )
    said = _with_ids(_parsed(answer, LONGEST_ANSWER), known[ident])
    if problem := _objection(known[ident], said):
        raise InvalidInput(
            f"the answer does not fit: {problem}",
            kept=_WAITS,
            hint="The question says what form its answer has and which memories it shows.",
        )
    return said


def whole(name: str, known: Iterable[str]) -> str:
    """The id that begins so, where only one does; else what was given."""
    found = [ident for ident in known if len(name) >= SHORTEST and ident.startswith(name)]
    return found[0] if len(found) == 1 else name


def _with_ids(said: Mapping[str, object], entry: answers.Question) -> Mapping[str, object]:
    form, ids, found = form_of(entry["schema"]), entry["ids"], dict(said)
    for key in names_memories(form) & found.keys() if form else ():
        value = found[key]
        if isinstance(value, str):
            found[key] = whole(value, ids)
        elif isinstance(value, list):
            found[key] = [whole(one, ids) if isinstance(one, str) else one for one in value]
    return found


def _objection(entry: answers.Question, said: Mapping[str, Any]) -> str:
    """ "" when nothing."""
    form = form_of(entry["schema"])
    if form is None:
        return (
            "its question was asked by another version of the program; the next run of its loop "
            "asks it anew"
        )
    question = Question(
        str(entry["kind"]), "", form, tuple(Shown(str(ident), "", "") for ident in entry["ids"])
    )
    return check(question, Raw(said)).problem


def _parsed(answer: Any, longest: int) -> Mapping[str, object]:
    try:
        found = json.loads(answer) if isinstance(answer, str) else answer
        size = len(json.dumps(found))
    except RecursionError as error:
        raise InvalidInput(f"the answer does not fit: {DEEP}", kept=_WAITS) from error
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"the answer is not JSON: {str(error)[:120]}", kept=_WAITS) from error
    if not isinstance(found, Mapping):
        raise InvalidInput(
            "the answer must be a JSON object",
            kept=_WAITS,
            hint='Such as {"action": "keep_distinct", "reason": "…"}.',
        )
    if size > longest:
        raise InvalidInput(f"the answer has {size:,} characters; {longest:,} are read", kept=_WAITS)
    return dict(found)
