"""Make the weights of `classifier.needed`: which memories a prompt needs, learned from the lives in
tests/corpora/lives as recall itself sees them; `--check` measures each life left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.linear_model import LogisticRegression

from oneiro_vault.app import App
from oneiro_vault.classify.classifier import INTENTS, Intent, intents, needed
from oneiro_vault.recall import gather
from oneiro_vault.recall.gather import SECTIONS, Gather
from tests.bench.contexts import lived

NEEDED: Final = "needed"
"""What it is called among the heads."""
LIVES: Final = Path(__file__).parents[1] / "corpora" / "lives"
FIRMNESS: Final = 0.03
"""The C of the logistic regression, over features of one width."""


@dataclass(frozen=True)
class Seen:
    """The memories considered for one prompt: what speaks for each, its section; whether it is
    needed (2), does no harm (1) or neither; how many are needed that were not even considered."""

    signs: Any
    sections: Any
    labels: Any
    intents: Mapping[Intent, float]
    life: str
    missed: int


def seen(paths: Sequence[Path]) -> Iterator[Seen]:
    """Every prompt of some lives, and in each life some of another's, which need nothing there."""
    lives = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    for path, life, other in zip(paths, lives, [*lives[1:], lives[0]], strict=True):
        strange = [{"text": one["text"], "needs": []} for one in other["prompts"][::2]]
        with lived(life) as (app, keys):
            for prompt in [*life["prompts"], *strange]:
                yield _considered(app, keys, prompt, path.stem)


def _considered(app: App, keys: Mapping[str, str], prompt: Mapping[str, Any], life: str) -> Seen:
    house, text = app.house, prompt["text"]
    house.indexing.converge()
    vector, _ = house.vectors.query(text, wait=True)
    plan = Gather(
        house.index, house.uses.remembered(), text, vector, lambda row: row.status == "active"
    )
    found = plan.consider()
    names = [keys[one.row.handle] for one in found]
    fine = set(prompt.get("fine", ()))
    return Seen(
        gather.table(found, plan.signs(found)),
        np.array([SECTIONS.index(one.section) for one in found]),
        np.array([2 if one in prompt["needs"] else int(one in fine) for one in names]),
        intents(text),
        life,
        len(set(prompt["needs"]) - set(names)),
    )


def learn(known: Sequence[Seen]) -> dict[str, Any]:
    """The weights. What does no harm is neither learned as needed nor as needless."""
    told = [one.labels != 1 for one in known]
    inside = [_wide(one)[kept] for one, kept in zip(known, told, strict=True)]
    features = np.concatenate(inside)
    labels = np.concatenate([one.labels[kept] == 2 for one, kept in zip(known, told, strict=True)])
    centre, width = features.mean(axis=0), features.std(axis=0) + 1e-6
    model = LogisticRegression(C=FIRMNESS, max_iter=500)
    model.fit((features - centre) / width, labels)
    weights = model.coef_[0] / width
    bias = float(model.intercept_[0] - centre @ weights)
    count, size = len(SECTIONS), known[0].signs.shape[1]
    by_signs, by_intents, by_section = np.split(
        weights, [count * size, count * (size + len(INTENTS))]
    )
    return {
        "signs": by_signs.reshape(count, size).astype(np.float32),
        "intents": by_intents.reshape(count, len(INTENTS)).astype(np.float32),
        "bias": (by_section + bias).astype(np.float32),
        "usual": np.mean([[*one.intents.values()] for one in known], axis=0).astype(np.float32),
    }


def named(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Weights as they are called in the file of all heads."""
    return {f"{NEEDED}/{name}": one for name, one in weights.items()}


def _wide(one: Seen) -> Any:
    """What speaks for a memory, for each section apart."""
    section = np.eye(len(SECTIONS), dtype=np.float32)[one.sections]
    rows = len(one.sections)
    wanted = np.broadcast_to([*one.intents.values()], (rows, len(INTENTS)))
    return np.hstack(
        [
            (section[:, :, None] * one.signs[:, None, :]).reshape(rows, -1),
            (section[:, :, None] * wanted[:, None, :]).reshape(rows, -1),
            section,
        ]
    )


def check(known: Sequence[Seen]) -> None:
    """Each life by what the others taught."""
    lives = sorted({one.life for one in known})
    for asked, least in ((True, gather.LIKELY), (False, gather.SURE)):
        shown = right = wanted = found = idle = silent = 0
        for life in lives:
            weights = named(learn([one for one in known if one.life != life]))
            for one in known:
                if one.life != life:
                    continue
                wanted_for = one.intents if asked else None
                sure = needed(one.signs, one.sections.tolist(), wanted_for, weights)
                kept = np.array(sure) >= least
                shown, right = shown + kept.sum(), right + (kept & (one.labels > 0)).sum()
                wanted += (one.labels == 2).sum() + one.missed
                found += (kept & (one.labels == 2)).sum()
                if not (one.labels == 2).any() and not one.missed:
                    idle, silent = idle + 1, silent + (not kept.any())
        print(
            f"needed, lives left out, {'asked' if asked else 'unasked'}: precision "
            f"{right / shown:.3f}, recall {found / wanted:.3f} of {wanted}, silent {silent} of {idle}"
        )
