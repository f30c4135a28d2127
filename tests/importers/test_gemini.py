"""Google's activity in JSON and as a page, in any language, and AI Studio's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.chats import gemini
from oneiro_vault.importers.chats.activity_page import plain, shown_date
from tests.importers.exports import conversations, notes, records, said, skipped, zipped

JSON = "Takeout/My Activity/Gemini Apps/MyActivity.json"


def record(title: str, *answers: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "header": "Gemini Apps", "title": title, "time": "2026-02-03T04:05:06.789Z",
        "products": ["Gemini Apps"], "activityControls": ["Gemini Apps Activity"],
    }  # fmt: skip
    found |= {"safeHtmlItem": [{"html": one} for one in answers]} if answers else {}
    return found | more


def activity(tmp_path: Path, *found: Any, name: str = JSON) -> list[Any]:
    return records(gemini.FORMAT, zipped(tmp_path / "x.zip", {name: list(found), "y.txt": ""}))


def test_prompts_answers_and_drafts(tmp_path: Path) -> None:
    found = activity(
        tmp_path,
        record("Prompted My dog is called Rex.\nRemember it.", "<p>A <b>fine</b> name.</p>", "<p>Or.</p>"),
        record("Asked Bard what a lathe is"),
        record("Gave feedback: good response"),
        record("Selected preferred draft", "<p>x</p>"),
        record("Prompted look Attached 2 files.", attachedFiles=["a.png", "b.png"]),
        record("Watched a film", header="YouTube", products=["YouTube"]),
    )  # fmt: skip
    assert [said(one) for one in conversations(found)] == [
        [("user", "My dog is called Rex.\nRemember it."), ("assistant", "A fine name.")],
        [("user", "what a lathe is")],
        [("user", "look"), ("tool", "[attached] a.png"), ("tool", "[attached] b.png")],
    ]
    assert len(skipped(found)) == 2
    at = conversations(found)[0].at
    assert at is not None
    assert at.isoformat() == "2026-02-03T04:05:06.789000+00:00"


def test_another_language_is_learned_from_what_records_share(tmp_path: Path) -> None:
    prompts = [f"Frage gestellt an Gemini: Nummer {n} {word}" for n, word in enumerate("abcdef")]
    odd = [f"{word} etwas" for word in ("Wo", "Was", "Wer")]
    found = activity(
        tmp_path,
        *(record(one, "<p>Antwort</p>", header="Gemini-Apps", products=["Gemini-Apps"],
                 time=f"2026-02-03T04:05:{n:02}Z") for n, one in enumerate(prompts)),
        *(record(one, header="Gemini-Apps", products=["Gemini-Apps"]) for one in odd),
        name="Takeout/Meine Aktivitäten/Gemini-Apps/MeineAktivitäten.json",
    )  # fmt: skip
    assert said(conversations(found)[0])[0] == ("user", "Nummer 0 a")
    assert len(conversations(found)) == 6
    assert len(skipped(found)) == 3
    found = activity(tmp_path, record("Prompt saisi : Mon chien est gris", "<p>Oui</p>"))
    assert said(conversations(found)[0])[0] == ("user", "Mon chien est gris")


def test_the_same_words_at_the_same_second_are_two(tmp_path: Path) -> None:
    found = conversations(activity(tmp_path, *[record("Prompted Hello there.", "<p>Hi</p>")] * 2))
    assert len({one.id for one in found}) == 2
    again = conversations(activity(tmp_path, *[record("Prompted Hello there.", "<p>Hi</p>")] * 2))
    assert [one.id for one in found] == [one.id for one in again]


def cell(prompt: str, date: str, answer: str, product: str = "Gemini Apps") -> str:
    return (
        '<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell mdl-cell">'
        f'<p class="mdl-typography--title">{product}<br></p></div>'
        f'<div class="content-cell mdl-cell mdl-typography--body-1">{prompt}<br>{date}<br>'
        f'{answer}</div><div class="content-cell mdl-cell mdl-typography--body-1 '
        'mdl-typography--text-right"></div><div class="content-cell mdl-cell '
        'mdl-typography--caption"><b>Products:</b><br>&emsp;Gemini Apps<br></div></div></div>'
    )


def test_the_page(tmp_path: Path) -> None:
    page = "<html><head><style>.outer-cell{}</style></head><body>" + "".join((
        cell("Prompted&nbsp;My cat is Tom.<br>She is old.", "Apr 12, 2026, 3:34:31\u202fPM EDT",
             "<p>Fine &amp; good.</p><ul><li>One</li><li>Two</li></ul>"),
        cell("Prompted Where?", "Apr 13, 2026, 3:34:31 PM XYZ", "<p>There.</p>"),
        cell("Searched for x", "Apr 13, 2026, 3:34:31 PM EDT", "", "Search"),
    )) + "</body></html>"  # fmt: skip
    found = records(
        gemini.FORMAT,
        zipped(tmp_path / "x.zip", {"Takeout/My Activity/Gemini Apps/MyActivity.html": page}),
    )
    (one,) = conversations(found)
    assert said(one) == [
        ("user", "My cat is Tom.\nShe is old."), ("assistant", "Fine & good.\n\n- One\n- Two"),
    ]  # fmt: skip
    assert one.at is not None
    assert one.at.isoformat() == "2026-04-12T15:34:31-04:00"
    assert [one.why for one in skipped(found)] == [
        "its date cannot be read, or is of an unknown time zone"
    ]


def test_what_never_ends_is_no_page(tmp_path: Path) -> None:
    place = tmp_path / "MyActivity.html"
    place.write_bytes(b'<div class="outer-cell">' + b"boat " * 2_000_000)
    with pytest.raises(InvalidInput, match="no page"):
        records(gemini.FORMAT, place)


def test_a_record_of_both_forms_is_one(tmp_path: Path) -> None:
    page = cell("Prompted Hello there.", "Feb 3, 2026, 4:05:06 AM UTC", "<p>Hi</p>")
    path = zipped(tmp_path / "y.zip", {"a/MyActivity.html": page})
    html = conversations(records(gemini.FORMAT, path))
    (one,) = conversations(activity(tmp_path, record("Prompted Hello there.", "<p>Hi</p>")))
    assert [one.id for one in html] == [one.id]


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("Apr 12, 2026, 3:34:31\u202fPM EDT", "2026-04-12T15:34:31-04:00"),
        ("Apr 12, 2026, 12:04:31 AM GMT+5:30", "2026-04-12T00:04:31+05:30"),
        ("12.04.2026, 15:34:31 MESZ", "2026-04-12T15:34:31+02:00"),
        ("12 avr. 2026, 15:34:31 CEST", "2026-04-12T15:34:31+02:00"),
        ("Apr 12, 2026, 3:34:31 PM QQT", None), ("Apr 32, 2026, 3:34:31 PM EDT", None),
        ("no date", None),
    ],
)  # fmt: skip
def test_dates_of_the_page(line: str, date: str | None) -> None:
    found = shown_date(line)
    assert (found.isoformat() if found else None) == date


def test_answers_as_words() -> None:
    html = "<p>One</p><pre><code>x = 1\ny</code></pre><script>bad()</script>&lt;b&gt;"
    assert plain(html) == "One\n\nx = 1\ny\n<b>"


def test_ai_studio(tmp_path: Path) -> None:
    chunks = [
        {"role": "user", "text": "My bees are calm.", "createTime": "2026-01-02T03:04:05Z"},
        {"role": "user", "driveDocument": {"id": "d1"}},
        {"role": "model", "text": "Thinking.", "isThought": True},
        {"role": "model", "text": "Good bees."},
        {"role": "model", "errorMessage": "Oops"},
    ]
    whole = {
        "runSettings": {"model": "models/x"}, "systemInstruction": {"text": "Be kind."},
        "chunkedPrompt": {"chunks": chunks, "pendingInputs": [{"text": "Unsent", "role": "user"}]},
    }  # fmt: skip
    path = zipped(
        tmp_path / "x.zip", {"Google AI Studio/Bees": whole, "Google AI Studio/b": chunks}
    )
    found = records(gemini.FORMAT, path)
    first, second = conversations(found)
    assert said(first) == [
        ("quoted", "[system instruction] Be kind."), ("user", "My bees are calm."),
        ("tool", "[attached] driveDocument d1"), ("assistant", "Good bees."),
    ]  # fmt: skip
    assert (first.title, first.at.isoformat() if first.at else "") == (
        "Bees", "2026-01-02T03:04:05+00:00",
    )  # fmt: skip
    assert second.title == "b"
    assert not notes(found)


def test_a_page_of_another_form_is_named(tmp_path: Path) -> None:
    page = cell("Prompted x", "Apr 12, 2026, 3:34:31 PM EDT", "y").replace("title", "name")
    path = zipped(tmp_path / "z.zip", {"Gemini Apps/MyActivity.html": page})
    (why,) = skipped(records(gemini.FORMAT, path))
    assert "changed the page" in why.why
