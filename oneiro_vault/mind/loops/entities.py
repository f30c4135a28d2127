"""Whom and what several memories name gets a note of its own: a profile of what they say of it,
word for word, each with its day and its source. Nobody is asked.

Names are what a memory is said to be about, and what the tagger finds in the person's own words. A
form of a name (`Dr Achar`, `Teodoro`) belongs to the one longer name that has it; where several
have it, it makes nobody. A profile that a person changed is theirs, one they took away does not
come back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from oneiro_vault.classify.spans import named, own_words
from oneiro_vault.core.conversation import personal, turns
from oneiro_vault.core.markdown import taxonomy
from oneiro_vault.core.markdown.taxonomy import KINDS, prose
from oneiro_vault.core.memory import ENTITY, OVER, OWN_WORDS, Memory, captured
from oneiro_vault.core.text.claims import split_sentences
from oneiro_vault.core.text.corrections import DAYS
from oneiro_vault.core.text.query import fold
from oneiro_vault.mind.base import NOW, Asking, Decision, Named, New, Note, Set, Snapshot, keyed
from oneiro_vault.mind.blocks import ours

NAME: Final = "entities"
SOURCES: Final = ("semantic", "episodic", "procedure", "principle")
FEWEST: Final = 2
"""Memories that name it before it gets a note, on as many occasions if it may be no person."""
MOST: Final = 40
"""Profiles that one night makes, of the names that most memories are about, and changes."""
SHOWN: Final = 6
"""Sentences of a profile, the newest."""
LONGEST: Final = 300
"""Characters of one."""
RESTS: Final = "archived"
"""What a profile is of which nothing is left. It was `dormant`, which graphs and searches show."""
FILING: Final = ("remember", "supersede", "link", "flag")
"""What a night did when it made a fact of a conversation."""
LIKELY: Final = 0.5
"""How likely what the tagger finds is a name, at least."""
SURE: Final = 0.95
"""How likely it is a person's where a conversation and a fact of it are enough, and a name where
the same word mostly is none."""
SOMEBODY: Final = 0.8
"""How likely a name without a title is a person's, over all times that it is found, at least: of 24
people of two lived weeks 23 are, of 13 places, tools, drugs, nouns and a dog none (all before)."""
OFTEN: Final = 0.3
"""Share of the memories with a word in which it was taken for a name, at least."""
_SHORT: Final = 2
"""Letters of a word that is a name only where it was taken for one."""
_NAMED: Final = frozenset(("", "person", "organization", "project", "place", "system", "animal"))
_TITLE: Final = re.compile(
    r"^(?:(?:mr|mrs|ms|miss|dr|prof|professor|herr|frau|herrn|sr|sra|senor|senora|m|mme|monsieur|"
    r"madame|mevrouw|meneer|pan|pani|signor|signora|dott|pfarrer|father|sister)\b\.? ?)+(?=\w)"
)
"""What stands before a name, folded."""
_DATIVE: Final = re.compile(r"^(herr)n(?= )", re.I)
"""German: Herr Novak, with Herrn Novak."""
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")
_CAPITAL: Final = re.compile(r"[^\W\d_a-zß-öø-ÿ]|\w*\d")
"""How a name begins: a capital, or a word with a digit."""
_NOBODY: Final = frozenset(
    """
    user assistant person the person model me i you we they he she it today tomorrow yesterday
    heute morgen gestern
    """.split()
) | {"the person", "the user", "the assistant", *DAYS}
"""What is no name of anybody, folded."""
_DOT: Final = re.compile(r"\.(?= |$)")
_NOUN: Final = re.compile(r"[^\W\d_a-zß-öø-ÿ]")
"""How a German noun begins."""
_THING: Final = re.compile(
    r" (?:the|in|near|aus|via|us(?:e|es|ed|ing)|nutz(?:e|en|t)|verwende[nt]?|installed|"
    r"dog|cat|horse|hund|katze|kater|pferd) $"
)
"""What stands before what is no person's name, folded."""
_SELF: Final = re.compile(
    r"(?:(?:^|[.!?]\s)(?:(?:the|die|der) )?(?:user|person|nutzer(?:in)?)(?:['’]s name)? "
    r"(?:is(?: called| named)?|ist|heißt)|\b(?:(?:my|mein) (?:full )?name (?:is|ist)|i['’]?m|i am|"
    r"ich bin|ich heiße)) (.{1,80})",
    re.I | re.M,
)
"""Whoever says what they are called, or of whom it is said; what follows."""
_ARTICLES: Final = "the a an every this that ein eine einen einem einer kein keine jeden".split()
"""What stands before a common word, and seldom before a name."""
_MARKS: Final = str.maketrans("“”", "''")


