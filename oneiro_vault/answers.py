"""What every operation answers: the JSON form, which faces and the Python API share.

Times are ISO 8601 with an offset, paths are relative to the vault, `None` is "there is none".
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

Json = dict[str, Any]
"""A JSON or TOML object as it comes in, before anybody has looked at it, or as it is to go out."""


class Answer(TypedDict):
    """What every answer has: the version of its form, and of one that reads what it lacks."""

    schema: int
    degraded: NotRequired[str | None]
    notices: NotRequired[list[str]]


class Titled(TypedDict):
    """A memory by its title."""

    id: str
    title: str


class Placed(TypedDict):
    """A memory by its path."""

    id: str
    path: str


class Refused(TypedDict):
    """A path that was left alone, and why."""

    path: str
    reason: str


class Notice(Refused):
    """A note that cannot be shown as it is: what is `shown` instead."""

    hint: str
    shown: str


class Linked(TypedDict):
    """A memory that is linked, and by which relation."""

    relation: str
    id: str
    path: str | None
    title: str
    status: str


class Source(Linked):
    """What a memory rests on."""

    created: str | None


class Uses(TypedDict):
    """How often a memory was used: on how many days, and when last."""

    days: int
    last: str | None


class Moment(TypedDict):
    """A moment of the history: what was asked for, and the commit that stood then."""

    asked: str
    until: str
    commit: str
    when: str
    title: str
    disordered: bool


# -- storing and changing


class Stored(TypedDict):
    """A picture as it was stored: pixels."""

    sha256: str
    path: str
    mime: str
    width: int | None
    height: int | None


class Picture(Stored):
    """A picture of a note; `present`: its file is there."""

    alt: str
    present: bool


class RememberedRow(TypedDict):
    """A memory that was stored, or the one that said it already (`duplicate_of`)."""

    id: str
    path: str
    title: str
    type: str
    sha256: str
    duplicate_of: str | None
    images: list[Stored]
    near: NotRequired[Titled | None]


class Level(TypedDict):
    """A memory that another (`of`) was made of, or became part of, so many steps away; of a capture
    the raw `words` it rests on."""

    id: str
    title: str
    type: str
    level: int
    created: str
    status: str
    depth: int
    of: str
    words: str


class Levels(Answer):
    """`levels`."""

    id: str
    title: str
    levels: list[Level]


class Cited(TypedDict):
    """A principle or a case that bears on a decision: its words that do, how it `ended` (`well`,
    `badly`, `open`, "" for what has no outcome), and what became of it."""

    id: str
    title: str
    kind: str
    created: str
    words: str
    outcome: str
    ended: str
    trust: str
    then: list[Titled]


class Consulted(Answer):
    """`consult`."""

    principles: list[Cited]
    precedents: list[Cited]
    counter: list[Cited]


class Pondered(Answer):
    """`ponder`: one of so many; on how many days it was looked at."""

    id: str
    title: str
    created: str
    body: str
    uses: int
    of: int


class Influencing(TypedDict):
    """How often a memory was looked at (by month, `YYYY-MM`) and called useful or wrong. `days`:
    kind -> day (`YYYY-MM-DD`) -> how often it was `looked` at, `found` by a question before that,
    called `useful` or `wrong`."""

    id: str
    title: str
    uses: int
    useful: int
    wrong: int
    months: dict[str, int]
    days: dict[str, dict[str, int]]


class Influence(Answer):
    """`influence`."""

    results: list[Influencing]


class Fedback(Answer):
    """`feedback`: whether a memory is held to be wrong now, and its strength."""

    id: str
    title: str
    doubted: bool
    strength: float


class Corrected(Answer):
    """`correct`: what holds now, what it replaced, and what that says besides (None: nothing)."""

    id: str
    path: str
    title: str
    replaced: Titled
    kept: Titled | None
    commit: str | None


class Rejected(TypedDict):
    """What was not stored: its position in the list that was given."""

    item: int
    message: str
    hint: str


class Remembered(Answer):
    """`remember`."""

    results: list[RememberedRow]
    commit: str | None
    rejected: list[Rejected]


class Reframed(Answer):
    """`reframe`; `proposal`: where the new words wait for a person."""

    id: str
    path: str
    sha256: str
    commit: str
    proposal: Placed | None


class Forgotten(Answer):
    """`forget`; `back` is the command that brings it back."""

    id: str
    path: str
    title: str
    commit: str
    back: str


class Restored(Answer):
    """`restore`."""

    id: str
    path: str
    commit: str


class ImportCounts(TypedDict):
    """What became of records of one kind: `grown` were here and have more or newer words now,
    `forgotten` stay away, `changed_here` wait in review beside a person's words."""

    new: int
    grown: int
    known: int
    forgotten: int
    changed_here: int


