"""Make the weights of the classifier from the corpora: `make train`, or of one head `make train
TRAIN=keep`; `make train TRAIN=--check` only measures, on files left out.

Words and letters are learned by logistic regression, where what is rare weighs more; vectors of the
embedding model by a narrow layer. How much each opinion counts, and how sure both make, is learned
on lines that they had not seen.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from oneiro_vault.classify import classifier, first_things
from oneiro_vault.classify.classifier import INTENTS, SPEAKERS, TOPICS, WEIGHTS, Head, Vectors
from oneiro_vault.core.conversation import personal
from tests.classify import train_names, train_needed, train_tagger
from tests.classify.train_names import NAMES
from tests.classify.train_needed import NEEDED

FOLDER: Final = Path(__file__).parents[1] / "corpora"
LABELS: Final[dict[Head, tuple[str, str]]] = {
    "gate": ("describes", "prescribes"),
    "keep": ("drop", "keep"),
    "history": ("other", "history"),
    "procedure": ("other", "procedure"),
}
"""Of each head: what its 0 and its 1 are called."""
BY_WORDS: Final[tuple[Head, ...]] = ("history",)
"""Heads that learn of words and letters alone, for what must be answered without the model."""
STANDS: Final[dict[Head, str]] = {"procedure": "procedures"}
"""Folder of the lines of a head that is not called like it."""
TYPED: Final[dict[Head, str]] = {"keep": ".", "history": ".?"}
"""Heads that learn every line also in small letters and without these marks at its end."""
OTHERS: Final[dict[Head, tuple[int, int]]] = {"history": (4, 4), "procedure": (12, 2)}
"""Heads whose answer to what people say (`keep/`) and ask (`typed/`) is hardly ever yes: each how
many of these lines one is learned."""
WISHES: Final = "wishes"
"""Standing instructions worth keeping, which the gate does not learn as harmless: without whoever
said them they are orders."""
TOPIC: Final = "topics"
"""What the classes of `TOPICS` are called among the heads; their lines stand in `first/`, and among
those that are worth keeping."""
INTENT: Final = "intents"
"""What the classes of `INTENTS` are called among the heads; prompts stand in `intents/`."""
NONE: Final = "none"
FIRMNESS: Final = 3.0
"""The C of their logistic regression: of 1, 3 and 10 the best on lines left out."""
FOLDS: Final = 3
SHORTEST: Final = 15
"""Characters of a line that may be the beginning of another."""
SEED: Final = 13
HIDDEN: Final = 128
EPOCHS: Final = 40
"""With ever smaller steps. 32 and 15 of equal steps had learned too little: the area under the
curve of the vectors alone was .86 and .74 in place of .89 and .80, on 1,554 and 1,263 lines for the
gate by hands left out."""
BATCH: Final = 64
DROPPED: Final = 0.3
SPREAD: Final = 3.0
"""Length of the vectors that the narrow layer sees."""
SHAPE: Final = 0.2
"""How far each number of a paragraph's shape spreads beside them: of 0, .2 and .3 the best."""


@dataclass(frozen=True)
class Line:
    """A sentence, whether the answer is yes, whose it is (a place in `SPEAKERS`), its language and
    the file it stands in."""

    text: str
    label: bool
    speaker: int
    lang: str
    file: str


def lines(head: Head) -> list[Line]:
    """Every line of a head's corpora: one JSON object a line, with `text`, `label`, `lang`, and
    `speaker` if that matters."""
    folder = FOLDER / STANDS.get(head, head)
    return [line for path in sorted(folder.glob("*.jsonl")) for line in read(head, path)]


