"""Filling, pruning and resuming the vector store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import Kind, Vectors
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.index.vectors import service
from tests.box import patient
from tests.index.conftest import Notes, waiting_texts

Open = Callable[..., Index]


class Counting(HashEmbedder):
    """Counts texts, and fails after `left` of them."""

    def __init__(self, left: int = 1 << 30, pause: float = 0) -> None:
        super().__init__(32)
        self.texts: list[str] = []
        self.left = left
        self.pause = pause

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        if kind == "query":
            return super().encode(texts)
        time.sleep(self.pause)
        if len(self.texts) + len(texts) > self.left:
            raise EmbedderProblem("out of order")
        self.texts += texts
        return super().encode(texts, kind)


def many(vault: Notes, count: int = 700) -> None:
    for number in range(count):
        vault.put(f"{number:03}.md", f"note number {number} " + "word " * (number % 50))


def test_each_text_is_computed_once_and_a_batch_needs_little_padding(
    vault: Notes, open_index: Open
) -> None:
    many(vault)
    vault.put("a/005.md", (vault.root / "005.md").read_text())
    embedder = Counting()
    index = open_index(embedder=embedder)
    index.refresh()
    assert len(waiting_texts(index)) == 700
    seen: list[tuple[str, int, int]] = []
    assert index.embed(lambda *step: seen.append(step)) == 700
    lengths = [len(text) for text in embedder.texts]
    assert lengths == sorted(lengths, reverse=True)
    assert seen[-1] == ("embedding", 700, 700)
    assert index.embed() == 0
    assert len(embedder.texts) == 700


def test_every_note_answers_by_meaning_before_any_has_all_its_windows(
    vault: Notes, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FRAME", 3)
    for number in range(1, 7):
        long = f"The harbour of town {number} has a crane, and it is as old as the town. " * 40
        link = "" if number == 1 else "\n\nIt is as [[old]] as the other."
        vault.put(
            f"{number}.md",
            long + link,
            title="old" if number == 1 else f"note {number}",
            created=f"2024-05-0{number}T10:00:00Z",
        )
    index = open_index(embedder=Counting())
    index.refresh()
    waiting = waiting_texts(index)
    numbers = [int(text.partition("town ")[2][0]) for text in waiting[:6]]
    assert set(numbers[:3]) == {6, 1, 5}  # the newest, and the one that the others link to
    assert set(numbers) == set(range(1, 7))
    assert len(waiting) > 12


class Writing(Counting):
    """Does something once, while it computes its first texts."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self.then: Callable[[], object] | None = then

    def encode(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        if self.then is not None:
            then, self.then = self.then, None
            then()
        return super().encode(texts, kind)


def test_what_is_written_meanwhile_goes_in_front(
    vault: Notes, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BATCH", 10)
    many(vault, 100)

    def write() -> None:
        vault.put("new.md", "a new note", created="2001-01-01T10:00:00Z")
        index.refresh(["new.md"])

    embedder = Writing(write)
    index = open_index(embedder=embedder)
    index.refresh()
    seen: list[tuple[str, int, int]] = []
    assert index.embed(lambda *step: seen.append(step)) == 101
    assert any("a new note" in text for text in embedder.texts[10:20])
    assert seen[-1] == ("embedding", 101, 101)
    assert index.status()["pending"] == 0


def test_how_far_the_vectors_are_and_how_fast_they_come(vault: Notes, open_index: Open) -> None:
    many(vault, 100)
    index = open_index(embedder=Counting())
    assert index.embedding() is None
    index.refresh()
    index.settle()
    assert index.embedding() == {"done": 0, "total": 100, "rate": 0.0, "seconds_left": None}
    seen: list[object] = []
    index.embed(lambda *_: seen.append(index.embedding()))
    first = seen[0]
    assert isinstance(first, dict)
    assert first["total"] == 100
    assert first["rate"] > 0
    assert first["seconds_left"] >= 0
    assert index.embedding() is None


def test_the_pace_is_that_of_the_last_seconds_of_work() -> None:
    now = [0.0]
    pace = service.Pace(lambda: now[0])
    assert pace.rate() == 0
    with pace.working():
        assert pace.rate() == 0
        for _ in range(10):
            now[0] += 1
            pace.add(100)
        assert pace.rate() == 100
        for _ in range(30):
            now[0] += 1
            pace.add(10)
        assert pace.rate() == 10
        now[0] += 20
        assert pace.rate() < 6
    assert pace.rate() == 0


def test_a_failing_model_keeps_what_was_done_and_the_next_call_goes_on(
    vault: Notes, open_index: Open
) -> None:
    many(vault)
    embedder = Counting(left=2 * service.BATCH + 1)
    index = open_index(embedder=embedder)
    index.refresh()
    with pytest.raises(EmbedderProblem):
        index.embed()
    assert index.status()["pending"] == 700 - 2 * service.BATCH
    assert "out of order" in str(index.degraded())
    assert index.search_vectors(index.query("note number 3"), 3)
    embedder.left = 1 << 30
    assert index.embed() == 700 - 2 * service.BATCH
    assert index.degraded() is None
    assert len(embedder.texts) == 700


def test_stopping_between_batches(vault: Notes, open_index: Open) -> None:
    many(vault)
    embedder = Counting()
    index = open_index(embedder=embedder)
    index.refresh()
    index.embed(stop=lambda: len(embedder.texts) >= service.BATCH)
    assert index.status()["pending"] == 700 - service.BATCH
    index.embed()
    assert index.status()["pending"] == 0


def test_closing_ends_a_fill(vault: Notes, open_index: Open) -> None:
    many(vault)
    index = open_index(embedder=Counting(pause=0.3))
    index.refresh()
    thread = threading.Thread(target=index.embed)
    thread.start()
    time.sleep(0.4)
    start = time.monotonic()
    index.close()
    thread.join(10)
    assert time.monotonic() - start < patient(3)
    assert not thread.is_alive()


def test_a_new_store_is_filled_from_the_cache(vault: Notes, open_index: Open) -> None:
    many(vault, 50)
    embedder = Counting()
    index = open_index(embedder=embedder)
    index.refresh()
    index.embed()
    index._semantic.replace()
    index.rebuild()
    assert index.embed() == 0
    assert index.status()["pending"] == 0
    assert len(embedder.texts) == 50
    index.close()
    again = open_index(embedder=embedder)
    again.refresh()
    assert again.embed() == 50
    assert len(embedder.texts) == 50


def test_vectors_nobody_needs_leave_the_store_and_come_back_from_the_cache(
    vault: Notes, open_index: Open
) -> None:
    vault.put("a.md", "apples", title="Fruit")
    vault.put("b.md", "bananas", title="Fruit")
    embedder = Counting()
    index = open_index(embedder=embedder)
    index.refresh()
    index.embed()
    vault.drop("a.md")
    index.refresh()
    index.embed()
    assert len(index._semantic._target.store.ids()) == 1  # type: ignore[union-attr]  # it is there: the test made it
    assert [
        index.rows([hit.key])[hit.key].path
        for hit in index.search_vectors(index.query("apples"), 5)
    ] == ["b.md"]
    vault.put("c.md", "apples", title="Fruit")
    index.refresh()
    assert index.embed() == 1
    assert len(embedder.texts) == 2


def test_a_vector_of_a_deleted_note_is_nobodys_even_before_it_is_pruned(
    vault: Notes, open_index: Open
) -> None:
    vault.put("a.md", "apples")
    vault.put("b.md", "bananas")
    index = open_index()
    index.refresh()
    index.embed()
    vault.drop("a.md")
    index.refresh()
    assert [
        index.rows([hit.key])[hit.key].path
        for hit in index.search_vectors(index.query("apples"), 5)
    ] == ["b.md"]


def test_without_an_open_store_words_answer(vault: Notes, open_index: Open) -> None:
    vault.put("a.md", "apples")
    index = open_index()
    index.refresh()
    assert not index.vectors_ready()
    assert index.search_vectors(index.query("apples"), 5) == []
    assert "not open" in str(index.degraded())
    assert index.search_text('"apples"', 5)


def test_what_is_unrelated_looks_like_here(vault: Notes, open_index: Open) -> None:
    index = open_index()
    index.refresh()
    borrowed = index.background()  # from sentences of our own, while there are no notes
    assert all(-1 < value < 1 for value in borrowed)
    many(vault, 40)
    index.refresh()
    index.embed()
    mean, deviation = index.background()
    assert (mean, deviation) != borrowed
    assert -1 < mean < 1
    assert 0 < deviation < 1
    assert index.background() == (mean, deviation)


def test_opening_the_index_imports_neither_chroma_nor_torch(vault: Notes) -> None:
    import subprocess
    import sys

    from oneiro_vault.index.embed import frames

    code = (
        "import sys, pathlib; from oneiro_vault.index.store import Index; from "
        "oneiro_vault.index.embed.embedders import WorkerEmbedder; index = "
        "Index.open(pathlib.Path(sys.argv[1]), None, WorkerEmbedder('hash')); index.status(); "
        "index.close(); print([m for m in ('chromadb', 'torch', 'sentence_transformers', "
        "'watchdog', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(vault.root / "i")],
        capture_output=True,
        text=True,
        env=frames.environment(),
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_store_that_was_closed_in_order_answers_without_chroma(
    vault: Notes, open_index: Open
) -> None:
    many(vault, 30)
    vault.put("boat.md", "the boat lies in the harbour")
    for first in (True, False):
        index = open_index(vectors="chroma")
        index.refresh()
        index.embed()
        assert index._semantic._serving.store.awake is first  # type: ignore[union-attr]  # it is there: it was opened
        found = index.search_vectors(index.query("where does the boat lie?"), 3)
        assert found[0].cosine > 0.4
        index.close()
    vault.put("tea.md", "she drinks her tea without milk")
    index = open_index(vectors="chroma")
    index.refresh()
    assert index.embed() == 1
    assert index._semantic._serving.store.awake  # type: ignore[union-attr]  # the same
    assert index._semantic._serving.store.count() == 32  # type: ignore[union-attr]  # the same
    index.close()


def test_a_list_that_is_not_the_one_of_the_last_closing_is_compared_with_the_store(
    vault: Notes, open_index: Open
) -> None:
    many(vault, 30)
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    with index._semantic._writing() as db:
        db.execute("DELETE FROM stored WHERE hash IN (SELECT hash FROM stored LIMIT 5)")
    index._semantic._serving.count = lambda: 30  # type: ignore[union-attr,method-assign]  # as if the list had gone back after closing
    index.close()
    index = open_index(vectors="chroma")
    index.refresh()
    index.open_vectors()
    assert index._semantic._serving.store.awake  # type: ignore[union-attr]  # it is there: it was opened
    assert index.status()["pending"] == 0
