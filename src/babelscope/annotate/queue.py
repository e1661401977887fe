"""What is judged: items from JSON lines, the part of each that an annotator sees, and how a queue is drawn."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from babelscope.annotate.verdicts import MethodVerdicts
from babelscope.core.results import Record
from babelscope.language.cues import find_form
from babelscope.language.ud_rules import RULES
from babelscope.methods.base import restore_settings
from babelscope.methods.challenge.annotation import shown_words
from babelscope.methods.challenge.sets import read_instances, unit_of
from babelscope.methods.queue import Drawn, Entry, Group, all_entries, draw, share_out
from babelscope.methods.registry import find_method, method_names
from babelscope.runs.reading import records_of_run
from babelscope.systems.stored.formats import read_translations
from babelscope.testsets.items import AmbiguousSource, ParallelSentence
from babelscope.testsets.loading import load
from babelscope.testsets.pattern_files import match_translations
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, read_json_lines, shorten

LARGEST_FILE = 256 * 2**20  # bytes; all of it goes to the browser, or is held to be compared
LONGEST_NAME = 10_000  # characters of an id or system: every answer repeats them

# --- What an annotator sees: texts with some words marked ----------------------------------------------------------

Spans = Sequence[tuple[int, int]]
"""Characters that are marked, from and to; in order, none overlapping."""

_MOST_WORK = 10**7  # steps for marking one text: a fifth of a second
_LONGEST_WORD = 10_000  # characters of what is searched for, since a pattern is made of it
UNMARKED = "Too long: nothing is marked in this text."


@dataclass(frozen=True, slots=True)
class Block:
    """A text on the page, under its title."""

    title: str
    pieces: list[tuple[str, bool]]
    """The text in pieces, each with whether it is marked."""
    role: str
    """source, judged, or context: how much it stands out."""
    note: str = ""
    """Shown below it."""


def _block(title: str, text: str, role: str = "context", marked: Spans | None = ()) -> Block:
    """A text with some of it marked; `None` if it is too long for that."""
    cuts = [0, *chain.from_iterable(marked or ()), len(text)]
    pieces = [(text[start:end], n % 2 == 1) for n, (start, end) in enumerate(pairwise(cuts)) if start < end]
    return Block(title, pieces, role, UNMARKED if marked is None else "")


def _find_words(text: str, *words: str) -> Spans | None:
    """Whole words, wherever they stand; None if the search would take too long."""
    known = sorted((word for word in words if word), key=len, reverse=True)
    if not _is_quick(text, *known):
        return None
    pattern = "|".join(map(re.escape, known))
    found = re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, flags=re.IGNORECASE) if known else ()
    return [match.span() for match in found]


def _is_quick(text: str, *words: str) -> bool:
    """Whether words can be searched for: each may be compared at every place of the text."""
    length = sum(map(len, words))
    return length <= _LONGEST_WORD and len(text) * length <= _MOST_WORK


def _find_tokens(text: str, tokens: Sequence[str], positions: Sequence[int]) -> Spans:
    """Tokens by their positions from 1 (CoNLL-U); none if they are not those of the text."""
    found = []
    end = 0
    for number, token in enumerate(tokens, 1):
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            return ()
        end = start + len(token)
        if number in positions:
            found.append((start, end))
    return found


def _check_spans(text: str, spans: Sequence[object]) -> Spans:
    """Given spans of characters from 0, in order; none if one is not in the text, or if they overlap."""
    found: set[tuple[int, int]] = set()
    for span in spans:
        match span:
            case [int(start), int(end)] if 0 <= start < end <= len(text):
                found.add((start, end))
            case _:
                return ()
    ordered = sorted(found)
    return () if any(one[1] > other[0] for one, other in pairwise(ordered)) else ordered


def _difference(text: str, other: str) -> Spans | None:
    """The words that `other` does not have; None if the comparison would take too long."""
    words, others = list(re.finditer(r"\S+", text)), other.split()
    mine = [word[0] for word in words]
    # The search for the longest common stretch goes over all pairs of equal words, for each stretch anew.
    counts = Counter(others)
    if sum(counts[word] for word in mine) * min(len(mine), len(others)) > _MOST_WORK:
        return None
    changes = difflib.SequenceMatcher(None, mine, others, autojunk=False).get_opcodes()
    return [word.span() for tag, start, end, *_ in changes if tag != "equal" for word in words[start:end]]


# --- Kinds of tasks, and their items -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Label:
    """One of the answers to choose from: what is stored, and what it means."""

    value: str
    hint: str


@dataclass(frozen=True, slots=True)
class Guide:
    """A kind of task: the question and the guidelines, as an annotator reads them."""

    title: str
    question: str
    guidelines: tuple[str, ...]
    form: Literal["label", "score", "list"] = "label"
    """The answer is one of several labels, a number from 0 to 100, or such a number per translation of a list."""
    labels: tuple[Label, ...] = ()
    corrected: str | None = None
    """The label with which a better translation may be written."""


def _read_guides() -> dict[str, Guide]:
    tables = tomllib.loads(Path(__file__).with_name("guidelines.toml").read_text("utf-8"))
    for table in tables.values():
        table["labels"] = tuple(Label(*each) for each in table.get("labels", ()))
        table["guidelines"] = tuple(table["guidelines"])
    return {kind: Guide(**table) for kind, table in tables.items()}


GUIDES: Mapping[str, Guide] = _read_guides()

# Other names of our fields: those of our test sets and records, and of the released annotations.
_ALSO = {
    "id": ("Sample ID",),
    "source": ("Source Sentence",),
    "translation": ("Translation",),
    "word": ("Word",),
    # In records of pattern matching (mucow), `lemmas` are those of the translation.
    "correct_sense": ("right_words", "lemmas", "Correct Sense"),
    "wrong_sense": ("wrong_words", "wrong_lemmas", "Wrong Sense"),
    "entity": ("occupation", "Entity"),
    "gold": ("Gold Gender",),
}


@dataclass(frozen=True)
class Task:
    """One item to judge."""

    id: str
    kind: str
    """A name of `GUIDES`."""
    question: str
    blocks: tuple[Block, ...]
    labels: tuple[Label, ...]
    translations: tuple[str, ...] = ()
    """The list to judge, in the system's order (ranking)."""
    suggestion: str = ""
    """What a wrong translation might be corrected to (machine references)."""
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The line it was read from. Only what is in the fields above is ever shown."""

    @property
    def guide(self) -> Guide:
        """Its question and guidelines."""
        return GUIDES[self.kind]

    @property
    def system(self) -> str:
        """Whose translation it is; an annotator must not know."""
        return str(self.record.get("system", ""))

    def is_for(self, annotator: str) -> bool:
        """Whether this annotator judges it: all do, unless its line names some."""
        named = self.record.get("annotators")
        return not named or annotator in named

    @cached_property
    def digest(self) -> str:
        """Identifies the item and its texts: other texts have another digest."""
        shown = [[block.title, [text for text, _ in block.pieces]] for block in self.blocks]
        return digest_json([self.kind, self.id, self.system, shown, self.translations])

    def get(self, name: str) -> Any:
        """A field of its line, under any of its names."""
        return _get(self.record, name)


def read_tasks(path: str | Path, kind: str | None = None) -> list[Task]:
    """The items of a file; `kind` is for lines without `task`."""
    tasks = make_tasks(read_json_lines(path, most=LARGEST_FILE), kind)
    if not tasks:
        raise BabelscopeError(f"{path} has no items")
    return tasks


def make_tasks(rows: Iterable[LocatedRecord], kind: str | None = None) -> list[Task]:
    """Items from JSON objects; errors name the place."""
    tasks: list[Task] = []
    places: dict[tuple[str, str], str] = {}
    for place, record in rows:
        try:
            task = _make(record, kind)
        except BabelscopeError as error:
            raise BabelscopeError(f"{place}: {error}") from None
        key = task.id, task.system
        if key in places:
            raise BabelscopeError(
                f"{place}: id {task.id!r} is already used at {places[key]}; items with one id must differ in `system`"
            )
        places[key] = place
        tasks.append(task)
    return tasks


def _make(record: Mapping[str, Any], given: str | None) -> Task:
    if "item" in record and "annotator" in record:
        raise BabelscopeError("these are answers, not items to judge")
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BabelscopeError("has a lone surrogate, which is not valid Unicode text") from None
    kind = record.get("task", given)
    if not isinstance(kind, str) or kind not in GUIDES:
        fault = "field 'task' is missing" if kind is None else f"{shorten(str(kind))} is no task"
        method = record.get("method")
        sample = f"; or draw records of {method} with `babelscope annotate --sample`" if method else ""
        raise BabelscopeError(f"{fault}; give one with --task: {', '.join(GUIDES)}{sample}")
    number = _get(record, "id")
    if isinstance(number, bool) or not isinstance(number, str | int) or str(number) == "":
        raise BabelscopeError("field 'id' must be text or a number")
    for name, value in (("id", number), ("system", record.get("system", ""))):
        if len(str(value)) > LONGEST_NAME:
            raise BabelscopeError(f"field {name!r} is longer than {LONGEST_NAME:,} characters")
    if not _are_texts(record.get("annotators", [])):
        raise BabelscopeError("field 'annotators' must be a list of names: of those who judge the item")
    asked = record.get("questions", record.get("question")) or []
    questions = [asked] if isinstance(asked, str) else asked
    if not _are_texts(questions):
        raise BabelscopeError("field 'question' must be text, or 'questions' a list of texts")
    made = {"question": GUIDES[kind].question, "labels": GUIDES[kind].labels, **_VIEWS[kind](record)}
    if own := " ".join(each for each in questions if each.strip()):
        made["question"] = own
    return Task(str(number), kind, record=record, **made)


# --- What each kind shows of a record ------------------------------------------------------------------------------

View = dict[str, Any]
"""The fields of a task that its record decides."""


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _get(record: Mapping[str, Any], name: str) -> Any:
    """A field under any of its names; records of methods have some fields of their items in `extra`."""
    extra = record.get("extra")
    places = (record, extra if isinstance(extra, Mapping) else {})
    return next((own[each] for own in places for each in (name, *_ALSO.get(name, ())) if each in own), None)


def _text(record: Mapping[str, Any], name: str, between: str | None = None) -> str:
    """A text that is not empty; with `between`, a list of texts joined by it is one, too."""
    value = _get(record, name)
    if between is not None and value and _are_texts(value):
        return between.join(value)
    if not isinstance(value, str) or not value.strip():
        raise BabelscopeError(f"field {name!r} must be text that is not empty")
    return value


def _source(record: Mapping[str, Any], marked: Spans | None = ()) -> Block:
    return _block("Source", _text(record, "source"), "source", marked)


def _translation(record: Mapping[str, Any], title: str = "Translation") -> Block:
    """The translation to judge, which may be empty."""
    value = _get(record, "translation")
    if not isinstance(value, str):
        raise BabelscopeError("field 'translation' must be text")
    return _block(title, value, "judged")


def _phenomenon(record: Mapping[str, Any]) -> list[Block]:
    phenomenon = record.get("phenomenon")
    return [_block("Phenomenon", str(phenomenon).replace("_", " "))] if phenomenon else []


def _machine_reference(record: Mapping[str, Any]) -> View:
    correct, wrong = _text(record, "correct", "\n"), _text(record, "contrastive", "\n")
    blocks = (
        *_phenomenon(record),
        _source(record),
        _translation(record, "Machine translation"),
        _block("Human reference", correct, marked=_difference(correct, wrong)),
        _block("Human reference with the error put in", wrong, marked=_difference(wrong, correct)),
    )
    return {"blocks": blocks, "suggestion": str(record.get("correction") or "")}


def _mucow(record: Mapping[str, Any]) -> View:
    # Without a word, nothing is marked: the senses define what is asked.
    source, word = _text(record, "source"), "" if _get(record, "word") is None else _text(record, "word")
    marked = _find_words(source, find_form(word, source) or word) if _is_quick(source, word) else None
    of_word = f" of “{word}”" if word else ""
    blocks = (
        _source(record, marked),
        _translation(record),
        _block(f"Correct sense{of_word}", _text(record, "correct_sense", ", ")),
        _block(f"Wrong sense{of_word}", _text(record, "wrong_sense", ", ")),
    )
    return {"blocks": blocks}


def _winomt(record: Mapping[str, Any]) -> View:
    entity = _text(record, "entity")
    marked = _find_words(_text(record, "source"), entity)
    named = () if marked else (_block("Occupation", entity),)
    return {"blocks": (_source(record, marked), _translation(record), *named)}


def _challenge(record: Mapping[str, Any]) -> View:
    # The construction is searched for in the source, or in the reference.
    in_source = record.get("side") != "target"
    searched = _text(record, "source" if in_source else "reference", "\n")
    marked = _construction(record, searched)
    blocks = [*_phenomenon(record), _block("Words", " … ".join(_ends(record)))]
    blocks.append(_block("Source", searched, "source", marked) if in_source else _source(record))
    made: View = {}
    if _get(record, "translation") is not None:
        blocks.append(_translation(record))
    else:
        made = {"labels": GUIDES["extraction"].labels, "question": GUIDES["extraction"].question}
    if record.get("reference"):
        reference = _text(record, "reference", "\n")
        blocks.append(_block("Human reference", reference, marked=() if in_source else marked))
    return {"blocks": tuple(blocks), **made}


_ENDS = ("head", "dependent")


def _construction(record: Mapping[str, Any], text: str) -> Spans | None:
    """Head and dependent: where they stand if that is known, else all words like them."""
    places = [record[f"{end}_at"] for end in _ENDS if record.get(f"{end}_at") is not None]
    if found := _check_spans(text, places):
        return found
    tokens, positions = record.get("tokens"), [record.get(end) for end in _ENDS]
    if tokens and _are_texts(tokens):
        numbers = [each for each in positions if isinstance(each, int)]
        if found := _find_tokens(text, tokens, numbers):
            return found
    return _find_words(text, *_ends(record))


def _ends(record: Mapping[str, Any]) -> list[str]:
    """Head and dependent as words; as numbers where only those are known."""
    tokens, found = record.get("tokens"), []
    for name in _ENDS:
        end = record.get(f"{name}_form", record.get(name))
        if end is None:
            raise BabelscopeError(f"field {name!r} is missing")
        if isinstance(end, int):
            known = isinstance(tokens, list) and 1 <= end <= len(tokens)
            end = tokens[end - 1] if known and tokens else f"token {end}"
        found.append(str(end))
    return found


def _choice(record: Mapping[str, Any]) -> View:
    texts = _translations(record)
    letters = ascii_uppercase[: len(texts)]
    if record.get("gold") not in tuple(letters):
        raise BabelscopeError(
            f"field 'gold' must be the letter of the right translation, {', '.join(letters)}"
        )
    # Each is compared with the one after it, so that no one of them is the measure of the others.
    shown = (
        _block(f"Translation {letter}", text, "judged", _difference(text, other))
        for letter, text, other in zip(letters, texts, (*texts[1:], texts[0]), strict=True)
    )
    right = (Label(letter, f"Only translation {letter} is right.") for letter in letters)
    return {"blocks": (_source(record), *shown), "labels": (*right, *GUIDES["choice"].labels)}


def _translations(record: Mapping[str, Any]) -> tuple[str, ...]:
    found = record.get("translations")
    if not isinstance(found, list) or not _are_texts(found) or len(found) < 2:
        raise BabelscopeError("field 'translations' must be a list of at least two texts")
    if len(found) > len(ascii_uppercase):
        raise BabelscopeError(
            f"a list of {len(found)} translations is too long to judge; {len(ascii_uppercase)} are the most"
        )
    return tuple(found)


_VIEWS: Mapping[str, Callable[[Mapping[str, Any]], View]] = {
    "machine-reference": _machine_reference,
    "mucow": _mucow,
    "winomt": _winomt,
    "challenge": _challenge,
    "extraction": lambda record: _challenge({**record, "translation": None}),
    # Without the reference: whoever sees it judges how near the translation is to it.
    "assessment": lambda record: {"blocks": (_source(record), _translation(record))},
    "ranking": lambda record: {"blocks": (_source(record),), "translations": _translations(record)},
    "choice": _choice,
}

# --- The queue of a challenge set: are the extracted dependencies real (section 4.3)? No system is involved --------


def is_challenge_set(path: Path) -> bool:
    """Whether a file has items of a challenge set, not lines to be judged, going by its first line."""
    _, first = next(iter(read_json_lines(path)), ("", {}))
    return "task" not in first and isinstance(first.get("dependencies"), list)


def queue_of_set(spec: str, *, n: int, distances: Sequence[int] = (), seed: int = 0) -> Drawn:
    """Dependencies of a challenge set to be judged: each phenomenon has its share of `n`.

    With `distances`, only those of exactly these, equally many per phenomenon and distance as far as there are
    (the paper: 1, 2 and 5). The same arguments give the same queue.
    """
    items = load(spec).items_of(ParallelSentence, what_for="judging an extraction")
    entries = [entry for item in items for entry in _entries(item, distances)]
    if not entries:
        wanted = f" of distance {', '.join(map(str, distances))}" if distances else ""
        raise BabelscopeError(
            f"{spec} has no dependency{wanted} whose two words are known, so that there is nothing to be judged"
        )

    def quotas(sizes: Mapping[Group, int]) -> Mapping[Group, int]:
        return dict.fromkeys(sizes, max(1, n // len(sizes))) if distances else share_out(sizes, n)

    lines = draw(entries, quotas, seed=seed, name="extraction")
    known = {entry.unit[0] for entry in entries}
    return Drawn(lines, len(entries), sum(item.id not in known for item in items))


def _entries(item: ParallelSentence, distances: Sequence[int]) -> Iterable[Entry]:
    """Every dependency of an item between two words that are known; reordering is between two languages."""
    rules = {rule.name: rule.definition for rule in RULES}
    for number, found in enumerate(read_instances(item.extra, f"item {item.id}")):
        words = shown_words(item.extra["dependencies"][number])
        if not words.keys() >= set(_ENDS) or unit_of(found.phenomenon) != unit_of(""):
            continue
        if distances and found.distance not in distances:
            continue
        shown: Record = {"source": item.source, "phenomenon": found.phenomenon, **words}
        if item.references:
            shown["reference"] = item.references[0]
        if definition := rules.get(found.phenomenon):
            shown["question"] = f"Do the marked words form this construction: {definition}?"
        key = digest_json([item.id, number, shown])[:16]
        # The page shows neither the item nor the distance.
        line: Record = {"id": key, "task": "extraction", **shown, "item": item.id, "distance": found.distance}
        of_distance = (f"{found.distance:g}",) if distances else ()
        yield Entry(line, (item.id, number), (found.phenomenon, found.side, *of_distance))


# --- The queue of a validation study (conditioning paper, appendix E): drawn by what a matcher could decide --------

UNDECIDED, DECIDED, UNJUDGED = "undecided", "decided", "unjudged"
"""Strata: what a matcher could not decide, what it could, and what no matcher has judged."""


def records_of(path: Path, *, method: str = "", tests: str = "", systems: Sequence[str] = ()) -> list[Record]:
    """The records of one method and test set: of a run folder, or of a file of records."""
    if path.is_dir():
        return records_of_run(path, method=method, tests=tests, systems=systems)[1]
    if method or tests:
        raise BabelscopeError(f"--method and --of-tests only apply to a run folder, and {path} is a file")
    found: list[Record] = []
    for place, record in read_json_lines(path):
        if not isinstance(record.get("method"), str) or record["method"] not in method_names():
            raise BabelscopeError(f"{place} is no record of a run")
        if found and record["method"] != found[0]["method"]:
            raise BabelscopeError(f"{place} is of {record['method']}, the first of {found[0]['method']}")
        if "unanswered" not in record and (not systems or record.get("system") in systems):
            found.append(dict(record))
    if not found:
        raise BabelscopeError(f"{path} has no records{' of these systems' if systems else ''}")
    return found


def records_of_translations(tests: str, translations: Path) -> list[Record]:
    """One's own translations of a test set of ambiguous sources, as records that nothing has judged yet."""
    items = load(tests).items_of(AmbiguousSource, what_for="sampling translations")
    given = read_translations(translations)
    matched = match_translations(items, given, what=str(translations), skip_missing=True)
    return [
        {
            "method": "condition",
            "system": translations.name,
            "tests": tests,
            "id": item.id,
            "source": item.source,
            "translation": given[number].translation,
            "verdict": UNJUDGED,
            "skipped": "not judged",
            "category": item.category,
            "gold": item.gold,
            "extra": dict(item.extra),
            "under_correct": [{"source": text} for text in item.correct_sources],
            "under_incorrect": [{"source": text} for text in item.incorrect_sources],
        }
        for item, number in zip(items, matched, strict=True)
        if number is not None
    ]