class ImportSkip(TypedDict):
    """What was not taken, or (`taken`) came with a fault: where it stands in the export, and
    why."""

    where: str
    why: str
    taken: bool


class ImportRemark(TypedDict):
    """What is to be said of how `count` conversations were read."""

    remark: str
    count: int


class ImportSample(TypedDict):
    """One of the first that are new. `kind`: conversation or note."""

    kind: str
    title: str
    messages: int
    created: str
    path: str


class Imported(Answer):
    """`import_`. `reasons`: of the first that were `skipped`, or were taken and are `faulty`;
    `source`: what `undo` takes back; `waiting`: episodes that encoding has before it, and how many
    of them this import `brought`."""

    format: str
    title: str
    source: str
    dry_run: bool
    conversations: ImportCounts
    notes: ImportCounts
    messages: int
    skipped: int
    faulty: int
    reasons: list[ImportSkip]
    remarks: list[ImportRemark]
    sample: list[ImportSample]
    commits: list[str]
    waiting: int
    brought: int


class Kept(TypedDict):
    """What an undo left as it is."""

    path: str
    why: str


class Undone(Answer):
    """`undo`."""

    commit: str
    undone: str
    paths: list[str]
    removed: list[str]
    left: list[Kept]


class Moved(Answer):
    """`move`."""

    id: str
    path: str
    was: str
    commit: str


class Updated(TypedDict):
    """A memory that reads differently now, or whose new words wait."""

    id: str
    proposal: Placed | None


class Failed(TypedDict):
    """A memory that could not be changed."""

    id: str
    message: str
    hint: str


class Reflected(Answer):
    """`reflect`: the episode, and what it changed."""

    id: str
    path: str
    duplicate_of: str | None
    updated: list[Updated]
    failed: list[Failed]


class Ratified(Answer):
    """`ratify`; `prescribes`: why the line tells a model what to do."""

    id: str
    path: str
    title: str
    core: bool
    prescribes: str | None
    commit: str | None


class Resolved(Answer):
    """`resolve`: the flags that are left."""

    id: str
    path: str
    title: str
    flags: list[str]
    commit: str | None


class AdoptSkip(Refused):
    """A file that was not adopted."""

    code: str


class Adopted(Answer):
    """`adopt`."""

    adopted: list[Placed]
    skipped: list[AdoptSkip]
    commit: str | None


class CaptureRow(TypedDict):
    """A capture as it was stored."""

    id: str
    path: str | None
    duplicate_of: str | None


class Captured(Answer):
    """`capture`: the first, all, and how many could only be queued."""

    id: str | None
    path: str | None
    duplicate_of: str | None
    captures: list[CaptureRow]
    queued: int


class Collected(Answer):
    """`collect`: captures taken from the spool, left there, set aside as unreadable."""

    stored: int
    left: int
    aside: int


# -- reading


class ListRow(TypedDict):
    """A memory in a list. `strength` is 0..1, `level` above 0 for what was made of others."""

    id: str
    path: str
    title: str
    description: str
    type: str
    status: str
    level: int
    tags: list[str]
    created: str
    strength: float
    faded: NotRequired[bool]
    gone: NotRequired[bool]
    broken: NotRequired[bool]
    now: NotRequired[str]
    valid: NotRequired[RowValid]


class Listed(Answer):
    """`list`."""

    results: list[ListRow]
    total: int


class FlaggedRow(ListRow):
    """A memory that is doubted, and the question for a person."""

    flags: list[str]
    question: str


class Flagged(Answer):
    """`flagged`."""

    results: list[FlaggedRow]
    total: int


class RowWhy(TypedDict):
    """Why a row stands where it does; the `parts` add up to its score."""

    status: NotRequired[str]
    trust: NotRequired[str]
    date: NotRequired[str | None]
    parts: NotRequired[dict[str, float]]


RowValid = TypedDict(
    "RowValid",
    {"from": str | None, "until": str | None, "stated": bool, "now": NotRequired[str]},
)
"""Local days on which a memory holds; `stated`: the note says so itself, and `now` whether it
does."""


class RowState(TypedDict):
    """How a memory stands; in a look at the past, `now` is what became of it since."""

    status: str
    faded: bool
    gone: bool
    broken: bool
    now: NotRequired[str]
    valid: NotRequired[RowValid]


