"""Challenge sets for long-distance dependencies: reordering by alignment, lexical phenomena by parses."""

from babelscope.language.ud_rules import RULES, Finder, Instance, Pattern, Rule, choose_rules, read_rules
from babelscope.making.challenge.reading import Corpus
from babelscope.making.challenge.reordering import Limits, measure
from babelscope.making.challenge.search import Search, Wanted

__all__ = [
    "RULES",
    "Corpus",
    "Finder",
    "Instance",
    "Limits",
    "Pattern",
    "Rule",
    "Search",
    "Wanted",
    "choose_rules",
    "measure",
    "read_rules",
]
