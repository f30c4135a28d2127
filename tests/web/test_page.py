"""What takes long on a page stands in nobody's way."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from starlette.responses import PlainTextResponse, Response

from oneiro_vault.web.notes import body_html
from oneiro_vault.web.page import Undrawn, drawn


def test_a_page_is_filled_in_outside_of_the_loop() -> None:
    def name() -> Response:
        return PlainTextResponse(threading.current_thread().name)

    answer = asyncio.run(drawn(Undrawn(name)))
    assert bytes(answer.body).decode() != threading.current_thread().name
    other = PlainTextResponse("as it is")
    assert asyncio.run(drawn(other)) is other


def test_notes_are_laid_out_side_by_side() -> None:
    texts = [f"# {n}\n\n[[N{n}|*n*]] and ![x](https://x.test/{n}.png)\n\n" * 20 for n in range(8)]
    alone = [body_html(text, "abc") for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: body_html(text, "abc"), texts * 8)) == alone * 8
