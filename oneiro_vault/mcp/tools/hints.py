"""What to do next, for a model: hints of the App are written for people at a command line, and no
model sees a command it cannot run."""

from __future__ import annotations

import re
from typing import Final

IDS: Final = "recall_check returns ids."
_PERSON: Final = "A person can help at the command line."
_INSTEAD: Final = {
    **dict.fromkeys(("list", "recall", "show"), IDS),
    "reframe": "reframe changes that memory.",
    "dream": "dream_next shows the next question.",
    "restore": "A person can help: what was forgotten can be brought back.",
}
"""Command -> the sentence that stands where a hint names it."""
_TOOLS: Final = {
    "`get`": "recall_specific",
    "`reframe`": "reframe",
    "`query`": "topic",
    "`k`": "limit",
    "--since": "`since`",
    "--until": "`until`",
}
"""What an operation or an option of the command line is called here."""
_SENTENCE: Final = re.compile(r"(?:`[^`]*`|\.(?!\s|$)|[^.`])+(?:\.|$)")
_COMMAND: Final = re.compile(r"\boneiro(?: --?\S+)* ([a-z][a-z-]*)")
_THEIRS: Final = re.compile(r"--[a-z]|\bgit [a-z-]+ |`(?:git|kill) ")
"""Options and commands of other programs."""
_NAMED: Final = re.compile("|".join(map(re.escape, _TOOLS)))


def advice(text: str) -> str:
    """The same advice in the names of our tools; a sentence that needs a command says so, once."""
    sentences = [_spoken(sentence.strip()) for sentence in _SENTENCE.findall(text)]
    return " ".join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _spoken(sentence: str) -> str:
    command = _COMMAND.search(sentence)
    if command is not None:
        return _INSTEAD.get(command[1], _PERSON)
    sentence = _NAMED.sub(lambda name: _TOOLS[name[0]], sentence)
    return _PERSON if _THEIRS.search(sentence) else sentence