def read(head: Head, path: Path) -> list[Line]:
    """The lines of one file."""
    return [
        Line(
            row["text"],
            bool(LABELS[head].index(row["label"])),
            SPEAKERS.index(row.get("speaker") or "user"),
            row["lang"],
            path.stem,
        )
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def grown(head: Head) -> tuple[list[Line], Any]:
    """The lines, and the part each is in. Some are learned as many people type, too (`TYPED`). What
    people say and ask of a model is hardly ever a question about an earlier state, or how something
    is done. For the gate also what people said of themselves as
    it is quoted or told, and sentences that begin as one line and go on as another of the same
    part, so that nothing hides beside something harmless."""
    known = list(lines(head))
    if head in OTHERS:
        kept, typed = OTHERS[head]
        known += [replace(line, label=False) for line in lines("keep")[::kept]]
        known += [
            Line(line.text, False, SPEAKERS.index("user"), "", line.file)
            for line in list(train_tagger.typed())[::typed]
        ]
    if head == "procedure":
        known += list(together_said())
    if head == "gate":
        said = [line for line in lines("keep") if line.label and line.file != WISHES]
        known += [
            replace(line, text=personal.quoted(line.text, "2026-05-03"), label=False)
            for line in said[::4]
        ]
        known += [
            replace(line, text=personal.described(line.text), label=False)
            for line in said[1::4]
            if line.lang in ("en", "de")
        ]
    parts = [int(part) for part in np.random.default_rng(SEED).integers(0, FOLDS, len(known))]
    if head == "procedure":
        framed = [(line, parts[place]) for place, line in in_frames()]
        known += [line for line, _ in framed]
        parts += [part for _, part in framed]
    if head in TYPED:
        small = [
            (replace(line, text=line.text.lower().rstrip(TYPED[head])), part)
            for line, part in zip(known, parts, strict=True)
        ]
        known += [line for line, _ in small]
        parts += [part for _, part in small]
    if head == "procedure":
        listed = [(as_list(line), part) for line, part in zip(known, parts, strict=True)][::2]
        known += [line for line, _ in listed if line]
        parts += [part for line, part in listed if line]
    if head == "gate":
        harmless: dict[tuple[str, int], Line] = {}
        for number, line in enumerate(tuple(known)):
            before = harmless.get((line.lang, parts[number]))
            if before and number % 4 == 0:
                one, other = (before, line) if number % 8 else (line, before)
                joint = ": " if number % 16 == 0 else ", "
                known.append(
                    replace(
                        line,
                        text=f"{one.text.rstrip('.。।')}{joint}{other.text[0].lower()}{other.text[1:]}",
                    )
                )
                parts.append(parts[number])
            if not line.label and len(line.text) > SHORTEST:
                harmless[line.lang, parts[number]] = line
    return known, np.array(parts)


FRAMES: Final = {
    "en": (
        "Tomorrow I'll {}.", "Yesterday we did it like this: {}.", "Can you {} please?",
        "The manual says: {}. Is that still right?", "Please {}.", "Last night I had to {}.",
        "This afternoon I want to {}.", "Should I {}?", "Let's {} and see what happens.",
        "On Friday we {} and go home.", "Next week we need to {}.", "Plan for tonight: {}.",
        "I still have to {} today.", "Before Lena comes home I have to {}.",
    ),
    "de": (
        "Morgen: {}.", "Gestern haben wir das so gemacht: {}.", "Kannst du bitte {}?",
        "In der Anleitung steht: {}. Stimmt das?", "Heute Nachmittag will ich {}.",
        "Nächste Woche müssen wir {}.", "Ich muss heute noch {}.",
    ),
    "fr": (
        "Demain je dois {}.", "Hier on a fait comme ça : {}.", "Tu peux {} s'il te plaît ?",
        "La notice dit : {}. C'est juste ?",
    ),
    "es": (
        "Mañana tengo que {}.", "Ayer lo hicimos así: {}.", "¿Puedes {} por favor?",
        "El manual dice: {}. ¿Es así?",
    ),
}  # fmt: skip
"""What the steps of a procedure stand in that make none: a plan, a story, a request, a quotation."""


def in_frames() -> Iterator[tuple[int, Line]]:
    """(place among the lines, line): the steps of each procedure behind what says when, and the
    very same in a frame that makes them none, so that the frame counts and not the subject."""
    paths = sorted((FOLDER / STANDS["procedure"]).glob("*.jsonl"))
    rows = [(row, path.stem) for path in paths for row in path.read_text("utf-8").splitlines()]
    for place, (row, file) in enumerate(rows):
        told = json.loads(row)
        frames = FRAMES.get(told["lang"], ())
        if frames and told.get("steps"):
            steps = ", ".join(one.rstrip(".") for one in told["steps"])
            line = Line("", False, SPEAKERS.index("user"), told["lang"], file)
            for frame in (frames[place % len(frames)], frames[(3 * place + 1) % len(frames)]):
                yield place, replace(line, text=frame.format(steps))
            if place % 2:
                yield place, replace(line, text=f"{told['trigger']}: {steps}.", label=True)


def as_list(line: Line) -> Line | None:
    """What it says as a list under a heading, None where it has less than three clauses for one."""
    first, *items = re.split(r"[,:;.]\s+", line.text)
    if len(items) < 3 or "\n" in line.text:
        return None
    return replace(line, text="\n- ".join([f"{first}:", *items]))


def together_said() -> Iterator[Line]:
    """What people say, three to six lines as one paragraph that says of nothing how it is done.
    Without these 26 of 630 turns of the months are taken for a procedure, with them 7."""
    said = iter([line for line in lines("keep") if SPEAKERS[line.speaker] == "user"])
    for number in count():
        paragraph = list(islice(said, 3 + number % 4))
        if not paragraph:
            return
        text = " ".join(line.text for line in paragraph)
        yield replace(paragraph[0], text=text, label=False)


@dataclass(frozen=True)
class Data:
    """Lines as numbers: `words` with `rarity` a bucket, `dense` vectors of about length `SPREAD`,
    `centre` and `width` that made them (all None for words alone)."""

    labels: Any
    speakers: Any
    words: Any
    rarity: Any
    dense: Any
    centre: Any
    width: Any


def prepare(head: Head, known: list[Line]) -> Data:
    """What is learned from. A bucket that only one line has counts for nothing."""
    hashed = [classifier.features(line.text) for line in known]
    starts = np.cumsum([0, *(len(codes) for codes, _ in hashed)])
    columns, values = (np.concatenate(part) for part in zip(*hashed, strict=True))
    words = sparse.csr_matrix((values, columns, starts), shape=(len(known), classifier.BUCKETS))
    many = np.bincount(words.indices, minlength=classifier.BUCKETS)
    rarity = np.where(many > 1, np.log((1 + len(known)) / (1 + many)), 0)
    speakers = np.eye(len(SPEAKERS))[[line.speaker for line in known]]
    labels = np.array([line.label for line in known], dtype=np.float32)
    return Data(labels, speakers, words @ sparse.diags(rarity), rarity, *_dense(head, known))


def _dense(head: Head, known: list[Line]) -> tuple[Any, Any, Any]:
    """The vectors of lines, and the centre and the width that made them."""
    if head in BY_WORDS:
        return None, None, None
    found = classifier.seen(head, [line.text for line in known])
    length = found.shape[1] - (len(classifier.shape("")) if head in classifier.SHAPED else 0)
    centre, spread = found.mean(axis=0), found.std(axis=0) + 1e-6
    width = spread * np.sqrt(length) / SPREAD
    width[length:] = spread[length:] / SHAPE
    return torch.tensor((found - centre) / width, dtype=torch.float32), centre, width


def fit_words(data: Data, rows: Any) -> Any:
    """Logistic regression over words, letters and speakers."""
    model = LogisticRegression(
        C=1.0,
        class_weight="balanced",
        solver="liblinear",
        tol=1e-3,
        max_iter=100,
        random_state=SEED,
    )
    return model.fit(sparse.hstack([data.words, data.speakers]).tocsr()[rows], data.labels[rows])


def fit_network(data: Data, rows: Any) -> Any:
    """The narrow layer over the vectors, if there are any; always the same for the same rows."""
    if data.dense is None:
        return None
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Dropout(DROPPED), torch.nn.Linear(data.dense.shape[1], HIDDEN), torch.nn.ReLU(),
        torch.nn.Dropout(DROPPED), torch.nn.Linear(HIDDEN, 1),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, EPOCHS)
    labels = torch.tensor(data.labels)
    share = labels[rows].mean()
    importance = torch.where(labels > 0, 0.5 / share, 0.5 / (1 - share))
    for _ in range(EPOCHS):
        order = torch.tensor(rows)[torch.randperm(len(rows))]
        for batch in order.split(BATCH):
            scores = net(data.dense[batch]).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                scores, labels[batch], importance[batch]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        slower.step()
    return net.eval()


