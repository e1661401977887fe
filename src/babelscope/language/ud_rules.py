"""Rules over Universal Dependencies that find lexical phenomena (long-distance paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter, ValidationError

from babelscope.core.registry import did_you_mean
from babelscope.language.ud import Tree, Word, is_finite
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LARGEST_TOML, parse_toml, read_bytes, shorten

RESERVED = ("all", "reordering", "reordering_normalized", "reordering_crossing")
"""Names that no rule may have: the whole set, and phenomena that are found by alignment."""


_STRICT = {"extra": "forbid"}  # of rule files: unknown keys are refused


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a word must match: one of the values of each field that is given, and all of `features`."""

    __pydantic_config__: ClassVar = _STRICT

    relation: tuple[str, ...] = ()
    """Relation to its head; `obl` also matches its subtypes (`obl:arg`)."""
    upos: tuple[str, ...] = ()
    not_upos: tuple[str, ...] = ()
    """It has none of these."""
    features: tuple[str, ...] = ()
    """`PronType=Int` also matches one of several values (`PronType=Int,Rel`), `Number` any value."""
    xpos: tuple[str, ...] = ()
    lemma: tuple[str, ...] = ()
    form: tuple[str, ...] = ()

    def fits_tags(self, word: Word) -> bool:
        """Whether relation, part of speech and features match; they take few values, so callers cache the answer."""
        return (
            (not self.relation or any(f"{word.deprel}:".startswith(f"{each}:") for each in self.relation))
            and (not self.upos or word.upos in self.upos)
            and word.upos not in self.not_upos
            and (not self.features or _features(word).issuperset(self.features))
        )

    def fits(self, word: Word) -> bool:
        return self.fits_tags(word) and self.fits_words(word)

    def fits_words(self, word: Word) -> bool:
        """Whether language-specific tag, lemma and form match."""
        return (
            (not self.xpos or word.xpos in self.xpos)
            and (not self.lemma or word.lemma in self.lemma)
            and (not self.form or word.form in self.form)
        )


def _features(word: Word) -> set[str]:
    """Every feature as its name, and as `Name=Value` for each of its values; a finite verb is always marked."""
    found = {"VerbForm", "VerbForm=Fin"} if is_finite(word) else set()
    for feature in word.feats.split("|"):
        name, _, values = feature.partition("=")
        found |= {name, *(f"{name}={value}" for value in values.split(","))}
    return found


ANY = Pattern()
"""What every word matches."""
LONGEST = 1000
"""Words of the longest sentence in which a rule that looks beyond head and dependent is applied."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A phenomenon: a dependent and its head that match two patterns. Several rules may share a name."""

    __pydantic_config__: ClassVar = _STRICT

    name: str
    definition: str
    dependent: Pattern
    head: Pattern = ANY
    languages: tuple[str, ...] = ()
    """Languages in which it is used unless rules are asked for by name; empty for all."""
    label: str = ""
    """A few plain words for a reader who has not read the papers; the name if empty."""
    order: Literal["", "before", "after"] = ""
    """Where the dependent stands: before its head, after it, or anywhere."""
    siblings: bool = False
    """The head is not what the dependent depends on, but another word that depends on the same one."""
    interrupted: bool = False
    """Between them stands a word, not punctuation, that does not belong to the head: the arc is not projective."""
    contains: Pattern = ANY
    """The dependent, or a word that depends on it, matches this."""
    between: Pattern = ANY
    """A word between them matches this."""
    none_after: Pattern = ANY
    """No word that depends on the head (of siblings: on what both depend on) and follows both matches this."""
    none_later: Pattern = ANY
    """No word that depends on the head and follows the dependent matches this: of *ne ... pas*, *pas* counts."""

    @property
    def looks_further(self) -> bool:
        """Whether it looks at more words than head and dependent."""
        others = (self.contains, self.between, self.none_after, self.none_later)
        return self.siblings or self.interrupted or any(pattern != ANY for pattern in others)


_VERB = Pattern(upos=("VERB", "AUX"))
RULES = (
    Rule(
        "particle",
        "a verb and its particle: give ... up, lädt ... ein",
        # Some treebanks (Spanish PUD) give clitic pronouns this relation; they are no particles.
        Pattern(relation=("compound:prt", "prt"), not_upos=("PRON",)),
        label="verb and particle apart",
    ),
    Rule(
        "reflexive",
        "a reflexive pronoun and what it depends on: drängte ... sich",
        Pattern(features=("Reflex=Yes",)),
        label="a reflexive pronoun apart",
    ),
    Rule(
        "preposition_stranding",
        "a preposition without its object, and its verb: the box she looked ... into",
        Pattern(relation=("obl",), upos=("ADP",)),
        languages=("en",),
        label="a preposition without its object",
    ),
)
"""The rules of the paper; the released code matches the same words on any UD tree."""

