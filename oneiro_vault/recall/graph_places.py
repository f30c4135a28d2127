"""The places of all nodes of a vault's graph, kept in the folder of its index, computed beside the
answers; they are derived, and may be deleted at any time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from oneiro_vault.index.store import GRAPH
from oneiro_vault.recall.graph_layout import Pairs, Points, places

LOG = logging.getLogger("oneiro.graph")
Flags: TypeAlias = npt.NDArray[np.bool_]
_MOST: Final = 4
"""Graphs whose places are remembered."""
_UNFINISHED: Final = ".new"


class Places:
    """Asked from any thread; one computes at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / GRAPH
        self._lock = threading.Lock()
        self._done: dict[str, Points] = {}
        self._known: dict[str, tuple[float, float, bool]] | None = None
        self._work: threading.Thread | None = None

    def of(self, refs: Sequence[str], edges: Pairs, wait: float, living: bool) -> Points | None:
        """Where each node is; None if that is not known after `wait` seconds: it is being found
        out. `living`: this is the graph of today, by which others are drawn."""
        state = sha256("\0".join(refs).encode("utf-8", "replace") + edges.tobytes()).hexdigest()
        with self._lock:
            if state in self._done:
                return self._done[state]
            if self._work is None or not self._work.is_alive():
                given = (state, list(refs), edges, living)
                self._work = threading.Thread(
                    target=self._find, args=given, name="oneiro-graph", daemon=True
                )
                self._work.start()
            work = self._work
        work.join(wait)
        with self._lock:
            return self._done.get(state)

    def _find(self, state: str, refs: list[str], edges: Pairs, living: bool) -> None:
        try:
            linked = np.bincount(edges.ravel(), minlength=len(refs)) > 0
            found = places(len(refs), edges, self._where(refs, linked))
            with self._lock:
                self._done = {**dict(list(self._done.items())[1 - _MOST :]), state: found}
                if living:
                    self._known = _known(refs, found, linked)
            if living:
                self._keep(refs, found, linked)
        except Exception:  # a thread of its own: nobody would hear of it
            LOG.exception("the graph could not be laid out")

    def _where(self, refs: Sequence[str], linked: Flags) -> Points:
        """The places that are known; one that was found while a node was linked with nothing says
        nothing of where it belongs now."""
        held = self._held()
        at = np.full((len(refs), 2), np.nan)
        for number, ref in enumerate(refs):
            x, y, was_linked = held.get(ref, (0.0, 0.0, None))
            if was_linked == linked[number]:
                at[number] = x, y
        return at

    def _held(self) -> dict[str, tuple[float, float, bool]]:
        if self._known is None:
            self._known = {}
            with (
                suppress(OSError, ValueError, KeyError, EOFError),
                np.load(self._file, allow_pickle=False) as kept,
            ):
                refs = [str(ref) for ref in kept["refs"]]
                self._known = _known(refs, kept["at"].reshape(-1, 2), kept["linked"])
        return self._known

    def _keep(self, refs: list[str], found: Points, linked: Flags) -> None:
        fresh = self._file.with_name(self._file.name + _UNFINISHED)
        with suppress(OSError):  # a full disk, or a folder that is gone: it is found out again
            with fresh.open("wb") as file:
                np.savez_compressed(
                    file, refs=np.array(refs), at=found.astype(np.float32), linked=linked
                )
            fresh.replace(self._file)


def _known(refs: Sequence[str], at: Points, linked: Flags) -> dict[str, tuple[float, float, bool]]:
    return {
        ref: (float(x), float(y), bool(flag))
        for ref, (x, y), flag in zip(refs, at.tolist(), linked.tolist(), strict=True)
    }