@dataclass
class Subject:
    """A name as it is written, what it names, and the memories that have it."""

    spellings: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    stated: Counter[str] = field(default_factory=Counter)
    """What relations say it is."""
    notes: dict[str, Note] = field(default_factory=dict)
    forms: set[str] = field(default_factory=set)
    likely: float = 0.0
    person: float = 0.0
    """How likely it is a name, and a person's, where that is said most clearly."""
    somebody: float = 0.0
    """How likely it is a person's, summed over all times that it has a kind."""
    typed: bool = False
    """Did somebody type it with a capital? A model that makes a fact of it always does."""
    own: bool = False
    """Is it what the person who speaks is called?"""

    @property
    def small(self) -> bool:
        """Does nobody write it with a capital?"""
        return all(one == one.lower() for one in self.spellings)

    @property
    def title(self) -> str:
        """As most of them write it, in capitals where anybody does."""
        return max(self.spellings, key=lambda one: (one != one.lower(), self.spellings[one], one))

    @property
    def aliases(self) -> list[str]:
        """Its other forms, each as most write it."""
        best: dict[str, str] = {}
        for one in sorted(
            self.spellings, key=lambda one: (one == one.lower(), -self.spellings[one])
        ):
            best.setdefault(fold(one), one)
        found = [best[form] for form in sorted(best.keys() - {fold(self.title)})]
        return [*found, personal.PERSON] if self.own else found

    @property
    def likeliest(self) -> str:
        """What it most likely is, "" where nothing tells."""
        most = (self.stated or self.kinds).most_common(1)
        return most[0][0] if most and most[0][0] in KINDS["entity"] else ""

    @property
    def kind(self) -> str:
        """What it is, "" rather than a person where that is not sure."""
        sure = self.stated or any(_bare(form) != form for form in self.forms)
        doubted = not sure and self.somebody < SOMEBODY * self.kinds.total()
        return "" if self.likeliest == "person" and doubted else self.likeliest

    @property
    def proper(self) -> bool:
        """Is it a thing's name that somebody types with a capital? Small letters ("latex") may mean
        something else."""
        return self.typed and self.likeliest != "person"

    def written(self, text: _Text) -> bool:
        """Has a text its name with the capitals of its spellings?"""
        written = (_plain(one) for one in self.spellings if one != one.lower())
        return any(f" {one} " in text.written for one in written)

    def take(self, other: Subject) -> None:
        """What was said of it by another form of its name."""
        self.spellings += other.spellings
        self.kinds += other.kinds
        self.stated += other.stated
        self.notes |= other.notes
        self.forms |= other.forms
        self.likely = max(self.likely, other.likely)
        self.person = max(self.person, other.person)
        self.somebody += other.somebody
        self.typed = self.typed or other.typed
        self.own = self.own or other.own

    def counts(self) -> bool:
        """Is it named often enough?"""
        somebody = self.kind == "person" and self.person >= SURE
        often = len(self.notes) >= FEWEST and (somebody or self.occasions() >= FEWEST)
        return often or self.own

    def occasions(self) -> int:
        """On how many it was named: facts of one conversation are several memories, what the
        conversation itself says is none beside them."""
        facts = sum(not captured(note.memory) for note in self.notes.values())
        talks = {
            note.memory.session or note.id for note in self.notes.values() if captured(note.memory)
        }
        return max(facts, len(talks))


name: Final = NAME