Standing: TypeAlias = Literal["said once", "confirmed", "disputed", "inferred"]
"""How far a memory is borne out: `confirmed` in two conversations, on another day or by a person;
`disputed` by another memory or by who called it wrong; `inferred` by a loop, or a guess."""
SAID_ONCE: Final = "said once"
"""How most stand, so that no line of text says it."""


class Hit(TypedDict):
    """A memory that answers a question; `weak`: perhaps only the best of what is there."""

    id: str
    path: str
    title: str
    description: str
    type: str
    created: str
    score: float
    snippet: str
    weak: bool
    replaced_by: str | None
    why: RowWhy


class RecallRow(Hit, RowState):
    """A row of `recall`."""

    standing: Standing


ValidAt = TypedDict(
    "ValidAt", {"asked": str | None, "from": str | None, "until": str | None, "undated": int}
)
"""The span that was asked for; `undated` memories do not say since when they hold."""


class Spoken(TypedDict):
    """Which moments an answer speaks of."""

    as_of: NotRequired[Moment]
    valid_at: NotRequired[ValidAt]


class GraphNode(TypedDict):
    """A note in the graph, or a name that no note has: `id` and `path` are None then. `ref` is what
    its edges call it; `hops`: steps from where the graph begins; `x` and `y`: its place, where that
    was asked for (an edge is about 1 long)."""

    ref: str
    id: str | None
    name: str
    type: str
    kind: str
    path: str | None
    status: str
    hops: int
    x: NotRequired[float]
    y: NotRequired[float]


class GraphEdge(TypedDict):
    """A relation between two nodes (`ref`s), what it is called from its other end, since and until
    when it holds (a day; None where nothing says), and the memory that states it."""

    source: str
    relation: str
    target: str
    inverse: str
    since: str | None
    until: str | None
    by: str


class Graphed(Answer, Spoken):
    """`graph`: what lies around the first node, or the way from it to the last; `left`: how many
    nodes more there are."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    left: int


class WholeGraph(Answer, Spoken):
    """`whole_graph`, in columns: the nodes as GraphNode has them, `created` a day or "", how many
    edges each has (`degrees`), and where it is (`x` and `y`, empty until `placed`); the `edges`:
    source, target and relation as positions in `refs` and `relations`, one after another. `types`
    and `projects`: how many nodes each has before any was left out; `total`: of all of them;
    `parts` that are connected, `unlinked` nodes among those shown; `unread`: notes whose links are
    not followed yet (ask again)."""

    refs: list[str]
    names: list[str]
    types_of: list[str]
    kinds: list[str]
    created: list[str]
    degrees: list[int]
    x: list[float]
    y: list[float]
    placed: bool
    edges: list[int]
    relations: list[str]
    types: dict[str, int]
    projects: dict[str, int]
    total: int
    parts: int
    unlinked: int
    unread: int


class Recalled(Answer, Spoken):
    """`recall`; `behind`: notes the index does not know yet."""

    results: list[RecallRow]
    behind: int


class Injected(Answer):
    """`inject`: what fits a prompt."""

    text: str
    ids: list[str]
    behind: int


class TraceStep(TypedDict):
    """A step that led to a context: what was asked, what was found (ids), milliseconds. Where a
    model was asked: its tokens and their cost, and what was wrong with its answer. What it asked
    and said is its own, and for people only."""

    tool: str
    asked: str
    found: list[str]
    ms: float
    tokens: NotRequired[int]
    cost: NotRequired[float]
    problem: NotRequired[str]


class ModelUse(TypedDict):
    """What a model had to do with a context: who (None: none is there), questions, tokens (of
    `estimated` answers a guess), what they cost; `problem`: why the fixed plan filled the rest, ""
    where the model chose all."""

    judge: str | None
    calls: int
    tokens_in: int
    tokens_out: int
    estimated: int
    cost: float
    problem: str


class Assembled(Answer):
    """`context`: `text` as a model is given it, at most `tokens` of it; what the prompt is for;
    section -> ids in it; names that several have; `model`, where one was to choose."""

    text: str
    intents: list[str]
    sections: dict[str, list[str]]
    ambiguous: dict[str, list[Titled]]
    tokens: int
    behind: int
    model: NotRequired[ModelUse]
    trace: NotRequired[list[TraceStep]]


class Shown(Answer, Spoken):
    """`show`: `meta` is the note's own frontmatter; `why` how it is indexed."""

    id: str
    path: str
    meta: dict[str, object]
    body: str
    text: str
    sha256: str
    images: list[Picture]
    links: list[Linked]
    backlinks: list[Linked]
    strength: float
    standing: Standing
    problems: list[str]
    notice: Notice | None
    now: NotRequired[str]
    why: NotRequired[dict[str, object]]