RuleSet = Literal["sound", "released", "strict"]
"""sound: RULES, between two words. released: a root also counts, as depending on a word 0, as in the published sets.
strict: the head must be a verb, as the paper says, though its rules do not require it."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A phenomenon found in a sentence: head and dependent, positions from 1."""

    phenomenon: str
    side: str
    """The text it is in: source or target."""
    head: int
    dependent: int
    distance: float
    """Number of words between them; of reordering, in the unit of its measure."""
    head_form: str
    dependent_form: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Finder:
    """Finds instances of rules in trees. With `roots`, a root depends on a word 0, as in the released code."""

    def __init__(self, rules: Sequence[Rule], *, roots: bool = False) -> None:
        self.rules = tuple(rules)
        self.roots = roots
        self.trees = 0
        self.without_features = 0
        """How many of the trees seen have no features at all; rules on features cannot match there."""
        self.without_verb = 0
        """How many have no finite verb: headings, and sentences that the parser cannot read."""
        self.too_long = 0
        """How many have more than LONGEST words: rules that look further are not applied there."""
        self._known: dict[tuple[str, str, str], tuple[Rule, ...]] = {}

    def __call__(self, tree: Tree, side: str) -> list[Instance]:
        """The instances of a tree, in the order of their dependents."""
        found = []
        self.trees += 1
        self.without_features += all(word.feats == "_" for word in tree.words)
        self.without_verb += not any(map(_may_be_finite, tree.words))
        around = _Surroundings(tree) if any(rule.looks_further for rule in self.rules) else None
        self.too_long += around is not None and not around.children
        for word in tree.words:
            tags = (word.deprel, word.upos, word.feats)
            if (rules := self._known.get(tags)) is None:
                rules = tuple(rule for rule in self.rules if rule.dependent.fits_tags(word))
                self._known[tags] = rules
            for rule in rules:
                if rule.dependent.fits_words(word):
                    found += [
                        _instance(rule, word, head, side) for head in self._heads(rule, tree, word, around)
                    ]
        return list(dict.fromkeys(found))  # alternatives may find the same words

    def blind_rules(self) -> list[str]:
        """Names of rules that could not match, since no tree seen has features."""
        blind = self.trees and self.without_features == self.trees
        seeing = {r.name for r in self.rules if not (r.dependent.features or r.head.features)}
        return list(dict.fromkeys(r.name for r in self.rules if blind and r.name not in seeing))

    def _heads(
        self, rule: Rule, tree: Tree, word: Word, around: _Surroundings | None
    ) -> Iterator[Word | None]:
        """The heads of a dependent; None for the word 0."""
        if not word.head:
            if self.roots and rule.head == ANY and not rule.looks_further:
                yield None
            return
        governor = tree.words[word.head - 1]
        if not rule.looks_further:
            if rule.head.fits(governor) and _in_order(rule, word, governor):
                yield governor
            return
        assert around is not None
        if not around.children:
            return
        heads = (
            [each for each in around.children[governor.id] if each != word] if rule.siblings else [governor]
        )
        for head in heads:
            if (
                rule.head.fits(head)
                and _in_order(rule, word, head)
                and around.fit(rule, word, head, governor)
            ):
                yield head


class _Surroundings:
    """The words around a head and its dependent, for rules that look at more than these two."""

    def __init__(self, tree: Tree) -> None:
        self.words = tree.words
        self.children: dict[int, list[Word]] = {}
        """By word; empty in a sentence of more than LONGEST words."""
        if len(tree.words) <= LONGEST:
            self.children = {word: [] for word in range(len(tree.words) + 1)}
            for word in tree.words:
                self.children[word.head].append(word)

    def fit(self, rule: Rule, word: Word, head: Word, governor: Word) -> bool:
        """Whether the words around fit what a rule says of them; `governor` is what the dependent depends on."""
        first, last = sorted((word.id, head.id))
        between = self.words[first : last - 1]
        after = [each for each in self.children[governor.id] if each.id > last]
        later = [each for each in self.children[head.id] if each.id > word.id]
        return (
            (rule.contains == ANY or any(map(rule.contains.fits, (word, *self.children[word.id]))))
            and (rule.between == ANY or any(map(rule.between.fits, between)))
            and (rule.none_after == ANY or not any(map(rule.none_after.fits, after)))
            and (rule.none_later == ANY or not any(map(rule.none_later.fits, later)))
            # Of siblings, the word that both depend on belongs to the clause, too.
            and (rule.none_after == ANY or not rule.siblings or governor.id < last)
            and (not rule.interrupted or self._interrupted(between, head))
        )

    def _interrupted(self, between: Sequence[Word], head: Word) -> bool:
        own, open_ = {head.id}, [head.id]
        while open_:
            new = [each.id for each in self.children[open_.pop()]]
            own.update(new)
            open_ += new
        return any(each.id not in own and each.upos != "PUNCT" for each in between)


