"""A small real App for the owner's HTTP face: answers at once, slowly, with progress, or badly, as
it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.errors import NotFound, SettingsError
from oneiro_vault.settings.definitions import Settings
from tests.box import patient


class SmallApp(App):
    """`recall` echoes its query, `remember` waits for `gate`, `watch` reports until it is
    cancelled."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.watchers = 0
        self.written: list[Any] = []
        self.env: Mapping[str, str] | None = None

    def call(
        self,
        op: str,
        params: Mapping[str, Any] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        self.env, params = env, params or {}
        if op == "recall":
            return {"schema": 1, "results": [params["query"]]}
        if op == "remember":
            if progress:
                progress("storing", 1, 2)
            self.gate.wait(patient(10))
            self.written.append(params)
            return {"schema": 1}
        if op == "watch":
            return self._watch(progress)
        if op == "show":
            raise NotFound("no such memory", kept="everything", hint="look")
        raise RuntimeError("secret detail")

    def _watch(self, progress: Callable[[str, int, int], None] | None) -> dict[str, Any]:
        self.watchers += 1
        try:
            number = 0
            while progress is not None:
                number += 1
                progress(f"IDX {number}", 0, 0)
                progress("", 0, 0)
                time.sleep(0.02)
        finally:
            self.watchers -= 1
        return {}

    def misset(self, wrong: Sequence[SettingsError]) -> None:
        pass

    def reread(self) -> Settings:
        return Settings()

    def listen(self, heard: Callable[[], None], *, writes: bool = False) -> Callable[[], None]:
        return lambda: None

    def sample_with(self, sample: Callable[[str, str, int], str | None]) -> None:
        pass

    def start(self) -> None:
        pass

    def doing(self) -> tuple[str, int, int]:
        return ("indexing", 1, 4)

    def busy(self) -> bool:
        return False

    def close(self) -> bool:
        return True
