"""What a dream asks and what comes back: the only thing a loop and a judge ever exchange.

A question quotes memories as data and names the form of its answer; its id is a hash of all it
shows, so it is never asked twice. Whatever is wrong with an answer, the verdict is "no change",
with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from oneiro_vault.core.markdown.quoting import PREFACE, attribute, quote
from oneiro_vault.core.memory import OWN_WORDS

LONGEST_ANSWER: Final = 200_000
"""Characters of an answer that are looked at; a longer one is refused unread."""
LONGEST_REASON: Final = 600
SHORT: Final = 200
"""Characters of a memory that needs no title beside it."""
ROLE: Final = "this is"
"""Name of the fact that says what a memory is in a question."""
TOGETHER: Final = ("said", "in the same conversation as the fact")
"""Stands beside a memory of the conversation that a fact comes from: it is of the question, so no
part of what `Shown.brief` says of the memory."""
DEEP: Final = "it is nested too deeply"
STOPPED: Final = "the run was stopped"


class ShownIdMark:
    """Marks a field of an answer that may only hold ids of memories the question showed."""


ShownId = Annotated[str, ShownIdMark()]


class Answer(BaseModel):
    """The form of an answer: no field may be missing, wrong or invented; `reason` says why in a
    sentence."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    reason: str = Field(max_length=LONGEST_REASON)


@dataclass(frozen=True)
class Shown:
    """One memory as a judge sees it."""

    id: str
    title: str
    text: str
    created: str = ""
    trust: str = ""
    source: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """Further facts that help to judge, as (name, value)."""
    short: str = ""
    """The text in fewer words, for whoever reads many memories at once; "" where there is none."""

    def quoted(self) -> str:
        """The memory as quoted data."""
        facts = "".join(f"{name}: {value}\n" for name, value in self.notes)
        return quote(
            f"{self.title}\n{facts}\n{self.text}".strip(),
            id=self.id,
            created=self.created,
            trust=self.trust,
            source=self.source,
        )

    def brief(self) -> str:
        """Not yet quoted: `id day trust (facts): text`, without what the text says anyway and the
        trust of a person's own words, with the title of a long one or one that has a role. Further
        lines are set in, so that what begins a line is never a note's own."""
        plain, day = " ".join(self.text.split()), self.created[:10]
        facts = dict(note for note in self.notes if note != TOGETHER)
        said = " ".join(self.title.partition(": ")[2].split() or self.title.split()).rstrip("…. ")
        if ROLE in facts or (len(plain) > SHORT and said not in plain):
            facts["title"] = self.title
        told = "; ".join(
            f"{name}: {value}"
            for name, value in facts.items()
            if name in (ROLE, "title")
            or (value != day and not all(one in plain for one in value.split(", ")))
        )
        trust = "" if self.trust in OWN_WORDS else attribute(self.trust)
        head = " ".join(filter(None, (self.id, attribute(day), trust, f"({told})" if told else "")))
        lines = (self.short or self.text).strip().splitlines()
        text = "\n".join(line for line in lines if line.strip())
        return f"{head}: {text}".replace("\n", "\n ")


