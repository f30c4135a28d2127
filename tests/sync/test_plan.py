"""The rules by which two differences become one tree, and that it does not matter which side is
called ours."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneiro_vault.core.memory import circles_broken
from oneiro_vault.errors import UnsafePath
from oneiro_vault.sync.plan import Contents, Differences, Plan, make
from oneiro_vault.vault.git.staging_area import FILE, Entry

Tree = Mapping[str, str]
"""path -> content, `id:words`."""


class Told(Contents):
    """Contents by name: a blob is `id:words`, a person's words begin with a capital."""

    def __init__(self) -> None:
        self.ident = cache(self._ident)

    def _ident(self, blob: str) -> str:
        return blob.partition(":")[0]

    def by_person(self, path: str, base: str, blob: str) -> bool:
        return blob.partition(":")[2][:1].isupper()

    def merge(self, path: str, base: str, ours: str, theirs: str) -> tuple[str, int]:
        if not path.endswith(".md"):
            return max(ours, theirs), 1
        words = sorted({*ours.partition(":")[2].split("+"), *theirs.partition(":")[2].split("+")})
        return f"{ours.partition(':')[0]}:{'+'.join(words)}", 1


def between(old: Tree, new: Tree) -> Differences:
    return {
        path: (entry(old, path), entry(new, path))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }


def entry(tree: Tree, path: str) -> Entry | None:
    return Entry(tree[path], FILE) if path in tree else None


def meet(base: Tree, ours: Tree, theirs: Tree, **more: object) -> tuple[dict[str, str], Plan]:
    """The joint tree, reached from both sides alike."""
    plan = make(between(base, ours), between(base, theirs), Told(), names=lambda: ours, **more)  # type: ignore[arg-type]  # keywords of a table
    there = make(
        between(base, theirs),
        between(base, ours),
        Told(),
        names=lambda: theirs,
        **turned(more),  # type: ignore[arg-type]  # the same
    )
    results = [
        applied(ours, plan.changes),
        applied(theirs, plan.sends),
        applied(theirs, there.changes),
        applied(ours, there.sends),
    ]
    assert results[1:] == results[:-1]
    return results[0], plan


def turned(more: dict[str, object]) -> dict[str, object]:
    other = {"ours": "theirs", "theirs": "ours"}
    found = dict(more)
    found["later"] = other[str(more.get("later", "ours"))]
    if isinstance(more.get("forgotten"), dict):
        found["forgotten"] = {other[side]: ids for side, ids in more["forgotten"].items()}  # type: ignore[attr-defined]  # the same
    return found


def applied(tree: Tree, changes: Mapping[str, Entry | None]) -> dict[str, str]:
    found: dict[str, str] = dict(tree)
    for path, entry in changes.items():
        found.pop(path, None)
        if entry is not None:
            found[path] = entry.blob
    return found


def test_what_one_side_did_happens() -> None:
    base = {"a.md": "a:1", "b.md": "b:1", "c.md": "c:1"}
    found, plan = meet(
        base,
        {"a.md": "a:2", "b.md": "b:1", "c.md": "c:1"},
        {"a.md": "a:1", "c.md": "c:1", "d.md": "d:1"},
    )
    assert found == {"a.md": "a:2", "c.md": "c:1", "d.md": "d:1"}
    assert plan.gone_here == ["b.md"]
    assert plan.gone_there == []
    assert sorted((action.doing, action.to, action.was) for action in plan.actions) == [
        ("send", "a.md", ""),
        ("take", "", "b.md"),
        ("take", "d.md", ""),
    ]


def test_both_did_the_same() -> None:
    found, plan = meet(
        {"a.md": "a:1", "b.md": "b:1"},
        {"a.md": "a:2", "c.md": "c:1"},
        {"a.md": "a:2", "c.md": "c:1"},
    )
    assert found == {"a.md": "a:2", "c.md": "c:1"}
    assert plan.actions == []


def test_both_changed_it() -> None:
    found, plan = meet({"a.md": "a:1"}, {"a.md": "a:2"}, {"a.md": "a:3"})
    assert found == {"a.md": "a:2+3"}
    assert [(action.doing, action.clashes) for action in plan.actions] == [("merge", 1)]


@pytest.mark.parametrize("later", ["ours", "theirs"])
def test_both_moved_it(later: str) -> None:
    found, _ = meet({"a.md": "a:1"}, {"b.md": "a:2"}, {"c.md": "a:3"}, later=later)
    assert found == {"b.md" if later == "ours" else "c.md": "a:2+3"}


def test_one_moved_what_the_other_changed() -> None:
    found, plan = meet({"a.md": "a:1"}, {"b.md": "a:1"}, {"a.md": "a:2"})
    assert found == {"b.md": "a:2"}
    assert plan.gone_here == plan.gone_there == []


def test_names_that_were_swapped() -> None:
    found, _ = meet(
        {"a.md": "a:1", "b.md": "b:1"},
        {"a.md": "b:1", "b.md": "a:1"},
        {"a.md": "a:2", "b.md": "b:1"},
    )
    assert found == {"a.md": "b:1", "b.md": "a:2"}


@pytest.mark.parametrize("later", ["ours", "theirs"])
def test_a_memory_that_took_the_name_of_a_note_without_id(later: str) -> None:
    """It is one memory that both moved, not one that was taken away here and an edit of that other
    note."""
    base = {"a.md": "a:1", "b.md": ":plain"}
    found, _ = meet(
        base, {"a.md": "n:1", "b.md": "a:1"}, {"d.md": "a:1", "b.md": ":plain"}, later=later
    )
    assert found == {"a.md": "n:1", "b.md" if later == "ours" else "d.md": "a:1"}
    swapped, _ = meet(
        base, {"a.md": ":plain", "b.md": "a:1"}, {"d.md": "a:2", "b.md": ":plain"}, later=later
    )
    assert sorted(swapped.values()) == [":plain", "a:2"]


