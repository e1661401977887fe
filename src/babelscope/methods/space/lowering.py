"""The records of a run as those of a smaller k, for lists that people can judge (the paper's section 4 has k = 5)."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record
from babelscope.methods.space.settings import SpaceSettings


def lower(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The exact k best are the first of those that are stored; what another k would have changed is left out.

    A beam of width k would have found another list, and a search for k hypotheses would have taken fewer expansions.
    """
    return [
        {
            **record,
            "beam": [],
            "top": {
                **record["top"],
                "found": record["top"]["found"][: settings.k],
                "expansions": None,
                "minimum": None,
            },
            "missed_by": {**record["missed_by"], "beam-list": None},
        }
        for record in records
    ]