class FullMemory(TypedDict):
    """A memory whole."""

    id: str
    path: str
    type: str
    title: str
    description: str
    created: str
    timestamp: str
    source: str
    trust: str
    status: str
    confidence: float | None
    session: str
    superseded_by: str
    body: str
    tags: list[str]
    about: list[str]
    supersedes: list[str]
    derived_from: list[str]
    strength: float
    images: list[Picture]
    links: list[Linked]
    backlinks: list[Linked]
    notice: Notice | None


class Missing(TypedDict):
    """What was asked for and is not there."""

    id: str
    reason: str


class Got(Answer):
    """`get`."""

    memories: list[FullMemory]
    missing: list[Missing]


class BlockRow(TypedDict):
    """A block of the orientation; `included`: it fitted."""

    id: str
    path: str
    title: str
    priority: int | None
    core: bool
    timestamp: str
    stamp: str
    included: bool


class RecentRow(TypedDict):
    """What was stored lately, or fits the context."""

    id: str
    path: str
    title: str
    description: str
    type: str
    status: str
    created: str


class Oriented(Answer):
    """`orient`."""

    text: str
    blocks: list[BlockRow]
    recent: list[RecentRow]
    flagged: int


class Image(Answer):
    """`image`: base64 `data`, pixels."""

    id: str
    sha256: str
    mime: str
    width: int
    height: int
    size: str
    data: str
    notice: str | None


class BrowsedNote(TypedDict):
    """A note that was browsed to."""

    id: str
    body: str
    sha256: str
    type: str
    title: str
    created: str
    timestamp: str
    source: str
    trust: str
    status: str
    core: bool
    notice: Notice | None


class Entry(TypedDict):
    """A file or a folder (`id` is None) in a folder that was browsed."""

    path: str
    bytes: int
    notes: int
    id: str | None


class Browsed(Answer):
    """`browse`; `left`: entries that are not listed."""

    path: str
    note: BrowsedNote | None
    entries: list[Entry]
    left: int


class Stamps(Answer):
    """`stamps`: what changes when a resource does, by id and by day."""

    memories: dict[str, str | None]
    orientation: str
    dreams: dict[str, str]


class Completed(Answer):
    """`complete`."""

    values: list[str]
    total: int


class ReportRow(TypedDict):
    """A dream's report."""

    path: str
    title: str
    created: str
    body: str


class Reports(Answer):
    """`reports` of a day."""

    date: str
    reports: list[ReportRow]


# -- history


class LogEntry(TypedDict):
    """A commit."""

    commit: str
    op: str
    title: str
    when: str
    author: str
    actor: str
    memories: list[str]
    reason: str
    run: str
    judge: str
    device: str
    paths: list[str]
    removed: list[str]
    undoes: str
    loop: str
    decision: str
    fence: int


class Log(Answer):
    """`log`."""

    entries: list[LogEntry]


class Why(Answer):
    """`why`: how a memory came to be."""

    id: str
    title: str
    path: str | None
    status: str
    story: list[LogEntry]
    lineage: list[Linked]
    uses: Uses
    strength: float
    notice: Notice | None


class Version(LogEntry):
    """A memory as a commit left it (`commit` and `when` are "" for what is on disk alone), its
    title as `name`. `words`: it reads differently; `keys`: key -> [before, now]; `undone`: taken
    back since."""

    there: bool
    name: str
    status: str
    body: str
    sha256: str
    words: bool
    keys: dict[str, list[str]]
    undone: bool


class Held(Titled):
    """One of several memories that replaced each other: the beginning of what it `says`, when it
    was learned, and since and until when it held."""

    status: str
    says: str
    learned: str | None
    since: str | None
    until: str | None
    superseded_by: str | None


class Versions(Answer):
    """`versions`; `more`: there are older ones."""

    id: str
    title: str
    path: str | None
    status: str
    versions: list[Version]
    more: bool
    chain: list[Held]


class Looked(TypedDict):
    """A use of a memory. `why`: it was `shown` or `fetched`, `useful`, `remembered again`, or held
    to be `wrong`; `question`: the one that had found it, "" where none did."""

    when: str
    why: str
    question: str
    actor: str
    reason: str


class Usage(Answer):
    """`usage`, newest first."""

    id: str
    title: str
    uses: list[Looked]
    total: int