def opinions(data: Data, words: Any, net: Any, rows: Any) -> Any:
    """A score or two for each row: of its words, and of its vector."""
    seen = sparse.hstack([data.words, data.speakers]).tocsr()[rows]
    found = [words.decision_function(seen)]
    if net is not None:
        with torch.no_grad():
            found.append(net(data.dense[rows]).squeeze(1).numpy())
    return np.stack(found, axis=1)


def left_out(data: Data, groups: Any) -> Any:
    """The opinions on every row of those who have learned nothing of its group."""
    found = np.zeros((len(groups), 1 if data.dense is None else 2))
    for group in np.unique(groups):
        inside, outside = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
        found[outside] = opinions(data, fit_words(data, inside), fit_network(data, inside), outside)
    return found


def together(found: Any, labels: Any) -> Any:
    """What makes one calibrated score of one opinion or two."""
    return LogisticRegression(C=1e3, class_weight="balanced").fit(found, labels)


def learn(head: Head) -> dict[str, Any]:
    """The weights of one head, as `classifier.weights` gives them."""
    known, parts = grown(head)
    data = prepare(head, known)
    both = together(left_out(data, parts), data.labels)
    rows = np.arange(len(data.labels))
    words, net = fit_words(data, rows), fit_network(data, rows)
    of_words, bias = both.coef_[0][0], both.intercept_[0]
    buckets, speakers = np.split(words.coef_[0], [classifier.BUCKETS])
    buckets = buckets * data.rarity * of_words
    scale = np.abs(buckets).max() / 127
    seen, shift = ({}, 0.0) if net is None else _layer(data, net, both.coef_[0][1])
    return seen | {
        "words": np.round(buckets / scale).astype(np.int8),
        "scale": np.float32(scale),
        "speakers": (speakers * of_words).astype(np.float32),
        "bias": np.float32(bias + words.intercept_[0] * of_words + shift),
    }


