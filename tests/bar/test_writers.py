"""A hundred writers at once through the owner, and a person who stages without a pause: nothing
lost, nothing refused, nobody waits long."""

from __future__ import annotations

import subprocess
import threading
import time

import pytest

from oneiro_vault.daemon import client
from tests.box import Box
from tests.drills.whole import committed, kept
from tests.vault.support import git

EACH = 3
SLOWEST = {20: 2.0, 100: 5.0}
"""Writers -> seconds within which 99 of 100 acknowledgements come; a hundred that all wait at 20
ACK/s wait five."""
HUMAN = (
    'n=0; while [ ! -e ../stop ]; do n=$((n+1)); echo "draft $n" > draft.txt; git add draft.txt '
    "2>/dev/null; git status -s >/dev/null; sleep 0.05; done"
)


@pytest.mark.slow
@pytest.mark.parametrize("writers", SLOWEST)
def test_a_hundred_writers(box: Box, writers: int) -> None:
    crowd(box, writers)


@pytest.mark.drill
@pytest.mark.parametrize("writers", SLOWEST)
def test_their_rate_on_a_quiet_machine(box: Box, writers: int) -> None:
    rate, p99 = crowd(box, writers)
    assert rate >= 20
    assert p99 <= SLOWEST[writers]


def crowd(box: Box, writers: int) -> tuple[float, float]:
    """Everything acknowledged is kept; (acknowledgements a second, seconds that 99 of 100 waited at
    most)."""
    box.ok("list")
    owner = client.owner_of(str(box.vault))
    human = subprocess.Popen(["sh", "-c", HUMAN], cwd=box.vault, env=box.env)
    acked: dict[str, str] = {}
    waits: list[float] = []
    troubles: list[Exception] = []
    begin = threading.Barrier(writers)

    def write(name: int) -> None:
        begin.wait()
        for number in range(EACH):
            started = time.monotonic()
            try:
                item = {"text": f"Writer {name} says thing {number}."}
                row = client.call(
                    owner, "remember", {"items": [item], "dedupe": False}, lambda *_: None
                )["results"][0]
            except Exception as error:
                troubles.append(error)
                return
            waits.append(time.monotonic() - started)
            acked[row["path"]] = row["sha256"]

    threads = [threading.Thread(target=write, args=(name,)) for name in range(writers)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    took = time.monotonic() - started
    (box.folder / "stop").touch()
    human.wait(20)
    assert troubles == []
    assert len(acked) == writers * EACH
    waits.sort()
    p99 = waits[int(len(waits) * 0.99) - 1]
    print(f"{len(acked) / took:.0f} ACK/s, p50 {waits[len(waits) // 2]:.2f} s, p99 {p99:.2f} s")
    assert committed(box.vault, list(acked)) == acked
    assert "draft.txt" not in git(box.vault, "log", "--name-only", "--format=")
    git(box.vault, "rm", "-q", "-f", "--cached", "draft.txt")
    (box.vault / "draft.txt").unlink()
    kept(box, acked)
    return len(acked) / took, p99