class Ground(Titled):
    """A memory that a line rests on."""

    type: str
    status: str
    created: str
    trust: str


class Line(TypedDict):
    """A paragraph or an item of a list, and what it rests on."""

    text: str
    grounds: list[Ground]


class Grounded(Titled):
    """A memory line by line, and all that it was made of."""

    lines: list[Line]
    sources: list[Ground]


class Grounds(Answer):
    """`grounds`."""

    results: list[Grounded]


class WokenBlock(BlockRow):
    """A block of the orientation as it is given; `units`: its size."""

    units: int
    lines: list[Line]
    sources: list[Ground]


class EndedTalk(TypedDict):
    """How the last conversation of a project ended, and the `line` that says so."""

    project: str
    id: str
    day: str
    messages: int
    words: str
    line: str


class Woken(Answer):
    """`wake`: `text` as a model is given it. `units` of `limit`: UTF-16 code units, as clients
    count."""

    text: str
    units: int
    limit: int
    blocks: list[WokenBlock]
    ended: list[EndedTalk]
    project: str | None


class Followed(Answer):
    """`follow`: the notes that a link may mean."""

    results: list[Placed]


class Point(TypedDict):
    """Strength (0..1) at a moment; `ahead`: to come."""

    when: str
    strength: float
    ahead: bool


class Strength(Answer):
    """`strength`; stability in days."""

    id: str
    title: str
    type: str
    strength: float
    stability: float | None
    threshold: float
    uses: Uses
    learned: str | None
    fades: str | None
    faded: bool
    points: list[Point]


class FadingRow(ListRow):
    """A memory that fades, or has: when it leaves passive recall if nobody uses it, stability in
    days, on how many days it was used and when last."""

    fades: str
    stability: float
    uses: Uses


class Fading(Answer, Spoken):
    """`fading`: some of `total`; `until`: the last moment that was asked for; `threshold`: the
    strength (0..1) at which they fade; `days`: local day -> how many fade on it; `types`: type ->
    how many fade; `faded`: how many have."""

    results: list[FadingRow]
    total: int
    until: str
    threshold: float
    days: dict[str, int]
    types: dict[str, int]
    faded: int


class Span(TypedDict):
    """A year, a month or a day of a timeline: local days [start, end), and how many memories of
    each type came to be in it."""

    start: str
    end: str
    types: dict[str, int]


class Timeline(Answer, Spoken):
    """`timeline`: spans of one size (`by`: `year`, `month`, `day`) without a gap, and some of the
    `total` memories in them; `first` and `last`: local days of the oldest and the newest of all;
    `undated` memories are in no span; `types`: type -> how many there are in all spans; `began`:
    the first day of the history, since when one can look back."""

    by: str
    spans: list[Span]
    results: list[ListRow]
    total: int
    types: dict[str, int]
    first: str | None
    last: str | None
    undated: int
    began: str | None


class Origin(TypedDict):
    """The commit that last changed a paragraph; `dated` is the memory's own date of it."""

    commit: str | None
    learned: str | None
    dated: str | None
    op: str | None
    actor: str | None
    author: str | None
    run: str | None
    loop: str | None
    judge: str | None
    reason: str | None


class Piece(Origin):
    """A paragraph; `source`: the memory whose very words these are."""

    paragraph: int
    text: str
    source: str | None


class Blame(Answer):
    """`blame`."""

    id: str
    title: str
    path: str
    forgotten: bool
    names: list[str]
    commits: int
    pieces: list[Piece]
    sources: list[Source]
    notice: Notice | None


class ChangeWhy(TypedDict):
    """The commit behind a difference."""

    commit: str
    when: str
    op: str
    actor: str
    reason: str | None
    run: str | None
    judge: str | None


class Difference(TypedDict):
    """A memory that differs between two moments."""

    id: str | None
    path: str
    title: str
    type: str
    why: ChangeWhy | None


class NewRow(Difference):
    """Newly believed."""

    says: str
    source: str
    trust: str
    derived_from: list[str]


class RevisedRow(Difference):
    """It reads differently; `words` are pairs of a mark (`same`, `gone`, `new`) and text."""

    before: str
    after: str
    words: list[list[str]]


class RetiredRow(Difference):
    """No longer believed; merged `into` another."""

    said: str
    fate: str
    into: Titled | None


class MovedRow(Difference):
    """At another path."""

    was: str


class DoubtedRow(Difference):
    """Contradicted."""

    doubts: list[str]
    says: str