def run(snapshot: Snapshot) -> Asking:
    """Nothing is asked."""
    yield from ()
    subjects = _subjects(snapshot)
    known = _known(snapshot)
    over = _Over(snapshot)
    new = [
        (name, subject)
        for name, subject in sorted(subjects.items())
        if not subject.forms & known
        and subject.counts()
        and keyed(NAME, _key(name)) not in snapshot.settled
    ]
    new.sort(key=lambda one: -len(one[1].notes))
    made = (_made(name, subject, over) for name, subject in new)
    kept = (
        _kept(note, mine, over) if mine or not twice else _resting(note, twice)
        for note, mine, twice in _profiled(snapshot, subjects)
    )
    first = islice((one for one in made if one is not None), MOST)
    return [*first, *islice((one for one in kept if one is not None), MOST)]


def _subjects(snapshot: Snapshot) -> dict[str, Subject]:
    """Folded name -> what has it, all its forms together. Words from outside name nobody."""
    notes = [note for note in snapshot.of(*SOURCES) if _speaks(note)]
    texts = {note.id: _Text(own_words(note.memory)) for note in notes}
    found: dict[str, Subject] = {}
    tagged = snapshot.named(notes)
    for note in notes:
        about = [] if captured(note.memory) else note.memory.about
        given = [Named(name, "", 1.0) for name in dict.fromkeys(about) if _CAPITAL.match(name)]
        read = tagged.get(note.id, ())
        capitals = not captured(note.memory) and any(_CAPITAL.match(one.name) for one in read)
        for one in (*given, *read):
            name = _DATIVE.sub(r"\1", one.name)
            form = _form(name)
            if one.likely >= LIKELY and one.kind in _NAMED and not _nobody(form, name):
                subject = found.setdefault(form, Subject(forms={form}))
                subject.spellings[" ".join(name.split())] += 1
                subject.kinds.update([one.kind] if one.kind else [])
                subject.notes[note.id] = note
                subject.likely = max(subject.likely, one.likely)
                subject.typed |= name != name.lower() and not note.memory.derived_from
                if one.kind == "person":
                    subject.person = max(subject.person, one.likely)
                    thing = (capitals and name == name.lower()) or texts[note.id].of_thing(form)
                    subject.somebody += 0.0 if thing else one.sure
    for name, kind in (pair for note in notes for pair in taxonomy.kinds(note.memory.body)):
        if known := found.get(_form(name)):
            known.stated[kind] += 1
    _possessives(found, notes, texts)
    _mentioned(found, notes, texts)
    for form in [form for form, one in found.items() if _common(form, one, texts)]:
        del found[form]
    _introduced(found, notes)
    joined = _joined(found)
    selves = [one for one in joined.values() if one.own]
    for either in selves:
        either.own = len(selves) == 1
    return joined


def _form(name: str) -> str:
    """A name as it is compared: "Dr. Hempel" is "dr hempel"."""
    return _DOT.sub("", fold(name))


def _introduced(found: Mapping[str, Subject], notes: Iterable[Note]) -> None:
    """What people say that they are called themselves."""
    for note in notes:
        own = captured(note.memory) or note.memory.trust in OWN_WORDS
        for after in _SELF.findall(own_words(note.memory)) if own else ():
            said = _Text(after).folded
            fits = [form for form in found if said.startswith(f" {_plain(form)} ")]
            if fits and found[best := max(fits, key=len)].likeliest == "person":
                found[best].own = True


def _possessives(
    found: dict[str, Subject], notes: Sequence[Note], texts: Mapping[str, _Text]
) -> None:
    """Who writes small letters and no apostrophes says "bukolas at the door" of Bukola, if that
    name stands anywhere, in words from outside too, and "dr halims" of whom they call Halim; not
    where a sentence has both ("andreas and andrea"), nor of "banks" where there is a Mr Banks. In
    German "Lottes Turnier" is Lotte's, who is known."""
    lasts = {form.split()[-1] for form in found if " " in form}
    ends = [
        form
        for form, one in found.items()
        if form[-1] == "s" and (one.small or (form[:-1] in found and _owns(one, texts)))
    ]
    ends = [form for form in ends if len(form) > _SHORT + 1 and form not in lasts]
    if not ends:
        return
    words = {word for note in notes for word in _WORD.findall(fold(note.memory.body))}
    for form in ends:
        stem = form[:-1]
        known = stem in words or stem in found or _bare(stem) in found
        if known and not _together(found[form], form, stem):
            mine = found.pop(form)
            subject = found.setdefault(stem, Subject(forms={stem}))
            title = mine.title[:-1]
            subject.take(mine)
            subject.spellings[title] += mine.spellings.total() + 1


