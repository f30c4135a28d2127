"""Wake: what a session is given, line by line."""

from __future__ import annotations

import json

import pytest

from tests.box import Box
from tests.web.kit import Visitor


def test_an_empty_vault_says_what_to_do(person: Visitor) -> None:
    text = person.get("/ui/").text
    assert "A new session is told nothing yet" in text
    assert "oneiro remember" in text


@pytest.mark.slow
def test_lines_lead_to_what_they_rest_on(box: Box, person: Visitor) -> None:
    boat = box.remember("i sail a boat called petrel")["id"]
    said = "- On 2026-10-03 the person said: “i sail a boat called petrel”\n- It is [[Petrel|hers]] <b>."
    note = {"text": said, "type": "orientation", "title": "Boats", "derived_from": [boat]}
    line = json.dumps(note).encode()
    block = box.json("remember", "--from-jsonl", "-", stdin=line)["results"][0]["id"]
    page = person.get("/ui/").text
    assert f'href="/ui/memory/{block}"' in page
    assert f'class="ground" href="/ui/memory/{boat}"' in page
    assert f'<a href="/ui/go?to=Petrel&amp;from={block}">hers</a> &lt;b&gt;.' in page
    assert "of 8,000 characters" in page
    assert box.json("orient")["text"].splitlines()[0] in page


def test_what_a_prompt_would_bring(box: Box, person: Visitor) -> None:
    ident = box.remember("The day rate for the rectory windows is 310 euro.")["id"]
    asked = "/ui/wake/prompt?prompt=what+is+the+day+rate+for+the+rectory+windows"
    part = person.part(asked).text
    assert "<!doctype" not in part
    whole = person.get(asked).text
    assert "<!doctype" in whole
    for text in (part, whole):
        assert ident in text or "Nothing would be added" in text
    assert "Nothing would be added" in person.part("/ui/wake/prompt?prompt=zzzz+qqqq").text
    assert person.part("/ui/wake/prompt?prompt=").text.strip() == ""
