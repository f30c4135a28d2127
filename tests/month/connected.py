"""A connected model: it knows of a question what the tools of the set `dreams` show, answers
through them, and counts what went either way."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from oneiro_vault.app import App
from oneiro_vault.core.question import TOGETHER, Answer, Question, Shown
from tests.mcp.speaking import Heard, connected, run, server_over

Script = Callable[[Question], Mapping[str, Any]]
NOTHING: Final = "No question waits."
_KIND: Final = re.compile(r"of the kind ([\w.]+)\.$", re.MULTILINE)
_QUESTION: Final = re.compile(
    r"^Question (\w+):((?: \w+)*)(?: \(in the same conversation:((?: \w+)+)\))?$", re.MULTILINE
)
_QUOTED: Final = re.compile(r"^<memory>\n(.*?)\n</memory>$", re.MULTILINE | re.DOTALL)
_HEAD: Final = re.compile(
    r"(\w+)(?: (\d{4}-\d\d-\d\d))?(?: (\w+))?(?: \((.*?)\))?: (.*)", re.DOTALL
)


@dataclass
class Read:
    """What a model keeps of the batches of one conversation: instructions by kind, and every memory
    that was quoted."""

    instructions: dict[str, str] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)

    def questions(self, text: str) -> Iterator[tuple[str, Question]]:
        """The questions of a batch under the names it gives them."""
        found = _KIND.search(text)
        if found is None:
            return
        kind, rest = found[1], text[found.end() :].strip()
        if not rest.startswith("Instruction and schema"):
            self.instructions[kind] = rest.partition("\n\nStored notes")[0]
        for quoted in _QUOTED.findall(text):
            self.memories |= {
                line.split(" ", 1)[0].rstrip(":"): line for line in re.split(r"\n(?! )", quoted)
            }
        for ident, ids, together in _QUESTION.findall(text):
            given = self.memories.get(ident, "").partition(": ")[2]
            shown = tuple(
                _shown(self.memories[one], one in together.split()) for one in ids.split()
            )
            yield ident, Question(kind, self.instructions[kind], Answer, shown, given)


def _shown(line: str, together: bool) -> Shown:
    found = _HEAD.fullmatch(line)
    assert found is not None, line
    ident, day, trust, told, text = found.groups()
    facts = dict(fact.partition(": ")[::2] for fact in (told or "").split("; ") if fact)
    title = facts.pop("title", "")
    words = text.replace("\n ", "\n")
    notes = (*facts.items(), *([TOGETHER] if together else []))
    return Shown(ident, title, words, day or "", trust or "", notes=notes)


@dataclass
class Account:
    """Calls, and characters of what was said to the model and by it, by the kind of question."""

    calls: int = 0
    questions: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    answers: list[tuple[str, Question, dict[str, Any]]] = field(default_factory=list)
    """(short id, the question as it was read, what was answered)."""

    @property
    def characters(self) -> int:
        """In both directions."""
        return self.heard.total() + self.said.total()


def converse(app: App, script: Script, account: Account) -> None:
    """One conversation, in which every question that waits is answered."""

    async def talk() -> None:
        async with connected(server_over(app, sets=["dreams"]), "auto") as client:
            await _answer_all(client, script, account)

    run(talk())


async def _answer_all(client: Heard, script: Script, account: Account) -> None:
    read = Read()
    text = await client.said("dream_next")
    account.calls += 1
    while True:
        batch = dict(read.questions(text))
        kind = next((one.kind for one in batch.values()), "")
        account.heard[kind] += len(text)
        if not batch:
            return
        said = {ident: without_null(script(one)) for ident, one in batch.items()}
        account.answers += [(ident, one, said[ident]) for ident, one in batch.items()]
        account.questions[kind] += len(said)
        account.said[kind] += len(json.dumps({"answers": said}, ensure_ascii=False))
        text = await client.said("dream_decide", answers=said)
        account.calls += 1


def without_null(answer: Mapping[str, Any]) -> dict[str, Any]:
    """As a model answers: what may be left out and says nothing is left out."""
    return {name: value for name, value in answer.items() if value is not None}
