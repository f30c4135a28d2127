"""The address of a document comes from a stranger: it must not become a way into this machine's
network. Real TLS on loopback."""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oneiro_vault.errors import OAuthRefusal
from oneiro_vault.http.auth import client_documents
from oneiro_vault.http.auth.client_documents import LARGEST, Documents, Streams, is_public, plain
from tests.http.auth.conftest import Clock

HOST = "client.example.org"
URL = f"https://{HOST}/oauth/client.json"
PUBLIC = "93.184.216.34"
GOOD = {"client_id": URL, "client_name": "Client", "redirect_uris": ["http://127.0.0.1/callback"]}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of HOST, signed by itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]),
        datetime.datetime.now(datetime.UTC),
    )
    made = x509.CertificateBuilder(
        name,
        name,
        key.public_key(),
        x509.random_serial_number(),
        now,
        now + datetime.timedelta(days=1),
    )
    signed = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), False).sign(
        key, hashes.SHA256()
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return file


class Site:
    """An https server on loopback that answers with `reply` and notes what it was asked; `dialled`
    is what the fetcher connected to."""

    def __init__(self, certificate: Path, reply: bytes, pause: float = 0.0) -> None:
        self.certificate, self.reply, self.pause = certificate, reply, pause
        self.asked: list[bytes] = []
        self.dialled: list[tuple[str, str]] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await reader.readuntil(b"\r\n\r\n"))
            for start in range(0, len(self.reply), 4096):
                writer.write(self.reply[start : start + 4096])
                await writer.drain()
                await asyncio.sleep(self.pause)
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            pass

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Site]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def connect(self, address: str, host: str) -> Streams:
        self.dialled.append((address, host))
        context = ssl.create_default_context(cafile=str(self.certificate))
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, server_hostname=host
        )


def names(*addresses: str) -> Callable[[str], Coroutine[Any, Any, list[str]]]:
    async def resolve(_host: str) -> list[str]:
        return list(addresses)

    return resolve


def find(site: Site, url: str = URL, addresses: tuple[str, ...] = (PUBLIC,), **more: Any) -> Any:
    async def run() -> Any:
        async with site.open():
            return await Documents(resolve=names(*addresses), connect=site.connect, **more).find(
                url
            )

    return asyncio.run(run())


def as_reply(document: object, head: bytes = HEAD) -> bytes:
    body = json.dumps(document).encode()
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def refusal(*args: Any, **more: Any) -> str:
    with pytest.raises(OAuthRefusal) as caught:
        find(*args, **more)
    return str(caught.value)


def test_a_document_is_fetched_from_the_very_address_that_was_checked(certificate: Path) -> None:
    site = Site(certificate, as_reply(GOOD))
    client = find(site, addresses=(PUBLIC, "1.1.1.1"))
    assert (client.id, client.name, client.redirects, client.method) == (
        URL,
        "Client",
        ("http://127.0.0.1/callback",),
        "none",
    )
    assert site.dialled == [(PUBLIC, HOST)]
    (asked,) = site.asked
    assert asked.startswith(b"GET /oauth/client.json HTTP/1.1\r\nHost: client.example.org\r\n")
    assert b"cookie" not in asked.lower()
    assert b"authorization" not in asked.lower()


def test_a_chunked_answer(certificate: Path) -> None:
    body = json.dumps(GOOD).encode()
    chunks = (
        b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:10], body[10:]))
        + b"0\r\n\r\n"
    )
    assert find(Site(certificate, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)).id == URL


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "198.18.0.1", "192.0.2.1",
        "203.0.113.5", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::1", "::",
        "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::",
        "2001::1", "2001:db8::1", "3fff::1", "100::1", "", "x", "1.2.3",
    ],
)  # fmt: skip
def test_no_connection_to_what_is_not_public(certificate: Path, address: str) -> None:
    assert not is_public(address)
    for addresses in ((address,), (PUBLIC, address), (address, PUBLIC)):
        site = Site(certificate, as_reply(GOOD))
        assert "not a public host" in refusal(site, addresses=addresses)
        assert site.dialled == []


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


def test_a_name_without_addresses(certificate: Path) -> None:
    assert "not a public host" in refusal(Site(certificate, b""), addresses=())


def test_the_real_resolver_finds_loopback_and_the_fetch_stops_there(certificate: Path) -> None:
    assert set(asyncio.run(client_documents.resolve("localhost"))) <= {"127.0.0.1", "::1"}
    site = Site(certificate, as_reply(GOOD))
    with pytest.raises(OAuthRefusal, match="not a public host"):
        asyncio.run(
            Documents(
                resolve=lambda _host: client_documents.resolve("localhost"), connect=site.connect
            ).find(URL)
        )
    assert site.dialled == []


