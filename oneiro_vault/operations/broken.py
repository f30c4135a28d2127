"""Notes whose frontmatter cannot be read: what is wrong with them in one paragraph, and the mend where there is only one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from oneiro_vault.core.mending import Fault, fault
from oneiro_vault.errors import OneiroError, few
from oneiro_vault.operations.house import House
from oneiro_vault.operations.linting import Problem, problem


def faults(house: House) -> Iterator[tuple[str, bytes, Fault]]:
    """(path, bytes, what is wrong) of every note that is found by its words although it cannot be read."""
    for path in house.index.broken():
        try:
            data = house.vault.read(path)
        except OneiroError:
            continue
        if wrong := fault(data):
            yield path, data, wrong


def paragraph(house: House) -> Iterator[Problem]:
    """One finding for all of them."""
    kinds: dict[str, list[str]] = defaultdict(list)
    found = [(path, wrong) for path, _, wrong in faults(house)]
    for path, wrong in found:
        kinds[wrong.mend].append(f"{path} (line {wrong.line})" if wrong.line else path)
    if not found:
        return
    count = "1 note" if len(found) == 1 else f"{len(found)} notes"
    how = "; ".join(f"{mend}: {few(paths)}" for mend, paths in sorted(kinds.items(), key=lambda kind: -len(kind[1])))
    text = f"{count} cannot be read in full: every word is found, and nothing is written into them. To mend: {how}"
    path, wrong = found[0]
    yield problem(path, "broken", "error", text, "`oneiro check --fix` quotes the values that only need quotes.", wrong.line)
