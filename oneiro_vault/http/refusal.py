"""How a request is turned away: a status, words for a program, and headers; raised where the reason
is found, answered in one place."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from oneiro_vault.errors import OneiroError

log = logging.getLogger("oneiro.owner")


class RefusedError(Exception):
    """`error` is a word for programs, `text` says what to do; neither repeats anything the caller
    sent."""

    def __init__(
        self, status: int, error: str, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.error, self.headers = status, error, dict(headers or {})

    def response(self) -> Response:
        """As JSON, never cached."""
        body = {"error": self.error, "error_description": str(self)}
        return JSONResponse(body, self.status, {"Cache-Control": "no-store", **self.headers})


def too_often(seconds: float) -> RefusedError:
    """The caller must wait."""
    return RefusedError(
        429, "too_many_requests", "Slow down.", {"Retry-After": str(max(1, round(seconds + 0.5)))}
    )


def trouble(error: OneiroError) -> Response:
    """One of our errors as JSON."""
    return JSONResponse(error.to_dict(), error.http_status, {"Cache-Control": "no-store"})


def unavailable(error: OneiroError) -> RefusedError:
    """For strangers: the reason names files of this machine, so it stays in the log."""
    log.error("nobody can be let in: %s", error)
    return RefusedError(
        503, "unavailable", "Who may come in cannot be told right now.", {"Retry-After": "10"}
    )


async def answer_refusal(_request: Request, error: Exception) -> Response:
    """For routes behind the gate that turn somebody away themselves."""
    if isinstance(error, OneiroError):
        return unavailable(error).response()
    if isinstance(error, RefusedError):
        return error.response()
    raise error
