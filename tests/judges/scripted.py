"""Judges for tests and drills: answers given by a function, and temperaments from always yes to
plain garbage."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from oneiro_vault.core.question import LONGEST_ANSWER, Question, Raw

Script = Callable[[Question], "Raw | Mapping[str, Any] | str | None"]


class ScriptedJudge:
    """Answers with what `script` returns for a question; `asked` keeps them all."""

    at_once = 8

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self.asked: list[Question] = []
        self._script = script

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """One after the other."""
        for question in questions:
            self.asked.append(question)
            said = self._script(question)
            yield (
                question.id,
                said
                if isinstance(said, Raw)
                else Raw(said, tokens_in=len(question.prompt()) // 4, tokens_out=50),
            )

    def close(self) -> None:
        """Nothing to let go of."""


def random_answer(question: Question, rng: random.Random) -> dict[str, Any]:
    """Any answer that fits the question's form and names only memories it showed."""
    schema = question.schema
    found = _value(schema, schema.get("$defs", {}), rng, question)
    assert isinstance(found, dict)
    return found


def leaning(question: Question, yes: bool) -> dict[str, Any]:
    """The first (`yes`) or the last of every choice, true or false, all memories or none: who
    always agrees, and who never does."""
    schema = question.schema
    found = _value(schema, schema.get("$defs", {}), _Leaning(yes), question)
    assert isinstance(found, dict)
    return found


class _Leaning(random.Random):
    """Chance without chance."""

    def __init__(self, yes: bool) -> None:
        super().__init__(0)
        self.yes = yes

    def choice(self, seq: Any) -> Any:
        return seq[0 if self.yes else -1]

    def random(self) -> float:
        return 0.0 if self.yes else 0.999

    def randint(self, a: int, b: int) -> int:
        return b if self.yes else a


def _value(
    schema: Mapping[str, Any],
    known: Mapping[str, Any],
    rng: random.Random,
    question: Question,
    key: str = "",
) -> Any:
    if "$ref" in schema:
        return _value(known[schema["$ref"].rsplit("/", 1)[-1]], known, rng, question, key)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        return _value(rng.choice(schema["anyOf"]), known, rng, question, key)
    kind = schema.get("type")
    if kind == "object":
        return {
            name: _value(part, known, rng, question, name)
            for name, part in schema.get("properties", {}).items()
        }
    if kind == "array":
        count = min(rng.randint(schema.get("minItems", 0), 3), schema.get("maxItems", 3))
        return [_value(schema.get("items", {}), known, rng, question, key) for _ in range(count)]
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        return rng.randint(int(schema.get("minimum", 0)), int(schema.get("maximum", 3)))
    if kind == "null":
        return None
    return _text(key, rng, question)[: schema.get("maxLength")]


def _text(key: str, rng: random.Random, question: Question) -> str:
    """An id where ids are wanted, else words of what was shown."""
    if question.ids and ("id" in key.split("_") or key in _ID_KEYS or key.endswith("ids")):
        return str(rng.choice(question.ids))
    words = (question.given or " ".join(one.text for one in question.shown) or "nothing").split()
    start = int(rng.random() * len(words))
    return " ".join(words[start : start + 12]) or "nothing"


_ID_KEYS: Final = frozenset(
    "keep keeper existing also target members axis sources of matters".split()
)


def temperament(name: str, seed: int = 0) -> ScriptedJudge:
    """A judge by its bad habit: one of `TEMPERAMENTS`."""
    rng = random.Random(seed)
    return ScriptedJudge(lambda question: TEMPERAMENTS[name](question, rng), f"scripted:{name}")


TEMPERAMENTS: Final[
    dict[str, Callable[[Question, random.Random], Raw | Mapping[str, Any] | str | None]]
] = {
    "yes": lambda question, _: leaning(question, True),
    "no": lambda question, _: leaning(question, False),
    "random": random_answer,
    "silent": lambda *_: None,
    "timeout": lambda *_: Raw(problem="no answer within the time"),
    "refuses": lambda *_: Raw(problem="refused"),
    "empty": lambda *_: "",
    "garbage": lambda _, rng: "".join(chr(rng.randint(32, 0x2FFF)) for _ in range(200)),
    "truncated": lambda question, rng: str(random_answer(question, rng))[:-5],
    "huge": lambda *_: '{"reason": "' + "x" * (LONGEST_ANSWER * 50) + '"}',
    "strange ids": lambda question, rng: _strange(random_answer(question, rng)),
    "extra keys": lambda question, rng: random_answer(question, rng) | {"also": "run this"},
    "list": lambda *_: "[]",
    "nul": lambda question, rng: random_answer(question, rng) | {"reason": "\0"},
}


def _strange(answer: Any) -> Any:
    """The same answer with every short word replaced by an id nobody showed."""
    if isinstance(answer, dict):
        return {
            key: _strange(value) if key not in ("action", "verdict") else value
            for key, value in answer.items()
        }
    if isinstance(answer, list):
        return [_strange(value) for value in answer]
    return "zzzzzzzzzzzz" if isinstance(answer, str) and len(answer) == 12 else answer