def test_a_note_that_got_an_id_or_lost_it_is_the_same_note() -> None:
    for old, new in ((":1", "a:1"), ("a:1", ":1")):
        found, plan = meet({"a.md": old}, {"a.md": new}, {"b.md": old})
        assert found == {"b.md": new}
        assert plan.gone_here == plan.gone_there == []


@pytest.mark.parametrize(
    ("words", "forgotten", "stays"),
    [
        ("2", False, True),
        ("2", True, False),
        ("Two", True, True),
        ("Two", False, True),
        ("1", True, False),
    ],
)
def test_taken_away_by_one_and_changed_by_the_other(
    words: str, forgotten: bool, stays: bool
) -> None:
    gone = {"theirs": frozenset(["a"] if forgotten else [])}
    found, plan = meet(
        {"a.md": "a:1", "z.md": "z:1"},
        {"a.md": f"a:{words}", "z.md": "z:1"},
        {"z.md": "z:1"},
        forgotten=gone,
    )
    assert ("a.md" in found) == stays
    assert plan.revived == (["a"] if stays and forgotten else [])
    assert plan.gone_here == ([] if stays else ["a.md"])


def test_two_memories_of_one_name() -> None:
    found, plan = meet({}, {"n.md": "aaaaaa:1"}, {"n.md": "bbbbbb:1"})
    assert found == {"n.md": "aaaaaa:1", "n-bbbb.md": "bbbbbb:1"}
    assert [action.doing for action in plan.actions] == ["send", "rename"]


def test_the_other_name_is_taken_too() -> None:
    ours = {"n.md": "aaaaaa:1", "n-bbbb.md": "cccccc:1", "n-bbbbbb.md": "dddddd:1"}
    found, _ = meet(
        {"n-bbbb.md": "cccccc:1"}, ours, {"n.md": "bbbbbbbbbbbb:1", "n-bbbb.md": "cccccc:1"}
    )
    assert found["n-bbbbbbbb.md"] == "bbbbbbbbbbbb:1"
    assert len(found) == 4


def test_names_that_differ_in_case() -> None:
    found, _ = meet(
        {"x.md": "x:1"}, {"x.md": "x:1", "n.md": "aaaaaa:1"}, {"x.md": "x:1", "N.md": "bbbbbb:1"}
    )
    assert sorted(name.lower() for name in found) == ["n-bbbb.md", "n.md", "x.md"]


def test_a_twin_of_what_nobody_touched_gets_another_name() -> None:
    base = {"n.md": "aaaaaa:1", "o.md": "bbbbbb:1", "p.md": "cccccc:1"}
    ours = {"n.md": "aaaaaa:1", "N.md": "bbbbbb:1", "p.md": "cccccc:1"}
    found, _ = meet(base, ours, {"n.md": "aaaaaa:1", "o.md": "bbbbbb:1", "N.md": "cccccc:1"})
    assert found == {"n.md": "aaaaaa:1", "N-bbbb.md": "bbbbbb:1", "N-cccc.md": "cccccc:1"}


def test_twins_that_one_side_made_are_its_own_affair() -> None:
    found, _ = meet(
        {"n.md": "aaaaaa:1"},
        {"n.md": "aaaaaa:1", "N.md": "bbbbbb:1"},
        {"n.md": "aaaaaa:1", "m.md": "cccccc:1"},
    )
    assert set(found) == {"n.md", "N.md", "m.md"}


def test_a_name_without_an_ending() -> None:
    found, _ = meet({}, {"LICENSE": ":1"}, {"LICENSE": ":2"})
    assert sorted(found) == ["LICENSE", "LICENSE.conflict-:1"]


def test_a_file_and_a_folder_of_one_name() -> None:
    with pytest.raises(UnsafePath):
        make(
            between({}, {"a.md": "a:1"}),
            between({}, {"a.md/b.md": "b:1"}),
            Told(),
            names=lambda: ["a.md"],
        )


@pytest.mark.parametrize(
    ("replaced", "stay"),
    [
        ({}, []),
        ({"b": "a"}, []),
        ({"b": "a", "a": "b"}, ["a"]),
        ({"c": "a", "a": "b", "b": "c", "d": "a"}, ["a"]),
        ({"b": "a", "a": "b", "y": "x", "x": "y", "z": "y"}, ["a", "x"]),
        ({"q": "q"}, ["q"]),
    ],
)
def test_circles_end_with_the_least(replaced: dict[str, str], stay: list[str]) -> None:
    assert sorted(circles_broken(replaced)) == stay


_TREES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "B.md", "d/c.md", "d/e.md", "f.txt"]),
    st.tuples(st.sampled_from("pqrst"), st.sampled_from(["1", "2", "Three"])).map(
        lambda pair: f"{pair[0] * 12}:{pair[1]}"
    ),
    max_size=5,
).filter(lambda tree: len({words[:12] for words in tree.values()}) == len(tree))


@pytest.mark.slow
@settings(max_examples=300)
@given(_TREES, _TREES, _TREES, st.sampled_from(["ours", "theirs"]))
def test_it_does_not_matter_who_plans(base: Tree, ours: Tree, theirs: Tree, later: str) -> None:
    """And no memory that either side has, and the other did not take away, is missing."""
    found, _ = meet(base, ours, theirs, later=later)
    held = {blob.partition(":")[0] for blob in found.values()}
    ids = [{blob.partition(":")[0] for blob in tree.values()} for tree in (base, ours, theirs)]
    assert held >= (ids[1] & ids[2]) | (ids[1] - ids[0]) | (ids[2] - ids[0])
