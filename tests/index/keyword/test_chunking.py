"""A short note is one chunk; of a long one every character is in a chunk that fits the window."""

import random
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest

from oneiro_vault.index.keyword.chunk_rows import (
    CONTEXT_TEXT_SPAN,
    CONTEXT_VECTOR_SPAN,
    Chunk,
    chunk,
    chunk_header,
    context_text,
)
from tests.box import patient

SENTENCE = "The quick brown fox jumps over the lazy dog near the old river bank. "


def cut(
    body: str,
    sections: Sequence[tuple[int, int, str]] = (),
    items: Sequence[tuple[int, int]] = (),
    title: str = "",
) -> list[Chunk]:
    return chunk(body, title=title, when="", sections=sections, items=items)


def covered(body: str, chunks: list[Chunk]) -> bool:
    seen = bytearray(len(body))
    for piece in chunks[1:] or chunks:
        seen[piece.start : piece.end] = b"\x01" * (piece.end - piece.start)
    return all(seen)


def test_a_short_note_is_one_chunk() -> None:
    assert cut("buy milk", title="Errands") == [Chunk("note", 0, 8, "Errands\nbuy milk")]
    assert chunk("", title="Empty", when="2024-05-01", sections=[], items=[]) == [
        Chunk("note", 0, 0, "Empty · 2024-05-01")
    ]


@pytest.mark.parametrize("title", ["Caroline: Hey", "Caroline: Hey Mel! Good…"])
def test_a_title_taken_from_the_text_is_not_repeated(title: str) -> None:
    assert (
        cut("Caroline: Hey Mel! Good to see you", title=title)[0].text
        == "Caroline: Hey Mel! Good to see you"
    )


def test_a_heading_is_not_repeated_above_itself_but_further_down() -> None:
    body = "# Trip\n\n" + SENTENCE * 20
    chunks = cut(body, title="Trip")
    assert chunks[1].text.startswith("# Trip\n")
    assert all(piece.text.startswith("Trip\n") for piece in chunks[2:])


def test_long_prose_is_cut_between_sentences_without_overlap() -> None:
    body = SENTENCE * 40
    chunks = cut(body)
    assert [piece.kind for piece in chunks] == ["note"] + ["window"] * (len(chunks) - 1)
    assert all(piece.text.startswith("The quick") for piece in chunks)
    assert all(a.end == b.start for a, b in pairwise(chunks[1:]))
    assert all(60 <= len(piece.text.split()) <= 160 for piece in chunks[1:-1])


def test_a_wall_of_characters_is_cut_with_overlap() -> None:
    body = "x1" * 4000
    chunks = cut(body)
    assert covered(body, chunks)
    assert all(a.start < b.start < a.end for a, b in pairwise(chunks[1:]))


def test_a_long_section_names_itself_above_each_of_its_pieces() -> None:
    first, second = "# One\n" + SENTENCE * 9, "# Two\n" + SENTENCE * 30
    body = first + second
    chunks = cut(body, [(0, len(first), "One"), (len(first), len(body), "Two")], title="Note")
    assert chunks[1] == Chunk("window", 0, len(first), "Note\n" + first)
    assert chunks[2].text.startswith("Note\n# Two\n")
    assert chunks[3].text.startswith("Note\nTwo\nThe quick")
    assert covered(body, chunks)


def test_short_sections_share_a_piece() -> None:
    parts = [f"## Part {number}\n{SENTENCE * 2}" for number in range(8)]
    body = "".join(parts)
    size = len(parts[0])
    chunks = cut(
        body, [(at * size, at * size + size, f"Part {at}") for at in range(8)], title="Note"
    )[1:]
    assert len(chunks) == 2
    assert all(piece.text.startswith("Note\n## Part") for piece in chunks)
    assert covered(body, [chunks[0], *chunks])


def test_what_stands_for_the_whole_is_its_beginning() -> None:
    body = "".join(f"{number}. {SENTENCE}" for number in range(40))
    chunks = cut(body, title="Note")
    assert (chunks[0].kind, chunks[0].start, chunks[0].end) == ("note", 0, len(body))
    assert chunks[0].text == chunks[1].text
    assert len({piece.text for piece in chunks[1:]}) == len(chunks) - 1
    intro = "A few words that stand before everything else.\n\n"
    short = f"{intro}## Then\n\n{body}"
    sections = [(len(intro), len(short), "Then")]
    assert cut(short, title="Note", sections=sections)[0].text == "Note\n" + short[:600]