class BlockText(TypedDict):
    """A block of the orientation."""

    id: str | None
    title: str
    text: str


class OrientationDiff(TypedDict):
    """The orientation at two moments."""

    before: list[BlockText]
    after: list[BlockText]
    changes: list[RevisedRow]


class _Diff(Answer):
    to: Moment
    commits: int
    new: list[NewRow]
    revised: list[RevisedRow]
    merged: list[RetiredRow]
    retired: list[RetiredRow]
    moved: list[MovedRow]
    contradicted: list[DoubtedRow]
    pending: list[NewRow]
    orientation: OrientationDiff
    kept: int
    captures: int
    runs: int
    unreadable: list[str]


_From = TypedDict("_From", {"from": Moment | None})


class Diff(_Diff, _From):
    """`diff`: what came to be believed between two moments."""


class ProbeCount(TypedDict):
    """Questions whose answer was asked for before and after."""

    asked: int
    found: int
    lost: list[str]


class PullRequest(Answer):
    """`pr_summary`."""

    base: str | None
    head: str
    commits: int
    counts: dict[str, int]
    recall: ProbeCount | None
    unreadable: list[str]
    markdown: str


# -- dreams and review


class Decision(TypedDict):
    """What a run decided and did."""

    op: str
    title: str
    reason: str
    memories: list[str]
    made: list[str]
    commit: str | None
    judge: str


class LeftAlone(TypedDict):
    """What a run left as it is."""

    title: str
    reason: str
    memories: list[str]


class TurnedDown(TypedDict):
    """A decision that was not carried out."""

    op: str
    title: str
    why: str


class Unanswered(TypedDict):
    """A question whose answer was no answer."""

    kind: str
    problem: str


class Unasked(TypedDict):
    """Questions that could not be asked."""

    problem: str
    questions: int


class DueTopic(TypedDict):
    """A topic on which memories wait for a loop; `again`: for the second time, since they
    changed."""

    topic: str
    memories: list[str]
    again: bool


class Run(TypedDict):
    """A loop's run. `probes` were asked and found their note `before` and `after`; `cost` is in US
    dollars; `due`: of a dry run, what would be asked about."""

    run: str
    loop: str
    judge: str
    started: str
    ended: str
    dry_run: bool
    title: str
    report: str | None
    branch: str | None
    probes: dict[str, int]
    decisions: list[Decision]
    left: list[LeftAlone]
    turned_down: list[TurnedDown]
    failed: list[Unanswered]
    unasked: list[Unasked]
    estimated: int
    calls: int
    known: int
    waiting: int
    tokens_in: int
    tokens_out: int
    cost: float
    notes: list[str]
    due: list[DueTopic]


class Dreamt(Answer):
    """`dream`; `scheduled` also says which machine dreams (`elsewhere`) and whether it is `later`
    than the loops were due."""

    dry_run: bool
    runs: list[Run]
    waiting: int
    note: str | None
    elsewhere: NotRequired[str | None]
    later: NotRequired[bool]


class Question(TypedDict):
    """A question that waits for the connected model; `schema` is the JSON schema of its answer."""

    id: str
    kind: str
    stage: str
    prompt: str
    instruction: str
    memories: list[str]
    given: str
    schema: dict[str, object]
    ids: list[str]
    together: NotRequired[list[str]]


class BatchQuestion(TypedDict):
    """A question of a batch, about the memories `ids`; those of `together` are of the conversation
    that the fact in question comes from."""

    id: str
    ids: list[str]
    together: list[str]


class Batch(TypedDict):
    """Questions with one instruction and one schema of their answers."""

    kind: str
    instruction: str
    answer: dict[str, object]
    again: bool
    quoted: str
    questions: list[BatchQuestion]


class NextQuestion(Answer):
    """`dream_next`."""

    question: Question | None
    waiting: int
    batch: Batch | None


class BadAnswer(TypedDict):
    """An answer that was not taken."""

    id: str
    problem: str


class AnswersTaken(Answer):
    """`dream_answers`."""

    taken: int
    refused: list[BadAnswer]
    waiting: int
    runs: list[Run]
    batch: Batch | None


class Lease(TypedDict):
    """Which machine holds the lease for dreaming."""

    device: str
    here: bool
    loops: list[str]
    fence: int
    since: str
    until: str
    held: bool


class Sharing(TypedDict):
    """Which machine may run the loops."""

    device: str
    runner: str
    lease: Lease | None
    problem: str | None


class LoopTimes(TypedDict):
    """When a loop ran and will run."""

    loop: str
    times: list[str]
    last: str | None
    next: str | None