def draw_sample(
    records: Sequence[Record],
    *,
    by: Iterable[LocatedRecord] | None = None,
    n: int = 200,
    most: int | None = None,
    corpora: Sequence[str] = (),
    assume_decided: bool = False,
    seed: int = 0,
) -> tuple[list[Record], dict[str, int]]:
    """Lines to be judged, and the number of translations in each stratum that they are drawn from.

    At most `n` translations that a matcher left undecided, and the same share of the decided; without any undecided,
    `n` of all. In each stratum every category has its share. `by` are the matcher's records; without them the records
    are its own. `corpora`: only items of these corpora or domains, such as `in` (the paper's in-domain items).
    `assume_decided` draws none that the matcher decided: they are taken to be right.
    """
    records = _of_corpora(records, corpora)
    method = find_method(records[0]["method"])
    entries = all_entries(method(restore_settings(method, {})), records)
    if not entries:
        raise BabelscopeError(f"none of these {len(records)} records has anything to be judged")
    strata = _strata(records, by)
    stratified = [
        replace(each, unit=_key(each.line), group=(strata[_key(each.line)], *each.group)) for each in entries
    ]
    counted = Counter(each.group[0] for each in stratified)
    sizes = {name: counted[name] for name in (UNDECIDED, DECIDED, UNJUDGED) if counted[name]}
    if assume_decided and UNDECIDED not in sizes:
        raise BabelscopeError(
            "every translation was decided, so that --set assume_decided=yes leaves none to judge"
        )
    first = next(iter(sizes.values()))
    share = min(1.0, n / first)
    if most is not None:
        share = min(share, most / (first if assume_decided else sum(sizes.values())))

    def quotas(groups: Mapping[Group, int]) -> dict[Group, int]:
        found: dict[Group, int] = {}
        for stratum, size in sizes.items():
            wanted = 0 if assume_decided and stratum == DECIDED else max(1, round(share * size))
            found |= share_out({group: own for group, own in groups.items() if group[0] == stratum}, wanted)
        return found

    lines = draw(stratified, quotas, seed=seed, name=f"{method.name}/validation")
    decided = "assumed" if assume_decided else "judged"
    return [
        {**line, "stratum": (own := strata[_key(line)]), "stratum_size": sizes[own], "decided": decided}
        for line in lines
    ], sizes


