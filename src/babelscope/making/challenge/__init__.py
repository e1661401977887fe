"""Challenge sets for long-distance dependencies: reordering by alignment, lexical phenomena by parses."""

from babelscope.language.ud_rules import RULES, Finder, Instance, Pattern, Rule, choose_rules, read_rules
from babelscope.making.challenge.reading import Corpus
from babelscope.making.challenge.reordering import Limits, measure_order
from babelscope.making.challenge.search import Search, SearchSettings

__all__ = [
    "RULES",
    "Corpus",
    "Finder",
    "Instance",
    "Limits",
    "Pattern",
    "Rule",
    "Search",
    "SearchSettings",
    "choose_rules",
    "measure_order",
    "read_rules",
]