def _owns(subject: Subject, texts: Mapping[str, _Text]) -> bool:
    """Does a word with a capital follow wherever it stands?"""
    said = [texts[ident].written.split(f" {subject.title} ") for ident in subject.notes]
    after = [part for parts in said for part in parts[1:]]
    return bool(after) and all(map(_NOUN.match, after))


def _nobody(form: str, name: str) -> bool:
    small = name == name.lower()
    nobody = form in _NOBODY or personal.is_person(form)
    return nobody or len(form) < _SHORT or (small and personal.chatter(form))


def _together(subject: Subject, form: str, other: str) -> bool:
    """Has a sentence that names it the other form too?"""
    said = (own_words(note.memory) for note in subject.notes.values())
    sentences = (_Text(one) for text in said for one in split_sentences(text))
    return any(one.has(form) and one.has(other) for one in sentences)


def _common(form: str, subject: Subject, texts: Mapping[str, _Text]) -> bool:
    """Is it a common word that was taken for a name? Nobody writes it with a capital, and it has an
    article, or surely is nobody's name; and it surely is no person's, nor a person with a title ("a
    mrs wyndham-keogh")."""
    titled = subject.likeliest == "person" and _bare(form) != form
    if subject.person >= SURE or not subject.small or titled:
        return False
    words = " ".join(_WORD.findall(form))
    led = any(
        f" {article} {words} " in texts[ident].folded
        for ident in subject.notes
        for article in _ARTICLES
    )
    return led or (subject.likeliest not in ("", "person", "place") and subject.likely < SURE)


def _speaks(note: Note) -> bool:
    memory = note.memory
    own = captured(memory) or memory.trust != "external"
    return own and not memory.level and not note.doubted


class _Over:
    """What a conversation says that no longer counts: what a fact of it said that was replaced
    since, forgotten, or held to be wrong."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._facts: dict[str, list[Note]] = {}
        for note in snapshot.notes.values():
            if note.memory.type in SOURCES and (note.doubted or note.memory.status in OVER):
                for ident in note.memory.derived_from:
                    self._facts.setdefault(ident, []).append(note)
        self._silent = {
            ident
            for row in snapshot.history
            if row.op in FILING and any(one in snapshot.forgotten for one in row.memories)
            for ident in row.memories
        }

    def holding(self, source: Note) -> list[str]:
        """The sentences of a memory that may be quoted. Of a conversation of which something was
        forgotten only its facts speak: which words those were is gone with them."""
        if not captured(source.memory):
            return split_sentences(personal.bare(own_words(source.memory)))
        if source.id in self._silent:
            return []
        said = split_sentences(personal.bare(own_words(source.memory)))
        for fact in self._facts.get(source.id, ()):
            said = _without(said, fact, source.memory)
        return said


def _without(said: Sequence[str], fact: Note, source: Memory) -> list[str]:
    """The sentences without those that a fact repeats; where it says them in other words, without
    the turns it rests on."""
    told = [personal.plain(one) for one in split_sentences(prose(fact.memory.body))]
    left = [
        one
        for one in said
        if not any(
            other in words or words in other for words in (personal.plain(one),) for other in told
        )
    ]
    if len(left) < len(said):
        return left
    spans = named(source, map(str, fact.memory.extra.get(turns.KEY) or ()))
    heard = " ".join(" ".join(source.body[one.start : one.end].split()) for one in spans)
    return [one for one in said if " ".join(one.split()) not in heard]


class _Text:
    """What a person said: its words, `folded` and as they are `written`, between blanks."""

    def __init__(self, text: str) -> None:
        self.folded, self.written = f" {_plain(fold(text))} ", f" {_plain(text)} "
        self.words = frozenset(self.folded.split())

    def has(self, form: str) -> bool:
        """Does it have this name, as whole words?"""
        return self.words.issuperset(form.split()) and f" {form} " in self.folded

    def of_thing(self, form: str) -> bool:
        """Does it mostly speak of it as of a thing?"""
        before = [f"{one} " for one in self.folded.split(f" {_plain(form)} ")[:-1]]
        return 2 * sum(bool(_THING.search(one)) for one in before) > len(before)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text))


def _mentioned(
    found: dict[str, Subject], notes: Sequence[Note], texts: Mapping[str, _Text]
) -> None:
    """A word that often is a name is one wherever it stands; one that seldom is ("will") only where
    it surely was one, and what is written with a capital and nobody's name ("LaTeX") only so."""
    by_word: dict[str, list[Note]] = {}
    for note in notes:
        for word in texts[note.id].words:
            by_word.setdefault(word, []).append(note)
    for form, subject in list(found.items()):
        words = _WORD.findall(form) or [form]
        rarest = min((by_word.get(word, []) for word in words), key=len)
        having = [
            note
            for note in rarest
            if texts[note.id].has(" ".join(words))
            and (not subject.proper or subject.written(texts[note.id]))
        ]
        often = len(subject.notes) >= OFTEN * len(having)
        if often and (" " in form or len(form) > _SHORT):
            subject.notes |= {note.id: note for note in having}
        elif not often and subject.likely < SURE:
            del found[form]