@pytest.mark.parametrize(
    "url",
    [
        "http://client.example.org/x", "ftp://client.example.org/x", "https://client.example.org",
        "https://client.example.org/", "https://localhost/x",
        "https://127.0.0.1/x", "https://127.1/x", "https://2130706433/x", "https://0x7f.0.0.1/x",
        "https://[::1]/x", "https://client.example.org:8443/x",
        "https://client.example.org:443/x", "https://user@client.example.org/x",
        "https://client.example.org/x#y", "https://client.example.org/../x",
        "https://client.example.org/a/%2e%2E/x", "https://client.example.org/./x",
        "https://client.example.org/x y", "https://client.example.org\\@evil.org/x",
        "https://CLIENT.example.org/x", "HTTPS://client.example.org/x",
        "https://client..example.org/x", "https://-client.example.org/x", "https://é.org/x",
        "https:///x", "https://client.example.org/" + "x" * 600,
        "https://client.example.org/x\r\nHost: evil.org", "file:///etc/passwd", "https://x.1/x",
        "://",
    ],
)  # fmt: skip
def test_addresses_that_name_no_program(certificate: Path, url: str) -> None:
    assert not plain(url)
    site = Site(certificate, as_reply(GOOD | {"client_id": url}))
    assert "cannot be the name of a program" in refusal(site, url=url)
    assert site.dialled == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (as_reply(GOOD | {"client_id": URL + "/"}), "another program"),
        (as_reply(GOOD | {"client_id": URL.upper()}), "another program"),
        (as_reply({"redirect_uris": ["http://127.0.0.1/"]}), "another program"),
        (as_reply([GOOD]), "another program"),
        (as_reply(GOOD | {"redirect_uris": []}), "redirect_uris"),
        (as_reply(GOOD | {"redirect_uris": ["http://evil.org/"]}), "neither https"),
        (as_reply(GOOD | {"client_secret": "x"}), "no secret"),
        (as_reply(GOOD | {"token_endpoint_auth_method": "client_secret_post"}), "no secret"),
        (HEAD + b"Content-Length: 1\r\n\r\n{", "not JSON"),
        (HEAD + b"Content-Length: 2\r\n\r\n\xff\xfe", "not JSON"),
        (HEAD + b"\r\n" + b"[" * 9000, "not JSON"),
        (as_reply(GOOD, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"), "not JSON"),
        (as_reply(GOOD, b"HTTP/1.1 200 OK\r\n"), "not JSON"),
        (b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n", "answered 302"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answered 404"),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", "answered 201"),
        (HEAD + b"\r\n" + b" " * (LARGEST + 1), "too large"),
        (HEAD + b"Content-Length: 999999999\r\n\r\n" + b" " * (LARGEST + 5000), "too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 40_000, "cannot be fetched"),
        (b"rubbish\r\n\r\n", "cannot be fetched"), (b"", "cannot be fetched"),
        (HEAD + b"Content-Length: 500\r\n\r\n{", "cannot be fetched"),
    ],
)  # fmt: skip
def test_documents_that_are_refused(certificate: Path, reply: bytes, words: str) -> None:
    site = Site(certificate, reply)
    assert words in refusal(site)
    assert len(site.dialled) == 1, "nothing is followed or tried again"


def test_a_slow_one_is_given_up(certificate: Path) -> None:
    reply = HEAD + b"\r\n" + b" " * 12_000
    assert "(TimeoutError)" in refusal(Site(certificate, reply, pause=1.0), seconds=0.5)


def test_a_slow_name_server_too(certificate: Path) -> None:
    async def never(_host: str) -> list[str]:
        await asyncio.sleep(30)
        return []

    with pytest.raises(OAuthRefusal, match="TimeoutError"):
        asyncio.run(Documents(resolve=never, seconds=0.2).find(URL))


def test_a_certificate_for_another_name(certificate: Path) -> None:
    site = Site(certificate, as_reply(GOOD))
    assert "cannot be fetched" in refusal(site, url="https://other.example.org/x")
    assert site.asked == []


def test_the_real_connection_checks_certificates(certificate: Path) -> None:
    """The default `connect` trusts the system only; nobody listens on the port it insists on, so it
    is refused either way."""
    with pytest.raises(OSError):  # noqa: PT011  # the kind depends on who listens at 443 here
        asyncio.run(client_documents.connect("127.0.0.1", HOST))


def test_answers_are_kept_as_long_as_they_say(certificate: Path, clock: Clock) -> None:
    site = Site(certificate, as_reply(GOOD, HEAD + b"Cache-Control: public, max-age=1000\r\n"))

    async def run() -> list[int]:
        found = Documents(resolve=names(PUBLIC), connect=site.connect, clock=clock)
        seen = []
        async with site.open():
            for pause in (0, 900, 200, 0):
                clock.now += pause
                await found.find(URL)
                seen.append(len(site.dialled))
        return seen

    assert asyncio.run(run()) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("", 3600),
        ("no-store", 3600),
        ("max-age=1", 300),
        ("max-age=99999999", 86_400),
        ("max-age=x", 3600),
        ("max-age=700", 700),
    ],
)
def test_how_long_that_can_be(control: str, seconds: float) -> None:
    assert client_documents._freshness(control) == seconds


def test_failures_are_kept_too_but_shortly(certificate: Path, clock: Clock) -> None:
    site = Site(certificate, b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")

    async def run() -> list[int]:
        found = Documents(resolve=names(PUBLIC), connect=site.connect, clock=clock)
        seen = []
        async with site.open():
            for pause in (0, 30, 40):
                clock.now += pause
                with pytest.raises(OAuthRefusal, match="answered 500"):
                    await found.find(URL)
                seen.append(len(site.dialled))
        return seen

    assert asyncio.run(run()) == [1, 1, 2]


def test_fetches_are_limited_in_number(clock: Clock) -> None:
    async def run() -> list[str]:
        found = Documents(resolve=names("127.0.0.1"), clock=clock)
        codes = []
        for number in range(40):
            with pytest.raises(OAuthRefusal) as caught:
                await found.find(f"https://h{number}.example.org/x")
            codes.append(caught.value.code)
        clock.now += 60
        with pytest.raises(OAuthRefusal) as caught:
            await found.find("https://later.example.org/x")
        return [*codes, caught.value.code]

    codes = asyncio.run(run())
    assert codes == ["invalid_client"] * 30 + ["temporarily_unavailable"] * 10 + ["invalid_client"]
