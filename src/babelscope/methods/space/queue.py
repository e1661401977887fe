"""How good is each of a model's most probable translations, and how good is their order (section 4)?"""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.queue import Entry, entry
from babelscope.methods.space.regions import region_hypotheses
from babelscope.methods.space.settings import SpaceSettings
from babelscope.util.errors import BabelscopeError

_LONGEST = 26


def queue(records: Sequence[Record], settings: SpaceSettings) -> list[Entry]:
    """The top region of each sentence in the model's order, where it has a kQRG to be compared with people's."""
    if settings.k > _LONGEST:
        raise BabelscopeError(
            f"lists of {settings.k} translations are too long to judge; {_LONGEST} are the most, so ask again with a "
            "smaller --k"
        )
    found = []
    for record in records:
        top = region_hypotheses(record, "top", settings.k, settings)
        if record["top_kqrg"] is not None and top is not None and len(top) > 1:
            found.append(entry(record, "ranking", translations=[each.text for each in top]))
    return found
