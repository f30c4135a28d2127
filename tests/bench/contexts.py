"""Does what stands beside a prompt have what it needs, and little else? `python -m
tests.bench.contexts [--show] FILE…`: labelled lives of tests/corpora/context (by hands that had not
seen the program)."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.question import Question
from oneiro_vault.settings.definitions import Settings
from tests.bench.kit import Row
from tests.copies import indexed
from tests.judges.scripted import Script, ScriptedJudge
from tests.month.life import Clock

LOOKS: Final = (
    "search_facts", "search_events", "get_instructions", "search_processes", "search_entity",
)  # fmt: skip
"""What a chooser that knows the labels looks at, each time in the prompt's own words."""
FILES: Final = Path(__file__).parent.parent / "corpora" / "context"


@dataclass
class Score:
    """What was shown, over the prompts: counts of memories, and what went wrong in words."""

    shown: int = 0
    right: int = 0
    needed: int = 0
    found: int = 0
    rules: int = 0
    rules_found: int = 0
    idle: int = 0
    silent: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.shown)

    @property
    def recall(self) -> float:
        return self.found / max(1, self.needed)

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.3f} ({self.right}/{self.shown}), recall "
            f"{self.recall:.3f} ({self.found}/{self.needed}), rules {self.rules_found}/"
            f"{self.rules}, silent where nothing helps {self.silent}/{self.idle}"
        )


@contextmanager
def lived(life: Mapping[str, Any]) -> Iterator[tuple[App, dict[str, str]]]:
    """A vault with a life's memories, and what each id is called in it."""
    now = datetime.fromisoformat(f"{life['today']}T09:00:00+00:00").timestamp()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        init_vault(root)
        settings = Settings({"disk.reserve": 0, "edits.quiet": 0.0, "dreams.calls": 0})
        with App.open(root, settings, clock=Clock(now)) as app:
            items = [{k: v for k, v in one.items() if k != "key"} for one in life["memories"]]
            stored = app.call("remember", {"items": items})["results"]
            indexed(app)
            yield (
                app,
                {row["id"]: m["key"] for row, m in zip(stored, life["memories"], strict=True)},
            )


def measure(path: Path, *, hook: bool = False, chosen: bool = False) -> Score:
    """One life through the API; `hook`: what comes unasked; `chosen`: where who knows the labels
    chooses, which is the most that a model can reach with these looks."""
    life = json.loads(path.read_text("utf-8"))
    kinds = {one["key"]: one.get("kind") for one in life["memories"]}
    score = Score()
    with lived(life) as (app, keys):
        for prompt in life["prompts"]:
            if hook:
                ids = app.call("inject", {"prompt": prompt["text"]})["ids"]
                shown = {keys[one]: "" for one in ids}
            else:
                good = {*prompt["needs"], *prompt.get("fine", ())}
                wanted = {one for one, key in keys.items() if key in good}
                judge = ScriptedJudge(_chooser(prompt["text"], wanted))
                app.house.dreams.judges = lambda _name, judge=judge: judge
                asked = {"prompt": prompt["text"], "with_model": chosen}
                shown = _shown(app.call("context", asked), keys)
            _count(score, prompt, shown, kinds)
    return score


def _chooser(prompt: str, wanted: Collection[str]) -> Script:
    looks = iter(LOOKS)

    def answer(question: Question) -> dict[str, Any]:
        matters = [ident for ident in question.ids if ident in wanted]
        said = {"reason": "as labelled", "query": prompt[:300], "of": None, "days": 0}
        return said | {"tool": next(looks, "enough"), "matters": matters}

    return answer


def _shown(found: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, str]:
    return {
        keys[ident]: section
        for section, ids in found["sections"].items()
        for ident in ids
        if ident in keys
    }


def _count(
    score: Score, prompt: Mapping[str, Any], shown: Mapping[str, str], kinds: Mapping[str, Any]
) -> None:
    needs, fine = set(prompt["needs"]), set(prompt.get("fine", ()))
    rules = {key for key in needs if kinds[key] == "instruction"}
    score.shown += len(shown)
    score.right += len(shown.keys() & (needs | fine))
    score.needed += len(needs)
    score.found += len(needs & shown.keys())
    score.rules += len(rules)
    score.rules_found += len(rules & shown.keys())
    if not needs:
        score.idle += 1
        score.silent += not shown
    wrong = [f"{shown[key]}:{key}" for key in shown.keys() - needs - fine]
    missing = sorted(needs - shown.keys())
    score.told.append(
        f"{prompt['text'][:110]} {prompt['intents']} | missing {missing} | wrong {wrong}"
    )


def run(scale: int) -> Iterator[Row]:
    """The lives of tests/corpora/context; `scale` changes nothing."""
    for path in sorted(FILES.glob("*.json")):
        score = measure(path)
        yield Row(f"context of {path.stem}: precision", score.precision, None, ">= 0.8", "")
        yield Row(f"context of {path.stem}: recall", score.recall, None, ">= 0.9", "")


def main() -> None:
    """Measure the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--hook", action="store_true", help="what comes unasked")
    parser.add_argument("--chosen", action="store_true", help="who knows the labels chooses")
    options = parser.parse_args()
    for path in options.files or sorted(FILES.glob("*.json")):
        score = measure(path, hook=options.hook, chosen=options.chosen)
        print(path.stem, score, *(score.told if options.show else ()), sep="\n  ")


if __name__ == "__main__":
    main()
