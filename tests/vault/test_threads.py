"""Several threads in one process: an owner answers, watches and writes at once, and none of them
may wait for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.vault import layout
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.vault import Vault


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_reading_watching_and_writing_at_once(tmp_path: Path) -> None:
    """A store written in Python inside the shared object database stopped everything within
    seconds: mutex against interpreter."""
    root = tmp_path / "vault"
    layout.create(root)
    for number in range(1500):
        path = root / "semantic" / f"{number // 100:02}" / f"n{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"note {number}\n")
    vault = Vault.open(root, quiet=0.0, reserve=0, lazy_index=True)
    vault.edits.commit()
    end, failed = time.monotonic() + 4.0, list[BaseException]()

    def again(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                while time.monotonic() < end:
                    work()
            except BaseException as error:
                failed.append(error)

        return run

    count = iter(range(1_000_000))

    def write() -> None:
        number = next(count)
        vault.apply(
            [Write(f"semantic/new/w{number}.md", b"written\n")], Operation("remember", f"w{number}")
        )

    works: list[Callable[[], object]] = [
        vault.edits.look,
        vault.listing,
        lambda: list(vault.ledger.events()),
        write,
        vault.gate.flush,
        lambda: vault.repo.difference("", vault.head()),
    ]
    threads = [threading.Thread(target=again(work), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=25)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    assert failed == []
    vault.close()
    assert vault.edits.look().ready == {}