class Schedule(Answer):
    """`schedule`."""

    zone: str
    loops: list[LoopTimes]
    sharing: Sharing


class Timer(TypedDict):
    """What lets this machine's own timer (systemd, launchd, cron) start the loops."""

    kind: str
    name: str
    installed: bool
    files: list[str]
    command: list[str]


class ProposedChange(TypedDict):
    """A note as a decision has it. `words`: new ones, or all of both with [-gone-] and {+new+};
    `steps`: the same as pairs of `same`, `gone` or `new` and words, [] for a new note and where no
    word changes; `keys`: key -> what a new note says, or a known one from now on ("" for a key that
    goes); `text`: the whole file, "" for a note that goes."""

    path: str
    id: str | None
    title: str
    is_new: bool
    words: str
    steps: list[list[str]]
    keys: dict[str, str]
    text: str


class PastDecision(TypedDict):
    """A decision of a run that is over; `did` is its `op` as a report says it, `undone_by` the
    commit that took back this one alone, `changes` what it made of which notes, where that was
    asked for."""

    op: str
    did: str
    title: str
    reason: str
    judge: str
    memories: list[str]
    commit: str
    decision: str
    undone: bool
    undone_by: str | None
    changes: NotRequired[list[ProposedChange]]


class PastRun(TypedDict):
    """A run that is over. `night`: when the first run of its night began; `undone_by`: the commit
    that took back all of it; of its report the questions whose answer recall found `before` and
    `after` (None: none is told), the `cost` in words, in `tokens` in and out and as `spent`, and
    the `words`, where they were asked for."""

    run: str
    loop: str
    loops: list[str]
    judge: str
    night: str
    started: str
    ended: str
    title: str
    report: str | None
    recall: dict[str, int] | None
    cost: str
    tokens: int
    spent: float
    undone: bool
    undone_by: str | None
    decisions: list[PastDecision]
    words: NotRequired[str]


class Runs(Answer):
    """`runs`."""

    runs: list[PastRun]
    total: int


class Branch(TypedDict):
    """A branch that holds proposals."""

    branch: str
    proposals: int


class Proposal(TypedDict):
    """A decision that waits for a person; `stale`: why it can no longer be taken; `editable`: the
    path of the note whose words a person may change first."""

    id: str
    branch: str
    commit: str
    op: str
    loop: str
    title: str
    reason: str
    judge: str
    run: str
    memories: list[str]
    stale: str | None
    changes: list[ProposedChange]
    editable: str | None


class Review(Answer):
    """`review`."""

    branches: list[Branch]
    proposals: list[Proposal]
    total: int


class ReviewedRow(TypedDict):
    """A proposal that was decided about."""

    id: str
    branch: str
    op: str
    title: str


class AcceptedRow(ReviewedRow):
    """A proposal that was accepted."""

    commit: str | None


class StaleRow(ReviewedRow):
    """A proposal that could not be accepted."""

    why: str


class Accepted(Answer):
    """`review_accept`."""

    accepted: list[AcceptedRow]
    stale: list[StaleRow]
    closed: list[str]
    left: int


class RejectedProposals(Answer):
    """`review_reject`."""

    rejected: list[ReviewedRow]
    closed: list[str]
    left: int


# -- care


class Problem(TypedDict):
    """What is wrong with a note."""

    path: str
    code: str
    level: str
    message: str
    hint: str
    line: int | None


class Checked(Answer):
    """`check`."""

    problems: list[Problem]
    notes: int


class Mend(TypedDict):
    """How frontmatter could be mended."""

    path: str
    diff: str


class Mended(Answer):
    """`mend`."""

    mends: list[Mend]
    left: list[str]
    done: bool
    commit: str | None


class Finding(TypedDict):
    """What `doctor` found."""

    code: str
    level: str
    message: str
    hint: str
    fixable: bool
    fixed: bool
    verbose: NotRequired[bool]


class CaptureHere(TypedDict):
    """Is a folder's work captured?"""

    folder: str
    allowed: bool
    marker: str | None
    vault: str | None
    project: str | None
    problem: str | None


class Diagnosis(Answer):
    """`doctor`."""

    problems: list[Finding]
    capture: CaptureHere | None
    prompts: dict[str, int]
    versions: dict[str, str]


class Reindexed(Answer):
    """`reindex`."""

    notes: int
    chunks: int
    pending: int
    seconds: float


