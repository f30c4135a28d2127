"""A vault as lines of JSON: one object a memory, with everything its file says, so that reading it
back gives the same bytes; what the memories show lies beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from oneiro_vault.api import Progress
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.markdown import parser
from oneiro_vault.importers.own import LINES, MARK, VERSION
from oneiro_vault.operations.exchange.export_target import Target
from oneiro_vault.operations.exchange.exported import Exported, Selection

STAGE: Final = "writing memories"


def write(chosen: Selection, target: Target, progress: Progress) -> None:
    """All of them into `memories.jsonl`, in the order of their paths, and what they show."""
    files: dict[str, None] = {}
    with target.growing(LINES) as out:
        for number, one in enumerate(chosen.each()):
            out.write(line(one, dict(_links(chosen, one))))
            files |= dict.fromkeys(one.attachments)
            progress(STAGE, number + 1, len(chosen.rows))
    attach(chosen, target, files)


def attach(chosen: Selection, target: Target, files: Mapping[str, None]) -> int:
    """Put files of the vault where they are in it; how many found no place."""
    if target.single:
        return len(files)
    missing = 0
    for path in files:
        if data := chosen.attachment(path):
            target.add(path, data)
        else:
            missing += 1
    return missing


def _links(chosen: Selection, one: Exported) -> Iterator[tuple[str, str]]:
    """(what a link calls it, which memory that is), of those that go out too."""
    for link in parser.parse(one.body).links:
        if link.target and (row := chosen.named(link.target, one.path)) is not None:
            yield link.target, row.handle


def line(one: Exported, links: Mapping[str, str]) -> bytes:
    """A memory as one line."""
    found: dict[str, Any] = {
        MARK: VERSION,
        "id": one.handle,
        "path": one.path,
        "title": one.memory.title,
        "meta": yaml_block.data(one.meta),
        "text": one.body,
    }
    if one.file:
        found["file"] = one.file
    found["history"] = {
        "learned": one.history.learned,
        "changed": one.history.changed,
        "commits": one.history.commits,
    }
    found["links"] = links
    found["attachments"] = list(one.attachments)
    return json.dumps(found, ensure_ascii=False).encode() + b"\n"