def _layer(data: Data, net: Any, weight: float) -> tuple[dict[str, Any], float]:
    """The narrow layer times its weight, for vectors as they come, and what it adds to the bias."""
    inner, out = net[1], net[4]
    turned = inner.weight.detach().numpy().T / data.width[:, None]
    learned = {
        "in": turned.astype(np.float32),
        "shift": (inner.bias.detach().numpy() - data.centre @ turned).astype(np.float32),
        "out": (out.weight.detach().numpy()[0] * weight).astype(np.float32),
    }
    return learned, out.bias.item() * weight


def topic_lines() -> list[tuple[str, int, str]]:
    """(sentence, class, file) of each line that says one of `TOPICS` or, the last class, none of
    them; of those that are only known for something else every third."""
    classes = (*TOPICS, NONE)
    told: list[tuple[str, int, str]] = []
    others: list[tuple[str, int, str]] = []
    for folder in ("first", "keep", "gate"):
        for path in sorted((FOLDER / folder).glob("*.jsonl")):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                topic = row.get("topic") or {"drop": NONE}.get(row["label"], row["label"])
                labelled = folder == "first" or (folder == "keep" and "topic" in row)
                if topic in classes:
                    line = row["text"], classes.index(topic), path.stem
                    (told if labelled else others).append(line)
    return [*told, *others[::3]]


