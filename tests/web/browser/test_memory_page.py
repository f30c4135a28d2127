"""Wake, search and a memory in a real browser: by keyboard, live, on a phone, for everybody."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.box import Box
from tests.web.browser.conftest import LOOKS, Windows

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lived(box: Box) -> dict[str, str]:
    """A few memories that say something of each other; name -> id."""
    found = {}
    found["talk"] = box.json(
        "capture",
        stdin=b"User: i charge 280 a day for sash windows, put that down.\n\nAssistant: Done.\n",
    )["id"]
    keys = {"derived_from": [found["talk"]], "tags": ["work"], "about": ["Clashmore"]}
    found["rate"] = _stored(box, "The day rate is 280 euro.", title="Day rate", **keys)
    box.ok("reframe", found["rate"], "The day rate is 290 euro, without VAT.", "--reason", "raised")
    found["new"] = box.json("correct", "The day rate is 310 euro.", "--id", found["rate"])["id"]
    said = (
        "- On 2026-10-03 the person said: “the kiln [2026-05-01] is in Leeds”\n- Nobody knows why."
    )
    found["kiln"] = _stored(box, "User: the kiln is in Leeds now.", title="The kiln")
    found["block"] = _stored(
        box, said, type="orientation", title="Home", derived_from=[found["kiln"], found["new"]]
    )
    found["table"] = _stored(
        box,
        "# Prices\n\nSee [[Day rate]] and [the web](https://a.example).\n\n"
        "|work|euro|\n|:--|--:|\n|sash|280|\n\n> [!note] Ask first\n> before a quote\n\n"
        "- [x] told\n- [ ] written\n\n```\nplain\n```\n",
        title="Prices",
    )
    box.ok("recall", "what is the day rate")
    box.ok("show", found["new"])
    return found


def _stored(box: Box, text: str, **keys: object) -> str:
    line = json.dumps({"text": text, **keys}).encode()
    ident: str = box.json("remember", "--from-jsonl", "-", stdin=line)["results"][0]["id"]
    return ident


PAGES = {
    "wake": "/ui/",
    "prompt": "/ui/wake/prompt?prompt=what+is+the+day+rate",
    "search": "/ui/search?q=what+is+the+day+rate&type=semantic",
    "latest": "/ui/search",
    "memory": "/ui/memory/{new}?done=corrected&commit=abc",
    "replaced": "/ui/memory/{rate}",
    "block": "/ui/memory/{block}",
    "markdown": "/ui/memory/{table}",
    "history": "/ui/memory/{rate}/history",
    "then": "/ui/memory/{new}?at=2026-01-01",
    "edit": "/ui/memory/{table}/edit",
}


@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_it(box: Box, lived: dict[str, str], window: Windows, name: str) -> None:
    for kind, more in LOOKS.items():
        opened = window(box, PAGES[name].format(**lived), **more)
        if "memory" in PAGES[name] and name not in ("history", "then", "edit"):
            expect(opened.page.locator("#history .versions > li").first).to_be_visible()
        opened.picture(f"{name}-{kind}")
        opened.accessible()
        assert opened.complaints == []


def test_search_as_you_type(box: Box, lived: dict[str, str], window: Windows) -> None:
    opened = window(box)
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("kiln")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator(".hits .row-title").first).to_contain_text("kiln")
    opened.page.locator("#find").fill("")
    opened.page.locator("#find").press_sequentially("what is the day rate", delay=20)
    first = opened.page.locator(".hits .row-title").first
    expect(first).to_have_attribute("href", f"/ui/memory/{lived['new']}")
    assert "q=what" in opened.page.url
    because = opened.page.locator(".because").first
    because.locator("summary").click()
    expect(because.locator("table")).to_contain_text("together")
    opened.page.locator("#find").press("Escape")
    opened.page.keyboard.press("j")
    opened.page.keyboard.press("Enter")
    expect(opened.page.get_by_role("heading", level=1)).to_have_text("The day rate is 310 euro.")
    assert opened.complaints == []


def test_a_prompt_is_tried(box: Box, lived: dict[str, str], window: Windows) -> None:
    opened = window(box)
    opened.page.locator("#prompt").press_sequentially("zzzz qqqq")
    expect(opened.page.locator("#added")).to_contain_text("Nothing would be added")
    assert opened.complaints == []


def test_a_change_on_disk_is_seen_and_a_form_is_left_alone(
    box: Box, lived: dict[str, str], window: Windows
) -> None:
    ident = box.remember("The gate is green.", "--title", "The gate")["id"]
    shown, form = window(box, f"/ui/memory/{ident}"), window(box, f"/ui/memory/{ident}/edit")
    form.page.locator("#text").fill("The gate is black.")
    path = box.vault / box.json("show", ident)["path"]
    path.write_text(path.read_text().replace("is green.\n", "is white, since May.\n"))
    expect(shown.page.locator(".body")).to_contain_text("is white, since May.", timeout=15_000)
    expect(form.page.get_by_role("status").first).to_contain_text("meanwhile", timeout=15_000)
    expect(form.page.locator("#text")).to_have_value("The gate is black.")
    form.page.get_by_role("button", name="Save").click()
    expect(form.page.get_by_role("heading", level=1)).to_have_text("It was changed while you wrote")
    form.picture("conflict-light")
    form.accessible()
    form.page.get_by_role("button", name="Save mine").click()
    expect(form.page.get_by_role("heading", level=1)).to_have_text("The gate")
    assert box.json("show", ident)["body"].strip() == "The gate is black."
    assert shown.complaints == []


def test_why_what_then_and_back_by_keyboard_alone(
    box: Box, lived: dict[str, str], window: Windows
) -> None:
    ident = box.remember("The ferry leaves at nine.")["id"]
    opened = window(box, f"/ui/memory/{ident}")
    page = opened.page
    expect(page.get_by_text("You wrote it down yourself.")).to_be_visible()
    page.keyboard.press("f")
    page.get_by_label("Why (may stay empty)").last.fill("no ferry any more")
    page.keyboard.press("Enter")
    expect(page.get_by_text("no ferry any more").first).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_role("status").first).to_contain_text("It is back")
    page.keyboard.press("e")
    page.locator("#text").fill("The ferry leaves at ten.")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#history ins").first).to_have_text("ten")
    page.keyboard.press("u")
    expect(page.get_by_role("status").first).to_contain_text("Taken back")
    expect(page.get_by_role("heading", level=1)).to_have_text("The ferry leaves at nine.")
    assert opened.complaints == []


def test_without_a_script(box: Box, lived: dict[str, str], window: Windows) -> None:
    opened = window(box)
    bare = opened.page.context.browser
    assert bare is not None
    state = opened.page.context.storage_state()
    context = bare.new_context(java_script_enabled=False, storage_state=state)
    window.made.append(context)
    page = context.new_page()
    base = opened.page.url.removesuffix("/ui/")
    page.goto(f"{base}/ui/memory/{lived['rate']}")
    page.get_by_role("link", name="Every wording it had").click()
    expect(page.locator(".versions ins").first).to_be_visible()
    page.goto(f"{base}/ui/search")
    page.locator("#find").fill("day rate")
    page.locator("#find").press("Enter")
    expect(page.locator(".hits .row-title").first).to_be_visible()
    page.locator(".hits .row-title").first.click()
    page.locator("summary", has_text="Wrong").click()
    page.get_by_role("button", name="It is wrong").click()
    expect(page.get_by_role("status").first).to_contain_text("it is wrong")
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("status").first).to_contain_text("it helped")
