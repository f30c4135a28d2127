"""Notes whose frontmatter cannot be read: what is wrong with them in one paragraph, and the mend
where there is only one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from difflib import unified_diff

from oneiro_vault import answers
from oneiro_vault.core.frontmatter.salvage import Fault, fault, mended
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import OneiroError, few
from oneiro_vault.operations.care.lint import problem
from oneiro_vault.operations.runtime import House


def faults(house: House) -> Iterator[tuple[str, bytes, Fault]]:
    """(path, bytes, what is wrong) of every note that is found by its words although it cannot be
    read."""
    for path in house.index.broken():
        try:
            data = house.vault.read(path)
        except OneiroError:
            continue
        if wrong := fault(data):
            yield path, data, wrong


def paragraph(house: House) -> Iterator[answers.Problem]:
    """One finding for all of them."""
    kinds: dict[str, list[str]] = defaultdict(list)
    found = [(path, wrong) for path, _, wrong in faults(house)]
    for path, wrong in found:
        kinds[wrong.mend].append(f"{path} (line {wrong.line})" if wrong.line else path)
    if not found:
        return
    count = "1 note" if len(found) == 1 else f"{len(found)} notes"
    how = "; ".join(
        f"{mend}: {few(paths)}"
        for mend, paths in sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    )
    text = (
        f"{count} cannot be read in full: every word is found, and nothing is written into them. "
        f"To mend: {how}"
    )
    path, wrong = found[0]
    yield problem(
        path,
        "broken",
        "error",
        text,
        "`oneiro check --fix` quotes the values that only need quotes.",
        wrong.line,
    )


def mend(house: House, yes: bool = False) -> answers.Mended:
    """Quote the values that are no YAML without quotes, where that alone makes a note readable.
    Without `yes` nothing is changed.

    `mends` has path and diff of each; `left` the notes that only a person can mend. What was mended
    is committed as a person's edit, if edits are. Raises RepositoryBusy before anything is written.
    """
    house.converge()
    whole = {path: (data, mended(data)) for path, data, _ in faults(house)}
    plain = {path: (old, new) for path, (old, new) in whole.items() if new is not None}
    if yes and plain:
        house.vault.repo.check_ready()
        plain = {
            path: (old, new) for path, (old, new) in plain.items() if _put(house, path, old, new)
        }
        receipts = (
            house.vault.commit_edits(list(plain), quiet=0.0)
            if house.settings["edits.commit"]
            else []
        )
        house.refresh(list(plain))
    else:
        receipts = []
    return {
        "schema": 1,
        "mends": [
            {"path": path, "diff": _diff(path, old, new)} for path, (old, new) in plain.items()
        ],
        "left": [path for path in whole if path not in plain],
        "done": yes,
        "commit": receipts[-1].commit if receipts else None,
    }


def _put(house: House, path: str, old: bytes, new: bytes) -> bool:
    """Put the mended bytes in place of those they were made from; False when somebody saved others
    meanwhile."""
    files = house.vault.files
    return files.publish(path, files.stage(path, new), blob_id(old))


def _diff(path: str, old: bytes, new: bytes) -> str:
    before, after = (data.decode().splitlines(keepends=True) for data in (old, new))
    return "".join(unified_diff(before, after, path, path, n=0))