def fit_topics(known: Sequence[tuple[str, int, str]]) -> tuple[Any, Any, Any]:
    """(logistic regression over words, letters and vectors; what was learned from; how a bucket and
    a dimension are weighed)."""
    lines_ = [Line(text, False, 0, "", file) for text, _, file in known]
    data = prepare("keep", lines_)
    seen = sparse.hstack([data.words, sparse.csr_matrix(data.dense.numpy())]).tocsr()
    return LogisticRegression(C=FIRMNESS, max_iter=300), seen, data


def learn_topics() -> dict[str, Any]:
    """The weights of `classifier.topics`."""
    known = topic_lines()
    model, seen, data = fit_topics(known)
    model.fit(seen, [one for _, one, _ in known])
    words, dense = np.split(model.coef_, [classifier.BUCKETS], axis=1)
    words, dense = (words * data.rarity).T, (dense / data.width).T
    scale = np.abs(words).max() / 127
    return {
        "words": np.round(words / scale).astype(np.int8),
        "scale": np.float32(scale),
        "dense": dense.astype(np.float32),
        "bias": (model.intercept_ - data.centre @ dense).astype(np.float32),
    }


def check_topics() -> None:
    """Measure the topics on lines left out."""
    known = topic_lines()
    model, seen, _ = fit_topics(known)
    labels = np.array([one for _, one, _ in known])
    parts = np.random.default_rng(SEED).integers(0, FOLDS, len(known))
    sure = np.zeros((len(known), len(TOPICS) + 1))
    for part in range(FOLDS):
        model.fit(seen[parts != part], labels[parts != part])
        sure[parts == part] = model.predict_proba(seen[parts == part])
    best = sure[:, :-1].argmax(axis=1)
    taken = sure[np.arange(len(best)), best] >= first_things.SURE
    for name in sorted({file for _, _, file in known}):
        inside = np.array([file == name for _, _, file in known])
        right, some = inside & taken & (best == labels), inside & (labels < len(TOPICS))
        print(
            f"topics, {name}: {right.sum()} of {some.sum()} told, "
            f"{(inside & taken & ~right).sum()} wrongly of {inside.sum()}",
            flush=True,
        )


@dataclass(frozen=True)
class Prompt:
    """What a person typed, and what for."""

    text: str
    intents: frozenset[str]


def prompts(folder: str = INTENT) -> list[Prompt]:
    """The labelled prompts of a folder of the corpora."""
    paths = sorted((FOLDER / folder).glob(f"{INTENT}*.jsonl"))
    rows = [json.loads(row) for path in paths for row in path.read_text("utf-8").splitlines()]
    return [Prompt(row["text"], frozenset(row["intents"])) for row in rows]


def learn_intents() -> dict[str, Any]:
    """The weights of `classifier.intents`: each intent by a logistic regression of its own."""
    known = prompts()
    data = prepare("keep", [Line(one.text, False, 0, "", "") for one in known])
    seen = sparse.hstack([data.words, sparse.csr_matrix(data.dense.numpy())]).tocsr()
    models = [
        LogisticRegression(C=1.0, class_weight="balanced", max_iter=400).fit(
            seen, [intent in one.intents for one in known]
        )
        for intent in INTENTS
    ]
    coefficients = np.vstack([model.coef_ for model in models])
    words, dense = np.split(coefficients, [classifier.BUCKETS], axis=1)
    words, dense = (words * data.rarity).T, (dense / data.width).T
    scale = np.abs(words).max() / 127
    bias = np.concatenate([model.intercept_ for model in models]) - data.centre @ dense
    return {
        "words": np.round(words / scale).astype(np.int8),
        "scale": np.float32(scale),
        "dense": dense.astype(np.float32),
        "bias": bias.astype(np.float32),
    }


