"""Rules over Universal Dependencies that find lexical phenomena (long-distance paper, section 4.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from babelscope.core.registry import did_you_mean
from babelscope.language.ud import Tree, Word
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_toml

RESERVED = ("all", "reordering", "reordering_normalised", "reordering_crossing")
"""Names that no rule may have: the whole set, and phenomena that are found by alignment."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a word must match: one of the values of each field that is given, and all of `features`."""

    relation: tuple[str, ...] = ()
    """Relation to its head; `obl` also matches its subtypes (`obl:arg`)."""
    upos: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    lemma: tuple[str, ...] = ()
    form: tuple[str, ...] = ()

    def fits_tags(self, word: Word) -> bool:
        """Whether relation, part of speech and features match; they take few values, so callers cache the answer."""
        return (
            (not self.relation or any(f"{word.deprel}:".startswith(f"{each}:") for each in self.relation))
            and (not self.upos or word.upos in self.upos)
            and set(self.features).issubset(word.feats.split("|"))
        )

    def fits_words(self, word: Word) -> bool:
        """Whether language-specific tag, lemma and form match."""
        return (
            (not self.xpos or word.xpos in self.xpos)
            and (not self.lemma or word.lemma in self.lemma)
            and (not self.form or word.form in self.form)
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A phenomenon: a dependent and its head that match two patterns."""

    name: str
    definition: str
    dependent: Pattern
    head: Pattern = Pattern()
    languages: tuple[str, ...] = ()
    """Languages in which it is used unless rules are asked for by name; empty for all."""
    label: str = ""
    """A few plain words for a reader who has not read the papers; the name if empty."""


_VERB = Pattern(upos=("VERB", "AUX"))
RULES = (
    Rule(
        "particle",
        "a verb and its particle: give ... up, lädt ... ein",
        Pattern(relation=("compound:prt", "prt")),
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
        self._known: dict[tuple[str, str, str], tuple[Rule, ...]] = {}

    def __call__(self, tree: Tree, side: str) -> list[Instance]:
        """The instances of a tree, in the order of their dependents."""
        found = []
        self.trees += 1
        self.without_features += all(word.feats == "_" for word in tree.words)
        self.without_verb += not any(map(_may_be_finite, tree.words))
        for word in tree.words:
            tags = (word.deprel, word.upos, word.feats)
            if (rules := self._known.get(tags)) is None:
                rules = tuple(rule for rule in self.rules if rule.dependent.fits_tags(word))
                self._known[tags] = rules
            for rule in rules:
                if rule.dependent.fits_words(word) and self._fits_head(rule.head, tree, word):
                    head = tree.words[word.head - 1].form if word.head else ""
                    between = abs(word.id - word.head) - 1
                    found.append(Instance(rule.name, side, word.head, word.id, between, head, word.form))
        return found

    def blind_rules(self) -> list[str]:
        """Names of rules that could not match, since no tree seen has features."""
        blind = self.trees and self.without_features == self.trees
        return [r.name for r in self.rules if blind and (r.dependent.features or r.head.features)]

    def _fits_head(self, pattern: Pattern, tree: Tree, word: Word) -> bool:
        if not word.head:
            return self.roots and pattern == Pattern()
        head = tree.words[word.head - 1]
        return pattern.fits_tags(head) and pattern.fits_words(head)


def _may_be_finite(word: Word) -> bool:
    """Whether a word is a finite verb, or a verb of which the parser does not say what form it is."""
    form = next((each for each in word.feats.split("|") if each.startswith("VerbForm=")), "VerbForm=Fin")
    return word.upos in ("VERB", "AUX") and "Fin" in form


def choose_rules(
    names: Iterable[str] = (), *, language: str | None = None, more: Sequence[Rule] = (), strict: bool = False
) -> list[Rule]:
    """The rules of these names (`stranding` is enough); without names, those for the language.

    `more` are the user's rules, which replace ours of the same name. `strict` affects only ours.
    """
    ours = [replace(rule, head=_VERB) for rule in RULES] if strict else RULES
    known = {rule.name: rule for rule in (*ours, *more)}
    if not (asked := list(dict.fromkeys(names))):
        return [
            rule
            for rule in known.values()
            if not rule.languages or language is None or language in rule.languages
        ]
    chosen = []
    for name in asked:
        fitting = [each for each in known if each == name or each.endswith(f"_{name}")]
        if not fitting:
            hint = did_you_mean(name, [*known, *RESERVED[1:]], f"known are {', '.join(known)}", cutoff=0.4)
            raise BabelscopeError(f"there is no phenomenon {name!r}; {hint}")
        chosen.append(known[name if name in fitting else fitting[0]])
    return chosen


def read_rules(path: str | Path) -> list[Rule]:
    """Read rules from a TOML file: a table for each, with the patterns of dependent and head as tables."""
    content = read_toml(path)
    if not content:
        raise BabelscopeError(f"{path} has no rules; a rule is a table such as [light_verb]")
    return [_rule(name, table, path) for name, table in content.items()]


def _rule(name: str, table: Any, path: str | Path) -> Rule:
    where = f"{path}: rule {name!r}"
    if not isinstance(table, Mapping):
        raise BabelscopeError(f"{where} must be a table, [{name}]")
    if name in RESERVED:
        raise BabelscopeError(f"{where}: this name is taken")
    keys = [field.name for field in dataclasses.fields(Rule) if field.name not in ("name", "label")]
    _check_keys(table, keys, where)
    definition = table.get("definition", name)
    if not isinstance(definition, str):
        raise BabelscopeError(f"{where}: definition must be text")
    made = Rule(
        name,
        definition,
        _pattern(table.get("dependent", {}), f"{where}: dependent"),
        _pattern(table.get("head", {}), f"{where}: head"),
        _texts(table.get("languages", []), f"{where}: languages"),
    )
    if made.dependent == Pattern():
        raise BabelscopeError(f"{where} must say what the dependent is like, or it matches every word")
    return made


def _pattern(table: Any, where: str) -> Pattern:
    if not isinstance(table, Mapping):
        raise BabelscopeError(f'{where} must be a table, such as {{ relation = ["obj"] }}')
    _check_keys(table, [field.name for field in dataclasses.fields(Pattern)], where)
    return Pattern(**{name: _texts(value, f"{where}: {name}") for name, value in table.items()})


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"known are {', '.join(known)}")
            raise BabelscopeError(f"{where} knows no {key!r}; {hint}")


def _texts(value: Any, where: str) -> tuple[str, ...]:
    """A list of texts; a single text is accepted too."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        raise BabelscopeError(f"{where} must be text or a list of texts")
    return tuple(values)
