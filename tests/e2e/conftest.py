"""A vault with a memory and an orientation, and each client set up for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.e2e import clients, fakes
from tests.e2e.clients import Client, Model

BOAT = "The boat is called Petrel and lies in Bergen harbour."
PROJECT = "We build a ferry timetable."
SESSION = "6b1f0a1e-4d5c-4a58-9a3e-0f1e2d3c4b5a"


@contextmanager
def vault(folder: Path) -> Iterator[Box]:
    box = Box(folder, sealed(folder)).init()
    try:
        box.remember(BOAT)
        box.json("remember", "--type", "orientation", "--title", "The project", PROJECT)
        yield box
    finally:
        box.close()


def model() -> Model:
    found = Model()
    found.calls["remember that"] = (
        "remember",
        {"text": "Ana wants releases on Thursdays, because support is quiet then."},
    )
    found.calls["when does Ana"] = ("recall_check", {"topic": "when does Ana want releases"})
    return found


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with vault(tmp_path_factory.mktemp("claude")) as box:
        client = clients.claude_code(box, model(), SESSION)
        with client.endpoint:
            client.env["ANTHROPIC_BASE_URL"] = client.endpoint.url
            set_up(client, "claude-code")
            clients.recorded(box, Path(client.env["HOME"]) / ".claude" / "settings.json")
            yield client


@pytest.fixture(scope="module")
def codex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    says = model()
    says.summary = "We named the boat Petrel. <private>hunter2</private>"
    with vault(tmp_path_factory.mktemp("codex")) as box:
        client = clients.codex(box, says)
        with client.endpoint:
            set_up(client, "codex")
            home = Path(client.env["HOME"]) / ".codex"
            clients.recorded(box, home / "hooks.json")
            config = home / "config.toml"
            config.write_text(_provided(config.read_text(), client.endpoint.url))
            yield client


def _provided(ours: str, url: str) -> str:
    """Codex's settings with our model endpoint, waiting for our tools, and with a small context."""
    provider = f'name = "fake"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "NO_KEY"\n'
    top = 'model = "fake"\nmodel_provider = "fake"\nmodel_auto_compact_token_limit = 5000\n\n'
    patient = ours.replace("startup_timeout_sec", "required = true\nstartup_timeout_sec")
    return f"{top}{patient}\n[model_providers.fake]\n{provider}"


def full(client: Client) -> None:
    """From now on Codex believes that its context is nearly full."""
    client.endpoint.speak = partial(fakes.responses, tokens=100_000)


def set_up(client: Client, name: str) -> None:
    oneiro = Path(sys.executable).parent / "oneiro"
    argv = [str(oneiro), "--vault", str(client.box.vault), "setup", name]
    done = subprocess.run(
        argv, env=client.env, cwd=client.place, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    client.box.ok(
        "recall", "the boat"
    )  # new settings end the owner; a prompt in its first second would have to do without
