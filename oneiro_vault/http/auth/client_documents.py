"""Programs that are named by the https address of a document about them (client-id metadata
documents).

The address comes from a stranger: https on its usual port only, every address the name has must be
public, the connection goes to the very address that was checked, nothing is followed, and size and
time are capped.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
import ssl
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final
from urllib.parse import urlsplit

import h11

from oneiro_vault.errors import OAuthRefusal, shown
from oneiro_vault.http.auth.authenticator import Buckets
from oneiro_vault.http.auth.oauth_server import Client, described

LARGEST: Final = 16_384
SECONDS: Final = 5.0
LONGEST: Final = 500
_MOST: Final = 200
_FRESH: Final = (300.0, 86_400.0)
_USUAL: Final = 3600.0
_FAILED: Final = 60.0
_URL: Final = re.compile(
    r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9\-._~/!$&'()*+,;=:@%?]+"
)
_V6: Final = ipaddress.ip_network("2000::/3")
_CARRIERS: Final = tuple(
    map(ipaddress.ip_network, ("2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20"))
)
"""IPv6 networks inside of 2000::/3 that lead to other networks, or nowhere."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str], Awaitable[list[str]]]
Connect = Callable[[str, str], Awaitable[Streams]]
"""Opens a verified TLS connection: (checked IP address, the name its certificate must have)."""


async def resolve(host: str) -> list[str]:
    """Every address of a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def connect(address: str, host: str) -> Streams:
    """TLS to that address, checked against that name."""
    return await asyncio.open_connection(
        address, 443, ssl=ssl.create_default_context(), server_hostname=host, limit=LARGEST
    )


def is_public(address: str) -> bool:
    """Does this IP address belong to the public internet, and lead nowhere else?"""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and not found.is_reserved
    return found in _V6 and not any(found in network for network in _CARRIERS)


class Documents:
    """Fetches and remembers them, failures too. Not thread-safe: one event loop."""

    def __init__(
        self,
        listed: Collection[str] = (),
        resolve: Resolve = resolve,
        connect: Connect = connect,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = SECONDS,
    ) -> None:
        self._listed, self._clock, self._seconds = listed, clock, seconds
        self._resolve, self._connect = resolve, connect
        self._known: OrderedDict[str, tuple[float, Client | OAuthRefusal]] = OrderedDict()
        self._rate = Buckets(30, 60, clock)
        self._busy = asyncio.Semaphore(4)

    async def find(self, url: str) -> Client:
        """The program this address stands for. Raises OAuthRefusal."""
        until, known = self._known.get(url, (0.0, None))
        if known is None or self._clock() > until:
            if not plain(url):
                text = f"{shown(url)} cannot be the name of a program"
                raise _refused(text, "It must be a plain https address with a path.")
            if self._rate.spend("all"):
                raise OAuthRefusal(
                    "too many unknown programs ask at once",
                    code="temporarily_unavailable",
                    hint="Try again in a minute.",
                )
            until, known = await self._look(url)
            self._known[url] = (until, known)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        if isinstance(known, OAuthRefusal):
            raise OAuthRefusal(str(known), code=known.code, hint=known.hint)
        return known

    async def _look(self, url: str) -> tuple[float, Client | OAuthRefusal]:
        try:
            async with asyncio.timeout(self._seconds), self._busy:
                headers, body = await self._fetch(url)
            return self._clock() + _freshness(headers.get("cache-control", "")), self._read(
                url, headers, body
            )
        except OAuthRefusal as refusal:
            return self._clock() + _FAILED, refusal
        except (OSError, TimeoutError, EOFError, h11.ProtocolError, ValueError) as error:
            text = f"the document at {shown(url)} cannot be fetched ({type(error).__name__})"
            return self._clock() + _FAILED, _refused(text, "Is it reachable from everywhere?")

    async def _fetch(self, url: str) -> tuple[dict[str, str], bytes]:
        host = str(urlsplit(url).hostname)
        addresses = await self._resolve(host)
        if not addresses or not all(map(is_public, addresses)):
            raise _refused(f"{shown(host)} is not a public host", "Nothing was asked of it.")
        reader, writer = await self._connect(addresses[0], host)
        try:
            return await _exchange(reader, writer, host, url.partition(host)[2])
        finally:
            writer.transport.abort()

    def _read(self, url: str, headers: dict[str, str], body: bytes) -> Client:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise _refused(f"the document at {shown(url)} is not JSON", "")
        try:
            found: Any = json.loads(body.decode())
        except (ValueError, RecursionError) as error:
            raise _refused(f"the document at {shown(url)} is not JSON", "") from error
        if not isinstance(found, dict) or found.get("client_id") != url:
            text = f"the document at {shown(url)} is about another program"
            raise _refused(text, "Its client_id must be its own address.")
        if found.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in found:
            raise _refused("a program with a public document can have no secret", "")
        return described(found, url, self._listed)


def plain(url: str) -> bool:
    """An https address with a path, on the usual port, of a name (not a number) that all parsers
    read alike."""
    if len(url) > LONGEST or not _URL.fullmatch(url):
        return False
    host, _, path = url.removeprefix("https://").partition("/")
    parts = re.sub("%2e", ".", path.partition("?")[0], flags=re.IGNORECASE).split("/")
    dotted = not {".", ".."}.isdisjoint(parts)
    return "." in host and ".." not in host and not host.rpartition(".")[2].isdigit() and not dotted


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, target: str
) -> tuple[dict[str, str], bytes]:
    talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST)
    asked = [("Host", host), ("Accept", "application/json"), ("User-Agent", "oneiro-vault")]
    asked.append(("Connection", "close"))
    writer.write(talk.send(h11.Request(method="GET", target=target, headers=asked)) or b"")
    writer.write(talk.send(h11.EndOfMessage()) or b"")
    await writer.drain()
    headers: dict[str, str] = {}
    body = b""
    while True:
        event = talk.next_event()
        if event is h11.NEED_DATA:
            talk.receive_data(await reader.read(4096))
        elif isinstance(event, h11.Response):
            if event.status_code != 200:
                text = f"{shown(host)} answered {event.status_code} instead of a document"
                raise _refused(text, "Redirects are not followed.")
            headers = {
                name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers
            }
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > LARGEST:
                text = f"the document at {shown(host)} is too large"
                raise _refused(text, f"At most {LARGEST} bytes.")
        elif isinstance(event, h11.EndOfMessage):
            return headers, body
        elif not isinstance(event, h11.InformationalResponse):
            raise EOFError


def _freshness(control: str) -> float:
    found = re.search(r"max-age=(\d{1,9})", control)
    low, high = _FRESH
    return min(max(float(found[1]), low), high) if found else _USUAL


def _refused(text: str, hint: str) -> OAuthRefusal:
    return OAuthRefusal(text, hint=hint, code="invalid_client")