class PurgePlan(Answer):
    """What a purge would do; `found`: in how many places of a kind, `also`: notes that say some of
    the same and stay, `untouched`: files git does not know."""

    memories: list[Titled]
    found: dict[str, int]
    also: list[str]
    untouched: list[str]


class Purged(Answer):
    """The receipt of a purge; `left`: where it still is, `todo`: what a person does now."""

    purged: str
    memories: list[str]
    found: dict[str, int]
    untouched: int
    files: int
    messages: int
    names: int
    commits: int
    before: str
    after: str
    left: list[str]
    todo: list[str]
    receipt: NotRequired[str]


class IndexState(TypedDict):
    """The index."""

    notes: int
    chunks: int
    pending: int
    unreadable: int
    degraded: str | None
    model: str
    schema: int
    complete: bool


class Night(TypedDict):
    """What one run of loops asked: questions, tokens, and what they cost; `run`, `title` and `path`
    are its report's."""

    day: str
    run: str
    title: str
    path: str
    questions: int
    tokens_in: int
    tokens_out: int
    cost: float


class Strengths(TypedDict):
    """How many memories are how strong, in ten steps, of those that fade (`lasting`: the others);
    `faded`: how many of the weakest only a search finds."""

    strengths: list[int]
    lasting: int
    faded: int


class Plots(Answer, Strengths):
    """`plots`: type -> day -> memories learned on it (`growth`); kind of use -> day -> how often
    (`uses`, as of `influence`); the most used; what runs cost."""

    growth: dict[str, dict[str, int]]
    uses: dict[str, dict[str, int]]
    influence: list[Influencing]
    nights: list[Night]


class Exported(Answer):
    """`export`: what was written where; `files` includes those that memories show (`attachments`),
    `left_beside`: of these, how many one file had no place for; `withheld`: memories of which
    something private stayed here, `files_cut`: files out of which it was taken, `files_kept`: files
    that stayed here because of it; and what was left out."""

    format: str
    target: str
    memories: int
    files: int
    attachments: int
    left_beside: int
    withheld: int
    files_cut: int
    files_kept: int
    conversations_left: int
    archived_left: int


class Stats(Answer):
    """`stats`."""

    vault: str
    notes: int
    types: dict[str, int]
    statuses: dict[str, int]
    faded: int
    bytes: int
    commits: int
    index: IndexState
    settings: dict[str, bool | int | float | str]


class Embedding(TypedDict):
    """Embedding under way: passages, passages a second, seconds."""

    done: int
    total: int
    rate: float
    seconds_left: float | None


class SettingRow(TypedDict):
    """A setting: the value in force, its default, what it is."""

    name: str
    value: bool | int | float | str
    default: bool | int | float | str
    help: str


class SettingsInForce(Answer):
    """`settings`."""

    settings: list[SettingRow]


class JudgeState(TypedDict):
    """The judge of the settings, and whether it is there."""

    name: str
    title: str
    ready: bool
    problem: str


class DreamState(TypedDict):
    """What waits for a judge, and what the last night did."""

    judge: JudgeState
    captures: int
    questions: int
    ended: str | None
    did: list[str]
    unasked: list[str]
    answered: str | None


class SyncState(TypedDict):
    """The last sync; `age` in seconds."""

    remote: str | None
    last: str | None
    age: float | None
    tried: str | None
    problem: str | None


class Status(Answer):
    """`status`."""

    vault: str
    notes: int
    chunks: int
    pending: int
    embedding: Embedding | None
    behind: int
    unreadable: list[Refused]
    partial: list[str]
    language: str | None
    broken: list[str]
    model: str
    watching: str | None
    uncommitted: int
    held: list[Refused]
    gone: str | None
    loosened: list[str]
    busy: str | None
    rewritten: str | None
    captures: int
    dreams: DreamState
    prompts: dict[str, int]
    late: dict[str, int]
    sync: SyncState
    dreaming: Sharing


class SyncAction(TypedDict):
    """What a sync did to a note; `path` is None where it went away."""

    action: str
    path: str | None
    was: str | None
    id: str | None
    clashes: int


class LateRun(TypedDict):
    """A run that ended after its lease."""

    run: str
    loop: str
    fence: int
    why: str
    kept: str
    left: int
    commits: list[str]


class Synced(Answer):
    """`sync`; `stays`: what was not taken along."""

    dry_run: bool
    offline: str | None
    actions: list[SyncAction]
    commit: str | None
    pushed: bool
    tries: int
    rescued: str | None
    late: list[LateRun]
    edits: int
    stays: list[Refused]
    loosened: list[str]
    remote: str
    url: str
    branch: str
    last: str | None
