"""Nothing here talks to the network: the whole demo with the real model, every process watched, one
attempt is a failure."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WATCH = """
import os, sys

def _watch(event, args):
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
            _report(f"connect {address}")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        if args[0] not in (None, "", "localhost", "127.0.0.1", "::1", b"localhost"):
            _report(f"lookup {args[0]!r}")

def _report(text):
    with open(os.environ["QUIET_REPORT"], "a") as file:
        file.write(f"{sys.argv}: {text}\\n")
    raise OSError("refused: " + text)

sys.addaudithook(_watch)
"""
OUTWARD = re.compile(
    r"connect\(\d+, \{sa_family=AF_INET6?, .*?(?:sin_addr=inet_addr\(\"(?!127\.)|"
    r"inet_pton\(AF_INET6, \"(?!::1\"))"
)


def demo(tmp_path: Path, env: dict[str, str], *before: str) -> subprocess.CompletedProcess[str]:
    """`oneiro demo` with the default model; the audit hook is in every Python process it starts."""
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    wanted = {key: value for key, value in env.items() if key != "ONEIRO_EMBED_MODEL"}
    paths = [str(tmp_path), env.get("PYTHONPATH", "")]
    wanted |= {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "QUIET_REPORT": str(tmp_path / "report"),
    }
    vault = tmp_path / "vault"
    try:
        return subprocess.run(
            [*before, sys.executable, "-m", "oneiro_vault", "demo", "--keep", str(vault)],
            env=wanted,
            capture_output=True,
            text=True,
            timeout=500,
        )
    finally:
        subprocess.run(
            [sys.executable, "-m", "oneiro_vault", "--vault", str(vault), "stop"],
            env=wanted,
            capture_output=True,
            timeout=30,
        )


@pytest.mark.model
@pytest.mark.timeout(600)
def test_no_python_process_of_the_demo_connects_anywhere(
    tmp_path: Path, sealed_env: dict[str, str]
) -> None:
    done = demo(tmp_path, sealed_env)
    assert not (tmp_path / "report").exists(), (tmp_path / "report").read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    assert not Path(sealed_env["HOME"], ".cache").exists(), (
        "onnxruntime notes down what it would report"
    )


@pytest.mark.model
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="native code can only be watched where strace is installed",
)
def test_no_native_code_of_the_demo_connects_anywhere(
    tmp_path: Path, sealed_env: dict[str, str]
) -> None:
    trace = tmp_path / "trace"
    done = demo(
        tmp_path, sealed_env, "strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", str(trace)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outward = [
        line for line in trace.read_text(errors="replace").splitlines() if OUTWARD.search(line)
    ]
    assert outward == []


def test_the_watch_would_see_an_attempt(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    env = sealed_env | {"PYTHONPATH": str(tmp_path), "QUIET_REPORT": str(tmp_path / "report")}
    code = "import socket; socket.create_connection(('192.0.2.1', 9), 0.1)"
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True).returncode != 0
    )
    assert "192.0.2.1" in (tmp_path / "report").read_text()
    line = (
        '12 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, '
        "16) = -1"
    )
    assert OUTWARD.search(line)
    assert not OUTWARD.search(line.replace("192.0.2.1", "127.0.0.1"))
