"""What only a person does: say that an orientation block is theirs, which no loop and no model
changes then, and answer questions."""

from __future__ import annotations

from hashlib import sha256

from oneiro_vault import answers
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import InvalidInput
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.change import Operation, Write

_KEPT = "Nothing was changed."


def ratify(
    house: House, id: str, undo: bool = False, reason: str = "", actor: str = "user"
) -> answers.Ratified:
    """Make an orientation block `core`, or (`undo`) an ordinary one again. One that was whittled
    wakes up with it.

    A block that speaks to its reader is ratified like any other, since a person may write what they
    like; `prescribes` says so.
    """
    from oneiro_vault.classify import orientation_gate  # as in `drafts`

    if actor != "user":
        raise InvalidInput(
            "only a person ratifies",
            kept=_KEPT,
            hint=f"A person runs `oneiro ratify {id}` in a terminal.",
        )
    row = house.resolve(id)
    data, known = house.load(row)
    if known.type != "orientation":
        hint = "Only what is always loaded is ratified: notes of the type `orientation`."
        raise InvalidInput(f"{row.title} is of the type {known.type}", kept=_KEPT, hint=hint)
    if known.status not in ("active", "dormant") and not undo:
        raise InvalidInput(
            f"{row.title} is {known.status}",
            kept=_KEPT,
            hint="Set its status to active first, if it holds.",
        )
    changes: dict[str, object | None] = {}
    if known.core == undo:
        changes["core"] = None if undo else True
    if known.status == "dormant" and not undo:
        changes["status"] = None
    why = "" if undo else orientation_gate.prescribes(f"{known.title}\n\n{known.body}")
    answer: answers.Ratified = {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "core": not undo,
        "prescribes": why or None,
        "commit": None,
    }
    if not changes:
        return answer
    content = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), changes))
    operation = Operation(
        "ratify",
        f"{row.title} is no longer core" if undo else row.title,
        actor,
        (known.id,) if known.id else (),
        reason,
    )
    receipt = house.vault.apply([Write(row.path, content, sha256(data).hexdigest())], operation)
    house.refresh([*receipt.written, row.path])
    return {**answer, "commit": receipt.commit or None}


def resolve(house: House, id: str, reason: str = "", actor: str = "user") -> answers.Resolved:
    """The open questions of a note are answered: its flags go, its words stay as they are."""
    if actor != "user":
        raise InvalidInput(
            "these are questions for a person",
            kept=_KEPT,
            hint=f"A person runs `oneiro flags --resolve {id}` in a terminal.",
        )
    row = house.resolve(id)
    data, known = house.load(row)
    answer: answers.Resolved = {
        "schema": 1,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "flags": list(known.flags),
        "commit": None,
    }
    if not known.flags:
        return answer
    content = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), {"flags": None}))
    operation = Operation("resolve", row.title, actor, (known.id,) if known.id else (), reason)
    receipt = house.vault.apply([Write(row.path, content, sha256(data).hexdigest())], operation)
    house.refresh([*receipt.written, row.path])
    return {**answer, "commit": receipt.commit or None}
