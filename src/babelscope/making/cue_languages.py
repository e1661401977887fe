"""Whether sources are in the language that cues are made in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from babelscope.language.fitness import check_language, other_language_of_set
from babelscope.testsets.items import AmbiguousSource


def check_source_languages(items: Sequence[AmbiguousSource]) -> None:
    """Refuse sources that are not in the language that the items say; warn where English rules read others."""
    named = {item.source_language for item in items if item.source_language}
    for language in sorted(named):
        own = [item.source for item in items if item.source_language == language]
        check_language(own, language, what="the sources", needed_by=f"items of {language}")
    if not named and (other := other_language_of_set([item.source for item in items], "en")):
        warnings.warn(
            f"the sources are in the language {other}; forms of words are found, and cues put in, by English rules",
            stacklevel=2,
        )
