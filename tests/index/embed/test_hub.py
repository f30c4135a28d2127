"""A model by its hub name: from the cache without a word, downloaded once, or refused after one
question."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import LOADING
from oneiro_vault.index.embed import frames
from oneiro_vault.index.embed.embedders import WorkerEmbedder
from oneiro_vault.index.embed.models import model_folder

Asked = Callable[..., list[str]]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b"{}",
    "modules.json": b"[]",
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"again",
    "openvino/openvino_model.bin": b"again",
    "onnx/model.onnx": b"graph",
    "onnx/model.onnx_data": b"weights of the graph",
    "onnx/model_int8.onnx": b"a smaller one",
}
GRAPH = FILES | {"tokenizer.json": b"{}"}
ASK = """
import sys
from oneiro_vault.index.embed import worker
try:
    print(worker.folder_of(sys.argv[1], sys.argv[2:], lambda doing: print("doing:", doing)))
except worker.NoModelError as error:
    print("refused:", error, "|", error.hint)
"""


class Hub:
    """A hub with one model, `some/model`; `pause` seconds before every answer."""

    def __init__(self, pause: float = 0) -> None:
        self.asked: list[str] = []
        self.files = FILES
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked.append(self.path)
                time.sleep(pause)
                status, body, kind = hub.answer(self.path)
                self.send_response(status)
                if self.path.startswith("/some/model/resolve/"):
                    self.send_header("ETag", f'"{hash(self.path) & 0xFFFFFFFF:040x}"')
                    self.send_header("X-Repo-Commit", COMMIT)
                if status == 404:
                    self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815  # http.server calls it so

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, path: str) -> tuple[int, bytes, str]:
        if path.startswith("/api/models/some/model/tree/"):
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": f"{len(name):040x}"}
                for name, data in self.files.items()
            ]
            return 200, json.dumps(rows).encode(), "application/json"
        if path.startswith("/api/models/some/model"):
            found = {
                "id": "some/model",
                "sha": COMMIT,
                "siblings": [{"rfilename": name} for name in self.files],
            }
            return 200, json.dumps(found).encode(), "application/json"
        name = path.removeprefix(f"/some/model/resolve/{COMMIT}/")
        return (
            (200, self.files[name], "application/octet-stream")
            if name in self.files
            else (404, b"{}", "application/json")
        )

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.close()


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """`ask(url of the hub, name)`: what a fresh process says about a model."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "")

    def asked(url: str, name: str, *forms: str) -> list[str]:
        env = frames.environment(online=True) | {"HF_ENDPOINT": url, "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", ASK, name, *(forms or ("graph", "weights"))],
            env=env,
            capture_output=True,
            timeout=100,
            check=True,
        )
        return done.stdout.decode().splitlines()

    return asked


def files_in(folder: str) -> set[str]:
    return {
        path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()
    }


@pytest.mark.slow
def test_it_is_downloaded_once_and_only_what_is_needed(hub: Hub, ask: Asked) -> None:
    doing, folder = ask(hub.url, "some/model")
    assert doing == "doing: downloading the embedding model some/model"
    assert files_in(folder) == {"config.json", "modules.json", "model.safetensors"}
    hub.asked.clear()
    assert ask(hub.url, "some/model") == [folder]
    assert hub.asked == []


@pytest.mark.slow
def test_an_onnx_file_is_all_that_is_downloaded_of_a_model_that_ships_one(
    hub: Hub, ask: Asked
) -> None:
    hub.files = GRAPH
    _, folder = ask(hub.url, "some/model")
    full = {
        "config.json",
        "modules.json",
        "tokenizer.json",
        "onnx/model.onnx",
        "onnx/model.onnx_data",
    }
    assert files_in(folder) == full
    hub.asked.clear()
    assert ask(hub.url, "some/model", "graph") == [folder]
    assert hub.asked == []
    assert ask(hub.url, "some/model", "weights")[1:] == [folder], (
        "sentence-transformers has to load it: its weights come as well"
    )
    assert files_in(folder) == {*full, "model.safetensors"}


