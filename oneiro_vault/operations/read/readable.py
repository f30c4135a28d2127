"""What a memory says, even while its file cannot tell (then its last good version speaks); and
never a secret that is in it."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.salvage import BROKEN
from oneiro_vault.core.memory import Memory, parse
from oneiro_vault.errors import DiskProblem, NotFound, OneiroError, UnreadableNote, UnsafePath
from oneiro_vault.index.base import Row
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.vault.health.problems import SECRET
from oneiro_vault.vault.secrets.secret_scan import told

FORMER, SALVAGED = "the last good version", "what can be read of it"
VEILED: Final = "all but the secret in it"
"""What is shown in place of a file that cannot be read."""
_MEND: Final = "Correct that file in any editor and save it; until then this version is served."
_CHECK: Final = (
    "Correct that file in any editor: `oneiro check` says how, `oneiro check --fix` does what is "
    "plain."
)
_RETURN: Final = (
    "If that was an accident, `git restore` brings the file back; else commit that it is gone."
)


def served(indexing: Indexing, row: Row) -> tuple[bytes, Memory, answers.Notice | None]:
    """The bytes of a note, what may be shown of what they say, and a notice when that is not what
    is on disk. Raises NotFound for a note that is gone."""
    data = b""
    try:
        data = indexing.vault.read(row.path)
        shown = indexing.vault.secrets.shown(data)
        return data, parse(row.path, shown), None if shown == data else _veiled(indexing, row, data)
    except (UnreadableNote, UnsafePath, DiskProblem) as error:
        if data and not BROKEN.isdisjoint(row.problems):
            return (
                data,
                _salvaged(indexing, row),
                {"path": row.path, "reason": str(error), "hint": _CHECK, "shown": SALVAGED},
            )
        reason, hint = str(error), _MEND
    except NotFound:
        if row.path not in indexing.held:
            raise
        reason, hint = f"the file is gone ({indexing.braked})", _RETURN
    notice: answers.Notice = {"path": row.path, "reason": reason, "hint": hint, "shown": FORMER}
    return *_last_good(indexing, row), notice


def _veiled(indexing: Indexing, row: Row, data: bytes) -> answers.Notice:
    what = told(indexing.vault.secrets.inside(row.path, data))
    return {
        "path": row.path,
        "reason": f"it holds what looks like {what}",
        "hint": SECRET,
        "shown": VEILED,
    }


def _last_good(indexing: Indexing, row: Row) -> tuple[bytes, Memory]:
    try:
        data = indexing.vault.past.data(row.blob)
        return data, parse(row.path, indexing.vault.secrets.shown(data))
    except OneiroError:
        known = _salvaged(indexing, row)
        return yaml_block.encode(known.body), known


def _salvaged(indexing: Indexing, row: Row) -> Memory:
    values = {
        item.name: getattr(row, item.name) for item in fields(Memory) if item.name in Row._fields
    }
    return Memory(**values | {"body": indexing.index.body(row.key)})