def check_intents() -> None:
    """Measure the intents as they are learned on prompts that are never learned."""
    unseen = prompts("unseen")
    found = [classifier.intents(one.text) for one in unseen]
    each = []
    for intent in INTENTS:
        wanted = np.array([intent in one.intents for one in unseen])
        told = np.array([one[intent] >= classifier.INTENDED for one in found])
        each.append(2 * (wanted & told).sum() / max(1, wanted.sum() + told.sum()))
        print(f"intents, {intent}: F1 {each[-1]:.3f}, missed {(wanted & ~told).sum()} of "
              f"{wanted.sum()}")  # fmt: skip
    print(f"intents, never learned: macro F1 {np.mean(each):.3f} of {len(unseen)}")


def check(head: Head) -> None:
    """Measure on files left out, several together."""
    known = lines(head)
    data = prepare(head, known)
    files = sorted({line.file for line in known})
    found = left_out(data, np.array([files.index(line.file) % FOLDS for line in known]))
    scores = together(found, data.labels).decision_function(found)
    for name, part in (
        ("all", known),
        ("en", [line for line in known if line.lang == "en"]),
        *((f, f) for f in files),
    ):
        inside = [line in part if isinstance(part, list) else line.file == part for line in known]
        print(f"{head}, {name}: {figures(scores[inside], data.labels[inside])}", flush=True)
    for path in sorted((FOLDER / "unseen").glob(f"{head}*.jsonl")):
        unseen = read(head, path)
        sure = np.array(classifier.probabilities(head, [one.text for one in unseen]), np.float32)
        print(
            f"{head}, {path.stem}, never learned: "
            f"{figures(sure - 0.5, np.array([one.label for one in unseen]))}"
        )


def figures(scores: Vectors, labels: Vectors) -> str:
    """Recall and false alarms at even odds, and the recall where 6 of 100 are false alarms."""
    yes, no = scores[labels > 0], scores[labels == 0]
    if not len(yes) or not len(no):
        return f"right {np.mean((scores > 0) == labels):.3f} of {len(scores)}"
    limit = np.quantile(no, 0.94)
    return (
        f"recall {np.mean(yes > 0):.3f}, false {np.mean(no > 0):.3f}, recall at .06 false "
        f"{np.mean(yes > limit):.3f} of {len(scores)}"
    )


def main() -> None:
    """Write the weights, or measure; of the heads that are named, else of all."""
    every = {*LABELS, TOPIC, INTENT, NEEDED, NAMES}
    names = every.intersection(sys.argv) or every
    heads: list[Head] = [head for head in LABELS if head in names]
    if "--check" in sys.argv:
        for head in heads:
            check(head)
        if TOPIC in names:
            check_topics()
        if INTENT in names:
            check_intents()
        if NEEDED in names:
            train_needed.check([*train_needed.seen(sorted(train_needed.LIVES.glob("*.json")))])
        if NAMES in names:
            train_names.check()
        return
    if NAMES in names:
        train_names.train()
    learned: dict[str, Any] = {}
    if names < every:
        with np.load(WEIGHTS) as known:
            learned = {name: known[name] for name in known.files}
    learned["trained with"] = np.array(classifier.trained_with())
    for head in heads:
        learned |= {f"{head}/{name}": array for name, array in learn(head).items()}
    if TOPIC in names:
        learned |= {f"{TOPIC}/{name}": array for name, array in learn_topics().items()}
    if INTENT in names:
        learned |= {f"{INTENT}/{name}": array for name, array in learn_intents().items()}
    np.savez_compressed(WEIGHTS, **learned)
    if NEEDED in names:  # it learns from what the others say
        classifier.weights.cache_clear()
        known = [*train_needed.seen(sorted(train_needed.LIVES.glob("*.json")))]
        np.savez_compressed(WEIGHTS, **learned | train_needed.named(train_needed.learn(known)))


if __name__ == "__main__":
    main()