@dataclass(frozen=True)
class Question:
    """`kind` names it for judges, `stage` for settings; `policy` grows when the wording or the
    rules change.

    `given` is the text in question when it is no memory yet (a capture's unit, a draft).
    """

    kind: str
    instruction: str
    form: type[Answer]
    shown: tuple[Shown, ...] = ()
    given: str = ""
    policy: int = 1
    stage: str = ""

    @cached_property
    def id(self) -> str:
        """20 hex digits that are the same whenever everything shown is the same."""
        parts = [
            self.kind,
            str(self.policy),
            self.instruction,
            self.given,
            json.dumps(self.schema, sort_keys=True),
        ]
        parts += [f"{one.id}\0{one.title}\0{one.text}\0{one.notes!r}" for one in self.shown]
        return sha256("\1".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the answer."""
        return _schema(self.form)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids an answer may name."""
        return tuple(one.id for one in self.shown)

    def prompt(self) -> str:
        """The whole question as text."""
        parts = [self.instruction]
        if self.shown or self.given:
            parts.append(PREFACE)
        parts += [one.quoted() for one in self.shown]
        parts.append(self.quoted_given())
        return "\n\n".join(filter(None, parts))

    def quoted_given(self) -> str:
        """The text in question as quoted data, "" without one."""
        return quote(self.given, id="given", created="", trust="", source="") if self.given else ""


@cache
def _schema(form: type[Answer]) -> dict[str, Any]:
    """Once: it is part of every question's id."""
    return form.model_json_schema()


@dataclass(frozen=True)
class Raw:
    """What a judge said, unchecked: `answer` (text or the parsed object), or `problem`."""

    answer: str | Mapping[str, Any] | None = None
    problem: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    waits: bool = False
    """Somebody may still answer: the question stays open and is not a failure."""
    by: str = ""
    """Who answered, where that is not the judge that was asked."""
    unasked: bool = False
    """Nobody was asked, for the reason in `problem`: the next run asks it."""
    away: bool = False
    """Whoever is asked could not be reached, or takes no questions now."""
    estimated: bool = False
    """The tokens are a guess from the length of what was sent and received."""
    cut: bool = False
    """It was asked, and the run ended before an answer came: that says nothing about the
    question."""
    began: float = field(default=float("inf"), compare=False)
    """When it was asked (monotonic seconds), where others were asked at the same time."""


@dataclass(frozen=True)
class Verdict:
    """A checked answer, or (`ok` False) the reason why nothing may follow from this question."""

    question: str
    ok: bool
    answer: Answer | None = None
    problem: str = ""
    judge: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    waits: bool = False
    kept: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The answer as it is stored."""
    unasked: bool = False
    """It waits because nobody was asked."""


def check(question: Question, raw: Raw, judge: str = "") -> Verdict:
    """Never raises: garbage, strange ids, wrong types and half answers are verdicts that change
    nothing."""
    found, problem = (None, raw.problem) if raw.problem else _parsed(raw.answer)
    answer: Answer | None = None
    if not problem:
        try:
            answer = question.form.model_validate_json(json.dumps(found))
            strangers = sorted(set(_named(answer)) - set(question.ids))
            problem = (
                f"it names memories that were not shown: {', '.join(strangers)[:120]}"
                if strangers
                else ""
            )
        except ValidationError as error:
            problem = _misfit(error)
        except RecursionError:
            problem = DEEP
        except (ValueError, TypeError) as error:
            problem = f"it cannot be read: {str(error)[:160]}"
    ok = answer is not None and not problem
    stored = found if ok and isinstance(found, Mapping) else {}
    return Verdict(
        question.id,
        ok,
        answer if ok else None,
        problem,
        raw.by or judge,
        raw.tokens_in,
        raw.tokens_out,
        raw.waits or raw.unasked,
        stored,
        raw.unasked,
    )


def _misfit(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if "recursion limit" in first["msg"]:
        return DEEP
    place = ".".join(str(part) for part in first["loc"]) or "the answer"
    return f"{place[:60]}: {first['msg'][:160]}"


def form_of(schema: Mapping[str, Any]) -> type[Answer] | None:
    """The form with this schema; None when it is of another version."""
    todo = list(Answer.__subclasses__())
    while todo:
        form = todo.pop()
        if _schema(form) == schema:
            return form
        todo += form.__subclasses__()
    return None


def _parsed(answer: str | Mapping[str, Any] | None) -> tuple[Any, str]:
    if answer is None:
        return None, "there is no answer"
    if isinstance(answer, str):
        if len(answer) > LONGEST_ANSWER:
            return None, f"the answer has {len(answer):,} characters"
        try:
            answer = json.loads(answer)
        except RecursionError:
            return None, DEEP
        except ValueError as error:
            return None, f"it is not JSON: {str(error)[:120]}"
    if not isinstance(answer, Mapping):
        return None, "it is not an object"
    try:
        text = json.dumps(answer, ensure_ascii=False)
        text.encode()
    except RecursionError:
        return None, DEEP
    except (ValueError, TypeError) as error:
        return None, f"it cannot be read: {str(error)[:120]}"
    if len(text) > LONGEST_ANSWER:
        return None, f"the answer has {len(text):,} characters"
    return (
        None if "\\u0000" in text else answer,
        "it holds a NUL character" if "\\u0000" in text else "",
    )


def names_memories(form: type[Answer]) -> set[str]:
    """The fields of an answer that hold ids of memories its question shows."""
    return {name for name, info in form.model_fields.items() if _holds_ids(info)}


def _holds_ids(info: FieldInfo) -> bool:
    return any(isinstance(mark, ShownIdMark) for mark in info.metadata) or "ShownIdMark" in repr(
        info.annotation
    )


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            held = getattr(value, name)
            if _holds_ids(info):
                yield from _strings(held)
            else:
                yield from _named(held)
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _named(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _named(held)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
