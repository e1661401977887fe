"""Test sets: their items, their formats, and the public ones by name."""

from babelscope.testsets.items import (
    AmbiguousSource,
    Dependency,
    Item,
    MinimalPair,
    ParallelSentence,
    SourceSentence,
    TestSet,
    read_items,
)
from babelscope.testsets.loading import Format, formats, load

__all__ = [
    "AmbiguousSource",
    "Dependency",
    "Format",
    "Item",
    "MinimalPair",
    "ParallelSentence",
    "SourceSentence",
    "TestSet",
    "formats",
    "load",
    "read_items",
]
