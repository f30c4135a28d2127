"""A memory's page: what it says and why, what it said before, and what a person does to it."""

from __future__ import annotations

import base64
import io
import json
import re
import threading
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from PIL import Image

from tests.box import Box
from tests.web.kit import Answer, Visitor, visitor


def hidden(answer: Answer, name: str) -> str:
    """A hidden field of a form."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert found, name
    return found[1]


def page(person: Visitor, ident: str, more: str = "") -> Answer:
    answer = person.get(f"/ui/memory/{ident}{more}")
    assert answer.status == 200, answer.text
    return answer


def after(person: Visitor, answer: Answer) -> Answer:
    """Where a form leads."""
    assert answer.status == 303, answer.text
    return person.get(answer.headers["location"])


def test_what_it_says_and_why(box: Box, person: Visitor) -> None:
    ident = box.remember("The boat is called **Petrel**. See [[Bergen]].", "--title", "Boat")["id"]
    text = page(person, ident).text
    assert "<h1>Boat</h1>" in text
    assert "<strong>Petrel</strong>" in text
    assert f'href="/ui/go?to=Bergen&amp;from={ident}"' in text
    assert "You wrote it down yourself." in text
    assert "100%" in text
    for heading in ("Why it is believed", "What it said, and when", "Where it was used"):
        assert heading in text


@pytest.mark.slow
def test_looking_is_no_use(box: Box, person: Visitor) -> None:
    ident = box.remember("The pump was rebuilt last spring.")["id"]
    page(person, ident)
    assert "Nobody has looked it up yet" in page(person, ident).text
    box.ok("show", ident)
    assert "read by a person" in page(person, ident).text


def test_a_prefix_and_what_is_not_there(person: Visitor, box: Box) -> None:
    ident = box.remember("The anchor is a Danforth.")["id"]
    assert "Danforth" in page(person, ident[:6]).text
    for odd in ("zzzzzzzzzzzz", "x", "..%2f..%2fetc%2fpasswd", "%00", "HEAD"):
        answer = person.get(f"/ui/memory/{odd}")
        assert answer.status in (400, 404, 422), odd
        assert "Traceback" not in answer.text
    assert person.get(f"/ui/memory/{ident}?at=yesterdayish").status >= 400
    assert person.get(f"/ui/memory/{ident}/history?from=x&to=y").status == 200


def test_edit_and_take_it_back(box: Box, person: Visitor) -> None:
    ident = box.remember("The mast is made of spruce.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit")
    fields = {name: hidden(form, name) for name in ("base", "words", "title")}
    told = {**fields, "text": "The mast is made of carbon.", "reason": "it broke"}
    done = after(person, person.post(f"/ui/memory/{ident}/edit", told))
    assert "The mast is made of carbon." in done.text
    assert "Saved." in done.text
    steps = person.part(f"/ui/memory/{ident}/history").text
    assert "<del>spruce</del><ins>carbon</ins>" in steps
    assert "it broke" in steps
    assert "<!doctype" not in steps
    commit = hidden(done, "commit")
    back = after(person, person.post(f"/ui/memory/{ident}/undo", {"commit": commit}))
    assert "Taken back." in back.text
    assert box.json("show", ident)["body"].strip() == "The mast is made of spruce."
    assert "taken back" in person.part(f"/ui/memory/{ident}/history").text


def test_two_versions_beside_each_other(box: Box, person: Visitor) -> None:
    ident = box.remember("The sail is white.")["id"]
    box.ok("reframe", ident, "The sail is red.")
    box.ok("reframe", ident, "The sail is tan.")
    new, _, old = (one["commit"][:10] for one in box.json("log", ident)["entries"])
    for pair in ((old, new), (new, old)):
        told = person.get(f"/ui/memory/{ident}/history?from={pair[0]}&to={pair[1]}").text
        assert "<del>white</del><ins>tan</ins>" in told
    assert "The sail is white." in person.get(f"/ui/memory/{ident}/edit?from={old}").text


def test_nothing_that_somebody_else_wrote_is_lost(box: Box, person: Visitor) -> None:
    ident = box.remember("The kiln reaches 1,200 degrees.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit")
    fields = {name: hidden(form, name) for name in ("base", "words", "title")}
    words = fields["words"]
    assert "meanwhile" not in person.part(f"/ui/memory/{ident}/changed?words={words}").text
    box.ok("reframe", ident, "The kiln reaches 1,300 degrees.")
    assert "meanwhile" in person.part(f"/ui/memory/{ident}/changed?words={words}").text
    mine = {**fields, "text": "The kiln reaches 1,250 degrees."}
    both = person.post(f"/ui/memory/{ident}/edit", mine)
    assert both.status == 409
    assert "The kiln reaches 1,300 degrees." in both.text
    assert "The kiln reaches 1,250 degrees.</textarea>" in both.text
    assert box.json("show", ident)["body"].strip() == "The kiln reaches 1,300 degrees."
    again = {**mine, "base": hidden(both, "base"), "words": hidden(both, "words")}
    assert after(person, person.post(f"/ui/memory/{ident}/edit", again)).status == 200
    bodies = person.get(f"/ui/memory/{ident}/history").text
    assert "<del>300</del><ins>250</ins>" in bodies


def test_only_the_frontmatter_was_changed_meanwhile(box: Box, person: Visitor) -> None:
    ident = box.remember("The oven is gas.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit")
    fields = {name: hidden(form, name) for name in ("base", "words", "title")}
    path = box.vault / box.json("show", ident)["path"]
    path.write_text(path.read_text().replace("\n---\n", "\ntags: [kitchen]\n---\n", 1))
    done = person.post(f"/ui/memory/{ident}/edit", {**fields, "text": "The oven is electric."})
    assert done.status == 303
    shown = box.json("show", ident)
    assert (shown["body"].strip(), shown["meta"]["tags"]) == ("The oven is electric.", ["kitchen"])


def test_saving_the_same_changes_nothing(box: Box, person: Visitor) -> None:
    ident = box.remember("The lamp is brass.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit")
    fields = {name: hidden(form, name) for name in ("base", "words", "title")}
    done = person.post(f"/ui/memory/{ident}/edit", {**fields, "text": "The lamp is brass.\r\n"})
    assert "done=same" in done.headers["location"]
    assert len(box.json("log", ident)["entries"]) == 1


def test_forget_and_bring_back(box: Box, person: Visitor) -> None:
    ident = box.remember("The old address was Quay 4.")["id"]
    gone = after(person, person.post(f"/ui/memory/{ident}/forget", {"reason": "moved"}))
    assert "Forgotten" in gone.text
    assert "moved" in gone.text
    assert "The old address was Quay 4." in gone.text
    assert (
        "<del>The old address was Quay 4.</del>" in person.part(f"/ui/memory/{ident}/history").text
    )
    back = after(person, person.post(f"/ui/memory/{ident}/restore"))
    assert "It is back" in back.text


def test_taking_back_what_was_written(box: Box, person: Visitor) -> None:
    ident = box.remember("A slip of the tongue about hats.")["id"]
    commit = box.json("log", ident)["entries"][0]["commit"]
    gone = after(person, person.post(f"/ui/memory/{ident}/undo", {"commit": commit}))
    assert "Bring it back" in gone.text
    again = after(
        person, person.post(f"/ui/memory/{ident}/undo", {"commit": hidden(gone, "commit")})
    )
    assert "A slip of the tongue about hats." in again.text


def test_what_holds_now_and_what_held_then(box: Box, person: Visitor) -> None:
    ident = box.remember("The workshop is in York.")["id"]
    today = datetime.now(UTC).date().isoformat()
    done = person.post(f"/ui/memory/{ident}/correct", {"text": "The workshop is in Hull."})
    new = urlsplit(done.headers["location"]).path.rpartition("/")[2]
    assert new != ident
    old = page(person, ident).text
    assert "This no longer holds" in old
    assert f'href="/ui/memory/{new}"' in old
    chain = person.part(f"/ui/memory/{new}/history").text
    assert "The workshop is in York." in chain
    assert "Written in place of another" in chain
    before = (datetime.now(UTC).date() - timedelta(days=400)).isoformat()
    assert "was not known yet" in page(person, new, f"?at={before}").text
    assert "The workshop is in Hull." in page(person, new, f"?at={today}").text
    assert 'name="text"' not in page(person, new, f"?at={today}").text


def test_useful_wrong_and_ratified(box: Box, person: Visitor) -> None:
    ident = box.remember("Four people work here.", "--type", "orientation")["id"]
    wrong = person.post(f"/ui/memory/{ident}/feedback", {"useful": "no", "reason": "five do"})
    told = after(person, wrong).text
    assert "called wrong" in told
    assert "five do" in told
    assert "disputed" in told
    useful = after(person, person.post(f"/ui/memory/{ident}/feedback", {"useful": "yes"}))
    assert "disputed" not in useful.text
    assert "ratified by you" in after(person, person.post(f"/ui/memory/{ident}/ratify")).text
    assert box.json("show", ident)["meta"]["core"] is True
    undone = person.post(f"/ui/memory/{ident}/ratify", {"undo": "yes"})
    assert "No longer" not in after(person, undone).text


def test_words_that_are_refused_stay_in_the_form(box: Box, person: Visitor) -> None:
    ident = box.remember("The rudder is made of oak.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit")
    fields = {name: hidden(form, name) for name in ("base", "words", "title")}
    told = {**fields, "text": "Two hours \0\nof work.\n", "reason": "sanded"}
    answer = person.post(f"/ui/memory/{ident}/edit", told)
    assert 400 <= answer.status < 500
    assert 'role="alert"' in answer.text
    assert "\nof work.\n</textarea>" in answer.text
    assert 'value="sanded"' in answer.text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("edit", {"text": "", "base": "x", "words": "y"}),
        ("correct", {"text": ""}),
        ("correct", {"text": "It is.", "since": "never"}),
        ("undo", {"commit": "--all"}),
        ("undo", {}),
        ("ratify", {}),
        ("restore", {}),
    ],
)
def test_what_cannot_be_done_says_why(
    box: Box, person: Visitor, path: str, fields: dict[str, str]
) -> None:
    ident = box.remember("The hull is steel.")["id"]
    answer = person.post(f"/ui/memory/{ident}/{path}", fields)
    assert answer.status in (400, 404, 409, 422), answer.text
    assert box.json("show", ident)["body"].strip() == "The hull is steel."


def test_a_picture_by_what_its_bytes_are(box: Box, person: Visitor) -> None:
    made = io.BytesIO()
    Image.new("RGB", (4, 3), "red").save(made, "PNG")
    data = base64.b64encode(made.getvalue()).decode()
    line = json.dumps({"text": "The harbour.", "images": [{"data": data, "alt": "a quay"}]})
    ident = box.json("remember", "--from-jsonl", "-", stdin=line.encode())["results"][0]["id"]
    found = re.search(r'<img src="(/ui/picture/[^"]+)"', page(person, ident).text)
    assert found
    answer = person.get(found[1])
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert person.get(f"/ui/picture/{ident}/{'0' * 64}").status == 404
    assert person.get(f"/ui/picture/{ident}/..%2f..%2foneiro.toml").status == 404


def test_a_link_is_followed(box: Box, person: Visitor) -> None:
    first = box.remember("The first.", "--title", "Twin")["id"]
    assert person.get("/ui/go?to=Twin").headers["location"] == f"/ui/memory/{first}"
    box.remember("The second one is another.", "--title", "Twin")
    assert "may mean several" in person.get("/ui/go?to=Twin").text
    nowhere = person.get("/ui/go?to=https://evil.example/%0d%0aX:y&from=zzzz")
    assert nowhere.headers["location"].startswith("/ui/search?q=https%3A")
    assert person.get("/ui/go").status == 303


@pytest.mark.slow
def test_a_note_that_nobody_adopted(other: Box) -> None:
    """No id, no frontmatter, odd keys: it is shown all the same."""
    (other.vault / "plain.md").write_text("# Plain\n\nJust <b>words</b> and [[nowhere]].\n")
    odd = "---\ntype: <i>x\nclient: [1, {a: b}]\ncreated: whenever\ntags: [<b>]\nabout: {a: 1}\n---\nOdd.\n"
    (other.vault / "odd.md").write_text(odd)
    found = visitor(other)
    rows = other.json("list")["results"]
    assert {row["path"] for row in rows} >= {"plain.md", "odd.md"}
    for row in rows:
        text = page(found, row["id"]).text
        assert "<b>" not in text
        assert "<i>" not in text
        assert found.part(f"/ui/memory/{row['id']}/history").status == 200
        assert found.get(f"/ui/memory/{row['id']}/edit").status == 200
    plain = next(row["id"] for row in rows if row["path"] == "plain.md")
    answer = found.post(f"/ui/memory/{plain}/feedback", {"useful": "yes"})
    assert "oneiro adopt" in answer.text


def test_a_long_note_is_edited_and_no_form_is_a_fault(box: Box, person: Visitor) -> None:
    ident = box.remember("The log of the boat.")["id"]
    form = person.get(f"/ui/memory/{ident}/edit").text
    fields = dict(re.findall(r'name="(base|words|title)"[^>]*value="([^"]*)"', form))
    long = "Öööö " * 60_000  # as a browser sends it, more than a megabyte
    answer = person.post(f"/ui/memory/{ident}/edit", {**fields, "text": long})
    assert "done=edited" in answer.headers["location"]
    assert box.json("show", ident)["body"].startswith("Öööö Öööö")
    odd = "multipart/form-data; boundary=x"
    refused = person.post(f"/ui/memory/{ident}/edit", {"text": "x"}, Content_Type=odd)
    assert refused.status == 400
    assert "Nothing was changed" in refused.text


@pytest.mark.slow
def test_a_heavy_note_keeps_nobody_waiting(box: Box, person: Visitor) -> None:
    path = box.vault / "heavy.md"
    path.write_text("---\nid: abcdabcdabcd\n---\n" + "word **b** [x](y) <b>\n" * 8000)
    box.ok("list")
    ended = threading.Event()

    def look() -> None:
        assert person.get("/ui/memory/abcdabcdabcd").status == 200
        ended.set()

    heavy = threading.Thread(target=look)
    heavy.start()
    others = 0
    while not ended.is_set():
        assert person.get("/ui/search").status == 200
        others += 1
    heavy.join()
    assert others > 3  # one before it began and one as it ended, if nobody were heard meanwhile