def _joined(found: Mapping[str, Subject]) -> dict[str, Subject]:
    """Each name with the shorter forms that are its alone; a form that several have is nobody's."""
    joined: dict[str, Subject] = {}
    owners: dict[str, set[str]] = {}
    titled = Counter(_bare(form) for form in found if _bare(form) != form)
    for form in sorted(found, key=lambda one: (-len(one.split()), one)):
        bare = _bare(form)
        alone = titled[bare] > 1 and bare != form  # Mr and Mrs Novak are two
        longer = set() if alone else _longer(form, found, owners)
        if not longer:
            joined.setdefault(form, Subject()).take(found[form])
            for word in bare.split():
                owners.setdefault(word, set()).add(form)
        elif len(longer) == 1:
            joined[longer.pop()].take(found[form])
    return joined


def _longer(form: str, found: Mapping[str, Subject], owners: Mapping[str, set[str]]) -> set[str]:
    """The names of the same kind that have all words of a form."""
    mine = found[form]
    having = set.intersection(*(owners.get(word, set()) for word in _bare(form).split()))
    kinds = {one: found[one].likeliest for one in having}
    return {one for one in having if mine.likeliest in ("", kinds[one]) or not kinds[one]}


def _bare(form: str) -> str:
    """A name without a title before it."""
    return _TITLE.sub("", form) or form


def _known(snapshot: Snapshot) -> frozenset[str]:
    """Every name that an entity has, whatever became of it."""
    return frozenset(
        name
        for note in snapshot.notes.values()
        if note.memory.type == ENTITY
        for name in _names(note.memory)
    )


def _names(memory: Memory) -> set[str]:
    return {_form(name) for name in (memory.title, *memory.aliases)} - {personal.PERSON}


def _profiled(
    snapshot: Snapshot, subjects: Mapping[str, Subject]
) -> Iterator[tuple[Note, list[Subject], bool]]:
    """The profiles that still are as they were made here, each with those it names; is it of one
    that another is of as well?"""
    titles = {one.title for one in subjects.values()}
    profiles = [note for note in snapshot.notes.values() if _is_profile(note)]
    profiles.sort(key=lambda one: (one.memory.title not in titles, one.memory.when() or 0.0))
    told: set[str] = set()
    for note in profiles:
        names = _names(note.memory)
        mine = {form: one for form, one in subjects.items() if one.forms & names}
        yield note, [one for form, one in mine.items() if form not in told], bool(mine)
        told |= mine.keys()


def _is_profile(note: Note) -> bool:
    memory = note.memory
    rests = memory.status == "dormant" or (memory.status == RESTS and not memory.body.strip())
    if memory.type != ENTITY or not (note.active or rests):
        return False
    return ours(note) and personal.is_profile(memory.body) and not note.edited


