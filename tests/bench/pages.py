"""The pages before a large vault: time to the first byte of each, against the calls behind it in
the same owner; and search as somebody types."""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from oneiro_vault.app import init_vault
from oneiro_vault.daemon import client
from tests.bench.commands import command, environment, settle
from tests.bench.kit import WORDS, Row, paired, pick, timed, write_notes

TIMES = 20
TYPED = 60
"""Queries that grow letter by letter."""
Calls = tuple[tuple[str, Mapping[str, Any]], ...]


def run(scale: int) -> Iterator[Row]:
    """`scale` memories, embedded by the real model, which stays loaded: somebody is typing."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        write_notes(root, scale, words=60)
        env = environment(Path(folder)) | {"ONEIRO_EMBED_IDLE": "600"}
        try:
            command(env, root, "recall", "kaba")
            settle(env, root)
            ident = command(env, root, "recall", "kaba lofin")["results"][0]["id"]
            yield from _pages(env, root, scale, ident)
        finally:
            command(env, root, "stop")


def _pages(env: Mapping[str, str], root: Path, scale: int, ident: str) -> Iterator[Row]:
    get, owner = _reader(env, root), client.owner_of(str(root))
    for name, path, calls in _behind(ident):

        def behind(calls: Calls = calls) -> None:
            for op, params in calls:
                client.call(owner, op, params)

        ours, bare = paired(partial(get, path), behind, times=TIMES, warmup=2)
        yield Row(f"page {name}, {scale:,} memories / the calls behind it", ours, bare, "<= 3")
    rng, spent = random.Random(4), []
    for _ in range(TYPED // 6):
        words = f"{pick(rng)} {pick(rng, WORDS)}"
        spent += [
            timed(partial(get, f"/ui/search?q={quote(words[:end])}", part=True))
            for end in range(3, 9)
        ]
    slow = statistics.quantiles(spent, n=20)[-1]
    yield Row(f"search as you type, {scale:,} memories, p95", slow * 1000, None, "<= 150", "ms")


def _behind(ident: str) -> Iterator[tuple[str, str, Calls]]:
    """Name, address, and the operations that it shows."""
    show = {"id": ident}
    yield "Wake", "/ui/", (("wake", {}), ("orient", {"n": 15}))
    recall = {"query": "kaba lofin", "explain": True, "k": 20, "passive": True}
    yield "Search", "/ui/search?q=kaba+lofin", (("recall", recall),)
    of_one: list[tuple[str, Mapping[str, Any]]] = [
        ("show", show),
        ("levels", show),
        ("levels", show | {"up": True}),
    ]
    of_one += [("strength", show), ("usage", show), ("grounds", {"ids": [ident]})]
    yield "Memory", f"/ui/memory/{ident}", tuple(of_one)
    yield "Timeline", "/ui/timeline", (("timeline", {"limit": 50}),)
    yield "Fading", "/ui/fading", (("fading", {"limit": 50}),)
    runs: Calls = (
        ("runs", {"limit": 400}),
        ("runs", {"night": "last", "changes": True}),
        ("review", {}),
    )
    yield "Dreams", "/ui/dreams", runs
    yield "Flags", "/ui/flags", (("flagged", {"limit": 50}),)
    now: Calls = (("status", {}), ("schedule", {}), ("runs", {"since": "30 days ago"}))
    yield "Health", "/ui/health", (*now, ("flagged", {"limit": 1}), ("review", {}))


def _reader(env: Mapping[str, str], root: Path) -> Callable[..., None]:
    """Somebody who came by the link: `get(path)` reads a page, to the first byte."""
    base, _, code = command(dict(env), root, "ui")["url"].partition("/ui/login#")
    host = base.removeprefix("http://")
    connection = HTTPConnection(host)
    own = {"Origin": base, "Sec-Fetch-Site": "same-origin"}
    form = own | {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/ui/session", urlencode({"code": code}), form)
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def get(path: str, part: bool = False) -> None:
        connection.request(
            "GET", path, headers={"Cookie": cookie, **({"HX-Request": "true"} if part else {})}
        )
        found = connection.getresponse()
        assert found.status == 200, path
        found.read()

    return get
