"""What there is to say of people and things: kinds of entities, facts, events and opinions, and the
typed relations between any two (Octybot's taxonomy, complete, and the closest kin, pets, mentors).

Both lists are closed. A note with another kind, or another relation, is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "entity": (
        "person", "organization", "project", "place", "system", "process", "document", "concept",
        "event", "account",
    ),
    "fact": (
        "definitional", "causal", "conditional", "comparative", "negation", "instruction",
    ),
    "event": ("action", "decision", "conversation", "incident", "outcome"),
    "opinion": ("user", "assessment", "preference"),
    "attribute": (
        "identity", "role", "status", "trait", "preference", "quantity", "time", "contact",
    ),
}  # fmt: skip
"""Values of `kind`, by what the note is; an attribute is what a fact says of one entity."""

CATEGORIES: Final[Mapping[str, str]] = {
    "organizational": "employs/works_for manages/reports_to member_of/has_member owns/owned_by "
    "client_of/serves",
    "project": "works_on/has_contributor responsible_for/assigned_to depends_on/blocks "
    "part_of/contains",
    "social": "knows/knows associated_with/associated_with related_to/related_to "
    "introduced_by/introduced partner_of/partner_of sibling_of/sibling_of parent_of/child_of "
    "has_pet/pet_of mentors/mentored_by",
    "spatial": "located_at/houses near/near adjacent_to/adjacent_to",
    "tool": "uses/used_by hosted_on/hosts integrates_with/integrates_with",
    "conceptual": "about/has_topic requires_skill/skill_of instance_of/has_instance",
    "causal": "caused_by/led_to supersedes/superseded_by",
    "text": "mentions/mentioned_in derived_from/source_of",
}
"""Category -> its relations, each with what the same edge is called from the other end. `text` is
what notes have beside Octybot's seven: a link without a relation, and what was made of what."""

_PAIRS: Final = [
    (category, *pair.split("/")) for category, pairs in CATEGORIES.items() for pair in pairs.split()
]
RELATIONS: Final[Mapping[str, str]] = {
    name: inverse for _, one, other in _PAIRS for name, inverse in ((one, other), (other, one))
}
"""The closed list of relations: name -> its inverse."""
CATEGORY: Final[Mapping[str, str]] = {
    name: category for category, one, other in _PAIRS for name in (one, other)
}
"""Relation -> its category."""


ENDS: Final[Mapping[str, tuple[str, str]]] = {
    "works_for": ("person", "organization"),
    "located_at": ("", "place"),
    "uses": ("", "system"),
    "hosted_on": ("", "system"),
    "introduced_by": ("", "person"),
    "has_pet": ("person", "animal"),
    "pet_of": ("animal", "person"),
    **dict.fromkeys(("manages", "member_of", "works_on", "responsible_for"), ("person", "")),
    **dict.fromkeys(
        "knows reports_to partner_of sibling_of parent_of child_of mentors mentored_by".split(),
        ("person", "person"),
    ),
}
"""What a relation says of both its ends: kinds of entities, "" for nothing; an `animal` is none."""

STATED: Final = re.compile(r"\n*^- \[\[([^\[\]\n]+)\]\] ([a-z_]+) \[\[([^\[\]\n]+)\]\]$", re.M)
"""An item that only states a relation, as `stated` writes it."""


def stated(subject: str, relation: str, other: str) -> str:
    """The item of a note that says how two are related."""
    return f"- [[{subject}]] {relation} [[{other}]]"


def relations(body: str) -> list[str]:
    """The items of a body that only state relations."""
    return [found[0].strip() for found in STATED.finditer(body)] if "]] " in body else []


def kinds(body: str) -> list[tuple[str, str]]:
    """(name, kind) as the relations that a body states tell them."""
    found = STATED.findall(body) if "]] " in body else []
    ends = [(one, other, *ENDS.get(how, ("", ""))) for one, how, other in found]
    pairs = [pair for one, other, *kinds in ends for pair in ((one, kinds[0]), (other, kinds[1]))]
    return [(name, kind) for name, kind in pairs if kind]


def prose(body: str) -> str:
    """A body without the items that only state relations."""
    return STATED.sub("", body).rstrip() if "]] " in body else body


def inverse(relation: str) -> str:
    """What an edge is called from its other end; of a relation that is not on the list, `… of`."""
    return RELATIONS.get(relation, f"{relation} of")
