"""Lexical phenomena as rules over Universal Dependencies: which word depends on which (section 4.2)."""

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
"""Names that are not for rules: the whole set, and what is found by alignment."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a word must be like: of each field given, one of its values (of `features`, all of them)."""

    relation: tuple[str, ...] = ()
    """To its head; `obl` stands for its subtypes too (`obl:arg`)."""
    upos: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    lemma: tuple[str, ...] = ()
    form: tuple[str, ...] = ()

    def fits_tags(self, word: Word) -> bool:
        """Relation, part of speech and features: few values in a corpus, so the answer is remembered."""
        return (
            (not self.relation or any(f"{word.deprel}:".startswith(f"{each}:") for each in self.relation))
            and (not self.upos or word.upos in self.upos)
            and set(self.features).issubset(word.feats.split("|"))
        )

    def fits_words(self, word: Word) -> bool:
        """Language-specific tag, lemma and form."""
        return (
            (not self.xpos or word.xpos in self.xpos)
            and (not self.lemma or word.lemma in self.lemma)
            and (not self.form or word.form in self.form)
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A phenomenon: a dependent and its head, each of a certain kind."""

    name: str
    definition: str
    dependent: Pattern
    head: Pattern = Pattern()
    languages: tuple[str, ...] = ()
    """Where it is looked for without being asked for by name; empty: in all."""
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
"""As the paper has them; the released code matches the same words on any UD tree."""

RuleSet = Literal["sound", "released", "strict"]
"""sound: as above, between two words. released: a root counts too, as depending on a word 0, which is how the
published sets were made. strict: the head must be a verb, which the paper says but does not ask for."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A phenomenon in a sentence: two positions from 1, and the words between them."""

    phenomenon: str
    side: str
    """Which text it is in: source or target."""
    head: int
    dependent: int
    distance: float
    head_form: str
    dependent_form: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Finder:
    """Finds what rules describe. With `roots`, a root depends on a word 0, as in the released code."""

    def __init__(self, rules: Sequence[Rule], *, roots: bool = False) -> None:
        self.rules = tuple(rules)
        self.roots = roots
        self.trees = 0
        self.without_features = 0
        """How many of the trees seen have no word with features; rules that ask for features are blind there."""
        self._known: dict[tuple[str, str, str], tuple[Rule, ...]] = {}

    def __call__(self, tree: Tree, side: str) -> list[Instance]:
        """The instances of a tree, in the order of their dependents."""
        found = []
        self.trees += 1
        self.without_features += all(word.feats == "_" for word in tree.words)
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
        """Rules that could not find anything, since no tree seen has features."""
        blind = self.trees and self.without_features == self.trees
        return [r.name for r in self.rules if blind and (r.dependent.features or r.head.features)]

    def _fits_head(self, pattern: Pattern, tree: Tree, word: Word) -> bool:
        if not word.head:
            return self.roots and pattern == Pattern()
        head = tree.words[word.head - 1]
        return pattern.fits_tags(head) and pattern.fits_words(head)


def choose_rules(
    names: Iterable[str] = (), *, language: str | None = None, more: Sequence[Rule] = (), strict: bool = False
) -> list[Rule]:
    """The rules of these names (`stranding` is enough); without names, those for the language.

    `more` are a user's own; one that has the name of a rule of ours takes its place. `strict` is about ours.
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
    """Rules of a TOML file: a table each, with dependent and head as tables of what they must be like."""
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
    """A list of texts; one text alone will do."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        raise BabelscopeError(f"{where} must be text or a list of texts")
    return tuple(values)