def _of_corpora(records: Sequence[Record], corpora: Sequence[str]) -> Sequence[Record]:
    """The records whose item has one of these names as its `corpus` or `domain`, and none of `not:NAME`."""
    if not corpora:
        return records
    known = [
        {str(value) for name in ("corpus", "domain") if (value := _get(record, name)) is not None}
        for record in records
    ]
    wanted = {each for each in corpora if not each.startswith("not:")}
    others = {each.removeprefix("not:") for each in corpora} - wanted
    if strange := (wanted | others) - set().union(*known):
        there = ", ".join(sorted(set().union(*known))[:10]) or "none"
        raise BabelscopeError(f"no item is of the corpus or domain {min(strange)!r}; there are {there}")
    return [
        record
        for record, own in zip(records, known, strict=True)
        if (own & wanted or not wanted) and not own & others
    ]


def _strata(records: Sequence[Record], by: Iterable[LocatedRecord] | None) -> dict[tuple[str, str], str]:
    """Id and system -> whether the matcher could decide the translation."""
    if by is None and records[0].get("verdict") == UNJUDGED:
        return dict.fromkeys(map(_key, records), UNJUDGED)
    own = ((f"item {record.get('id')}", record) for record in records)
    matcher = MethodVerdicts(own if by is None else by)
    found = {}
    for record in records:
        verdict = matcher.find(*_key(record), record.get("translation"))
        if verdict is None:
            raise BabelscopeError(
                f"item {record['id']}: the matcher has no verdict on the translation of {record.get('system')}"
            )
        found[_key(record)] = UNDECIDED if verdict.value is None else DECIDED
    return found


def _key(record: Mapping[str, Any]) -> tuple[str, str]:
    return str(record["id"]), str(record.get("system", ""))


def share_among(lines: Sequence[Record], annotators: Sequence[str], overlap: int) -> list[Record]:
    """The lines with those who judge them: all judge the first `overlap`, the others take turns.

    The lines of a queue are in random order, so that the first are a sample of all.
    """
    if len(annotators) < 2:
        raise BabelscopeError("--overlap requires several annotators; name each with --annotator")
    return [
        dict(line) if number < overlap else {**line, "annotators": [annotators[number % len(annotators)]]}
        for number, line in enumerate(lines)
    ]
