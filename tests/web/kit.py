"""A visitor of the page without a browser: exact bytes out, the answer in, and its cookie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

from tests.box import Box


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Visitor:
    """`get` and `post` as a browser on the page would, unless told otherwise."""

    base: str
    cookie: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    def get(self, target: str, **headers: str) -> Answer:
        """GET; `headers`: `_` for `-`."""
        return self.send("GET", target, b"", headers)

    def post(self, target: str, fields: Mapping[str, str] | None = None, **headers: str) -> Answer:
        """POST a form from the page's own origin."""
        body = urlencode(fields or {}).encode()
        usual = {
            "Origin": self.base,
            "Sec_Fetch_Site": "same-origin",
            "Content_Type": "application/x-www-form-urlencoded",
        }
        return self.send("POST", target, body, usual | headers)

    def part(self, target: str) -> Answer:
        """GET a fragment, as htmx does."""
        return self.get(target, HX_Request="true")

    def send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Anything; a header whose value is "" is left out."""
        place = urlsplit(self.base)
        connection = HTTPConnection(place.hostname or "", place.port or 0, timeout=60)
        usual = {"Cookie": self.cookie} if self.cookie else {}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, target, body or None, {n: v for n, v in given.items() if v})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def enter(self, code: str) -> Answer:
        """Spend a code; what comes of it is kept as a cookie."""
        answer = self.post("/ui/session", {"code": code})
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer


def link(box: Box) -> tuple[str, str]:
    """(base address, code) of a new link to a box's page."""
    done = box("--json", "ui")
    assert done.returncode == 0, done.stderr
    base, _, code = json.loads(done.stdout)["url"].partition("/ui/login#")
    return base, code


def visitor(box: Box) -> Visitor:
    """Somebody whom the page has let in."""
    base, code = link(box)
    found = Visitor(base)
    assert found.enter(code).status == 303
    return found
