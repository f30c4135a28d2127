"""Circles of memories that replaced one another, as two machines can make them in one night:
nothing of a circle would be in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def broken(replaced: Mapping[str, str]) -> Iterator[str]:
    """Ids that stay in force, one for each circle in `replaced` (id -> id of what took its place):
    the least."""
    seen: set[str] = set()
    for start in sorted(replaced):
        walk: list[str] = []
        at = start
        while at in replaced and at not in seen:
            seen.add(at)
            walk.append(at)
            at = replaced[at]
        if at in walk:
            yield min(walk[walk.index(at) :])