def _in_order(rule: Rule, word: Word, head: Word) -> bool:
    return not rule.order or (word.id < head.id) == (rule.order == "before")


def _instance(rule: Rule, word: Word, head: Word | None, side: str) -> Instance:
    place, form = (head.id, head.form) if head else (0, "")
    return Instance(rule.name, side, place, word.id, abs(word.id - place) - 1, form, word.form)


def _may_be_finite(word: Word) -> bool:
    """Whether a word is a finite verb, or a verb of which the parser does not say what form it is."""
    form = next((each for each in word.feats.split("|") if each.startswith("VerbForm=")), "VerbForm=Fin")
    return word.upos in ("VERB", "AUX") and "Fin" in form


def choose_rules(
    names: Iterable[str] = (), *, language: str | None = None, more: Sequence[Rule] = (), strict: bool = False
) -> list[Rule]:
    """The rules of these names (`stranding` is enough); without names, the paper's for the language.

    Where treebanks lack the features that the paper's rules go by, a stated language has others by lemma. `more` are
    the user's rules, which replace ours of the same name. `strict` affects only the paper's and these.
    """
    papers = {rule.name for rule in RULES}
    by_lemma = [rule for rule in shipped_rules() if rule.name in papers and language in rule.languages]
    ours = [replace(rule, head=_VERB) if strict else rule for rule in (*RULES, *by_lemma)]
    known = {**_by_name(ours), **_by_name(more)}
    if not (asked := list(dict.fromkeys(names))):
        every = [rule for own in known.values() for rule in own]
        return [rule for rule in every if not rule.languages or language in (None, *rule.languages)]
    known = {**_by_name(shipped_rules()), **known}
    chosen = []
    for name in asked:
        fitting = [each for each in known if each == name or each.endswith(f"_{name}")]
        if not fitting:
            hint = did_you_mean(name, [*known, *RESERVED[1:]], f"known are {', '.join(known)}", cutoff=0.4)
            raise BabelscopeError(f"there is no phenomenon {name!r}; {hint}")
        own = known[name if name in fitting else fitting[0]]
        # Alternatives for other languages would look for words that this one does not have.
        chosen += [rule for rule in own if not rule.languages or language in (None, *rule.languages)] or own
    return chosen


def _by_name(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.name, []).append(rule)
    return found


_MOST_RULES = 200
_LONGEST_NAME = 100
_RULE = TypeAdapter(Rule)


def read_rules(path: str | Path) -> list[Rule]:
    """Read rules from a TOML file: a table `[name]` a rule, or `[[name]]` for each of several alternatives."""
    content = parse_toml(read_bytes(path, most=LARGEST_TOML), path)
    if not content:
        raise BabelscopeError(f"{path} has no rules; a rule is a table such as [light_verb]")
    made = []
    for name, value in content.items():
        tables = value if isinstance(value, list) and value else [value]
        made += [_rule(name, table, f"{path}: rule {shorten(name)}") for table in tables]
    if len(made) > _MOST_RULES:
        raise BabelscopeError(f"{path} has {len(made)} rules; at most {_MOST_RULES} are read")
    return made


@cache
def shipped_rules() -> list[Rule]:
    """The rules of the package beyond the paper's (`rules/more.toml`), which are looked for by name only."""
    with as_file(files("babelscope.language") / "rules" / "more.toml") as path:
        return read_rules(path)


def _rule(name: str, table: Any, place: str) -> Rule:
    if not isinstance(table, Mapping):
        raise BabelscopeError(f"{place} must be a table, [{name}]")
    if name in RESERVED:
        raise BabelscopeError(f"{place}: this name is taken")
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise BabelscopeError(f"{place}: a rule has a name of at most {_LONGEST_NAME} characters")
    # A single text is accepted where a list of texts is expected.
    fields = {
        key: {own: [each] if isinstance(each, str) else each for own, each in value.items()}
        if isinstance(value, Mapping)
        else value
        for key, value in table.items()
    }
    try:
        rule = _RULE.validate_python({"definition": name, "dependent": {}, **fields, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        raise BabelscopeError(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if rule.dependent == ANY:
        raise BabelscopeError(f"{place} must say what the dependent is like, or it matches every word")
    return rule