def _said(subject: Subject, over: _Over) -> list[tuple[str, Note]]:
    """(line of a profile, its source), oldest first, of what was not said in the same words
    before."""
    lines: dict[str, tuple[str, Note]] = {}
    notes = subject.notes.values()
    told = sorted(notes, key=lambda one: (one.memory.when() or 0.0, captured(one.memory), one.id))
    for note in told:
        sentences = over.holding(note)
        capitals = subject.proper and subject.written(_Text(own_words(note.memory)))
        naming = [one for one in sentences if _names_one(one, subject, capitals)]
        if not naming and not captured(note.memory):
            naming = sentences
        words = " ".join(naming[0].split()).translate(_MARKS) if naming else ""
        if words and len(words) <= LONGEST and fold(words) not in lines:
            day = note.memory.created[:10]
            # By the file's name, so that Obsidian opens it too.
            file = note.memory.path.rpartition("/")[2].removesuffix(".md")
            lines[fold(words)] = f"- {day}: “{words}” ([[{file}|{note.id}]])", note
    return list(lines.values())[-SHOWN:]


def _names_one(sentence: str, subject: Subject, capitals: bool) -> bool:
    text = _Text(sentence)
    loud = {fold(word) for word in text.written.split() if _CAPITAL.match(word)}
    parts = {word for form in subject.forms for word in _bare(form).split()}
    return bool(parts & (loud if capitals else text.words))


def _made(name: str, subject: Subject, over: _Over) -> Decision | None:
    said = _said(subject, over)
    if not said:
        return None
    body = "\n".join(line for line, _ in said)
    meta = {
        "type": ENTITY,
        "title": subject.title,
        "description": personal.described_by(body, last=True),
        "trust": "model",
        "derived_from": [note.id for _, note in said],
    }
    meta |= {"kind": subject.kind} if subject.kind else {}
    meta |= {"aliases": subject.aliases} if subject.aliases else {}
    return Decision(
        NAME, "synthesize", subject.title, f"{len(subject.notes)} memories name it",
        (New(meta, f"{body}\n"),), tuple(note.id for _, note in said), key=_key(name),
    )  # fmt: skip


def _key(name: str) -> str:
    return f"entity {name}"


def _resting(note: Note, twice: bool = False) -> Decision | None:
    """A profile of which nothing is left rests, without the words that were taken away."""
    if note.memory.status == RESTS:
        return None
    edit = Set(note.id, {"status": RESTS, "description": "", "derived_from": []}, "")
    reason = "another profile is of the same" if twice else "no memory names it any more"
    return Decision(NAME, "revise", note.memory.title, reason, (edit,), (note.id,))


def _kept(note: Note, subjects: Sequence[Subject], over: _Over) -> Decision | None:
    """What the profile says now; what no longer holds leaves it."""
    whole = Subject(forms=_names(note.memory))
    for one in subjects:
        whole.take(one)
    said = _said(whole, over)
    body = "\n".join(line for line, _ in said)
    if not said:
        return _resting(note)
    had = [one for one in note.memory.aliases if whole.own or one != personal.PERSON]
    known = {fold(one) for one in (note.memory.title, *had)}
    aliases = [*had, *(one for one in (whole.title, *whole.aliases) if fold(one) not in known)]
    kind = whole.kind if whole.kinds or whole.stated else note.memory.kind
    now = (body, aliases, kind)
    if now == (note.memory.body.strip(), [*note.memory.aliases], note.memory.kind):
        return None
    changes: dict[str, object] = {
        "description": personal.described_by(body, last=True),
        "derived_from": [one.id for _, one in said],
        "timestamp": NOW,
    }
    changes |= {"aliases": aliases or None} if aliases != [*note.memory.aliases] else {}
    changes |= {"kind": kind or None} if kind != note.memory.kind else {}
    changes |= {} if note.active else {"status": "active"}
    ids = (note.id, *(one.id for _, one in said))
    return Decision(
        NAME, "revise", note.memory.title, "what is said of it changed",
        (Set(note.id, changes, f"{body}\n"),), ids,
    )  # fmt: skip