def test_a_bare_heading_goes_with_what_follows() -> None:
    body = "# A\n## B\n" + SENTENCE * 30
    chunks = cut(body, [(0, 4, "A"), (4, len(body), "B")])
    assert chunks[1].text.startswith("# A\n## B\nThe quick")


def test_a_list_is_cut_finer_than_prose_and_no_text_stands_twice() -> None:
    item = "- Anna moved to Lisbon in May and works at the harbour\n"
    prose, body = SENTENCE * 40, item * 52
    items = [(at, at + len(item)) for at in range(0, len(body), len(item))]
    listed, plain = cut(body, items=items)[1:], cut(prose)[1:]
    assert all(len(piece.text) < 0.7 * len(plain[0].text) for piece in listed)
    assert all(piece.text.startswith("- Anna") for piece in listed)
    assert sum(len(piece.text) for piece in listed) == len(body)


def test_every_character_is_covered_whatever_the_text() -> None:
    rng = random.Random(3)
    for _ in range(200):
        body = "".join(
            rng.choice(["word ", "a.b! ", "\n\n", "漢字。", "é", "x" * 50, "#\n", " ", "\r\n"])
            for _ in range(rng.randint(0, 900))
        )
        bounds = sorted(rng.sample(range(len(body) + 1), min(len(body), rng.randint(0, 6))))
        chunks = cut(body, [(low, high, "h") for low, high in pairwise(bounds)])
        assert covered(body, chunks)
        assert all(
            piece.text.endswith(body[piece.start : piece.end]) for piece in chunks[1:] or chunks
        )


@pytest.mark.parametrize("unit", [SENTENCE, "x", "- item of a list\n", "\n", "漢", "# h\n"])
def test_a_huge_note_takes_linear_time(unit: str) -> None:
    body = unit * (1_000_000 // len(unit))
    size = len(unit)
    spans = [(i, i + size) for i in range(0, len(body), size)][:50_000]
    began = time.perf_counter()
    chunks = cut(body, [(low, high, "h") for low, high in spans], spans)
    assert time.perf_counter() - began < patient(10)
    assert len(chunks) < 6000


def test_header_is_title_and_date() -> None:
    assert chunk_header("  A\n title ", "2024-05-01") == "A title · 2024-05-01"
    assert chunk_header("x" * 200, "") == "x" * 80
    assert chunk_header("", "") == ""


def test_context_is_the_episode_between_its_neighbours() -> None:
    assert context_text(["a"], "b", ["c", "d"], title="T", when="") == "T\na\nb\nc\nd"
    assert context_text([], "b", [], title="T", when="") == ""
    assert (CONTEXT_VECTOR_SPAN, CONTEXT_TEXT_SPAN) == (1, 2)


def test_the_hash_of_a_picture_is_not_what_a_note_says() -> None:
    link = f"![The boat](../../../attachments/ab/{'ab' * 32}.jpg)"
    body = f"Petrel lies in the harbour.\n\n{link}\n"
    [whole] = cut(body, [])
    assert "The boat" in whole.text
    assert "abab" not in whole.text
    assert (whole.start, whole.end) == (0, len(body))
    assert context_text([link], "b", [], title="T", when="") == "T\nThe boat\nb"


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("See [the plan](https://example.org/a_(b)?c=d#e) first.", "See the plan first."),
        ('See ![a map](http://example.org/a.png "Map") first.', "See a map first."),
        ("[Edit](mailto:a@example.org) <span class='x'>it</span><br>", "Edit it"),
        ("before <!-- nobody\nreads this --> after %% nor this %% end", "before  after  end"),
        ("[Ana](../people/Ana.md), [[Berth]], List<String>, 5 < 6 > 4, 50%%", None),
    ],
)
def test_what_nobody_reads_is_not_what_a_note_says(body: str, seen: str | None) -> None:
    assert cut(body, [])[0].text == (body if seen is None else seen)


def test_a_note_is_as_long_as_what_is_read_of_it() -> None:
    line = f"[A boat](https://example.org/{'x1' * 100}) lies here. "
    assert len(cut(line * 20, [])) == 1
    chunks = cut(line * 100, [])
    assert covered(line * 100, chunks)
    assert not any("x1" in chunk.text for chunk in chunks[1:])