def test_a_smaller_onnx_file_is_taken_when_there_is_no_other(hub: Hub, ask: Asked) -> None:
    hub.files = {
        name: data for name, data in GRAPH.items() if not name.startswith("onnx/model.onnx")
    }
    assert "onnx/model_int8.onnx" in files_in(ask(hub.url, "some/model")[1])


def test_a_model_without_an_onnx_file_names_the_extra_where_it_is_missing(
    hub: Hub, ask: Asked
) -> None:
    (said,) = ask(hub.url, "some/model", "graph")
    assert said.startswith("refused: it ships no ONNX file")
    assert "pip install 'oneiro-vault[models]'" in said


def test_a_version_that_nobody_named_is_found_in_the_cache(
    hub: Hub, ask: Asked, tmp_path: Path
) -> None:
    place = tmp_path / "cache/hub/models--some--model/snapshots/abc"
    (place / "onnx").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "onnx/model.onnx"):
        (place / name).write_bytes(b"{}")
    assert ask(hub.url, "some/model") == [str(place)]
    assert hub.asked == []


@pytest.mark.slow
def test_a_name_nobody_knows_is_refused_after_one_question(hub: Hub, ask: Asked) -> None:
    (said,) = ask(hub.url, "no/such")
    assert said.startswith(
        "refused: there is no model 'no/such' on this machine, and none on the hub"
    )
    assert "Check the name in embed.model" in said
    assert len(hub.asked) == 1
    assert "refused: there is no model 'plain'" in ask(hub.url, "plain")[0]
    assert "refused: there is no model" in ask(hub.url, "not a name at all!")[0]


def test_without_a_network_it_is_refused_and_said_what_to_do(ask: Asked) -> None:
    (said,) = ask("http://127.0.0.1:9", "some/model")
    assert said.startswith(
        "refused: it is not on this machine, and the hub cannot be asked for it (ConnectError"
    )
    assert "be online once" in said


@pytest.mark.slow
def test_a_hub_that_never_answers_is_asked_once(ask: Asked) -> None:
    deaf = Hub(pause=60)
    try:
        (said,) = ask(deaf.url, "some/model")
    finally:
        deaf.server.socket.close()
    assert said.startswith("refused: it is not on this machine")
    assert len(deaf.asked) == 1


def test_a_person_who_said_offline_is_obeyed(
    hub: Hub, ask: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert ask(hub.url, "some/model")[0].startswith("refused: it is not on this machine")
    assert hub.asked == []


@pytest.mark.slow
def test_the_embedder_passes_it_on(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "",
        "HF_ENDPOINT": hub.url,
    }.items():
        monkeypatch.setenv(name, value)
    worker = WorkerEmbedder("no/such")
    with pytest.raises(
        EmbedderProblem, match=r"'no/such' cannot be used: there is no model"
    ) as caught:
        worker.query("x")
    assert "Check the name" in caught.value.hint
    asked = len(hub.asked)
    with pytest.raises(EmbedderProblem):
        worker.query("y")
    assert len(hub.asked) == asked, "it rests before it asks again"
    worker.close()


@pytest.mark.model
def test_a_model_in_the_cache_is_used_without_a_word(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "hub" / "models--some--model"
    (place / "snapshots").mkdir(parents=True)
    (place / "snapshots" / COMMIT).symlink_to(model_folder())
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    for name, value in {
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "",
        "HF_ENDPOINT": hub.url,
    }.items():
        monkeypatch.setenv(name, value)
    worker = WorkerEmbedder("some/model")
    heard: list[str] = []
    worker.load(heard.append)
    assert worker.query("hello").shape == (384,)
    assert hub.asked == []
    assert set(heard) <= {LOADING}
    worker.close()
