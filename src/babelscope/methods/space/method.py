"""What a model believes beyond its 1-best: its most probable translations, its samples, and how well it ranks them.

Paper: hypothesis-space. Systems are asked for the exact k best, for beam search's k best and for samples; each
hypothesis is given a quality against the references; kRG and kQRG say how well probability orders quality.
"""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.answers import Capability, System, capabilities
from babelscope.core.comparable import Comparable
from babelscope.core.results import Record
from babelscope.methods.base import Method
from babelscope.methods.queue import Entry, entry
from babelscope.methods.space.ask import ask
from babelscope.methods.space.figures import figures, mbr_correlations
from babelscope.methods.space.judge import judge
from babelscope.methods.space.regions import region_hypotheses
from babelscope.methods.space.settings import SpaceSettings, check_references, identity, identity_on
from babelscope.systems.opening import require
from babelscope.testsets.items import ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError


def comparable(settings: SpaceSettings) -> list[Comparable]:
    """Gains of ranking in each region, where a sentence has them; by each further metric, too."""
    names = {
        f"{region}_{measure}": f"{measure},region={region},view=tokens"
        for region in ("top", "beam", "samples")
        for measure in ("krg", "kqrg")
    }
    return [
        *(Comparable(name, "ranking gain", name, of) for name, of in names.items()),
        *(
            Comparable(
                ("gains", metric, name), "ranking gain", f"{name} by {metric}", f"{of},metric={metric}"
            )
            for metric in settings.metric[1:]
            for name, of in names.items()
        ),
    ]


def check_system(system: System, _items: object, settings: SpaceSettings) -> None:
    """Refuse a system that cannot do what is asked; one that cannot be searched may still be sampled."""
    has = capabilities(system)
    if "regions" in has:  # lists made elsewhere, in the place of all this
        return
    searched: tuple[Capability, ...] = ("translate", "score", "top_k") if settings.k else ()
    swept: tuple[Capability, ...] = ("translate",) if settings.beams and not settings.k else ()
    drawn: tuple[Capability, ...] = ("sample",) if settings.samples else ()
    sure: tuple[Capability, ...] = ("translate", "score") if settings.confidence else ()
    try:
        require(system, *dict.fromkeys((*searched, *swept, *drawn, *sure)), what_for="space")
    except BabelscopeError as error:
        if "sample" in has and settings.samples:
            less = "leave confidence out, and" if settings.confidence else ""
            alone = "its samples can be judged alone: k = 0, or --k 0"
            raise BabelscopeError(f"{error}; {less}{' ' if less else ''}{alone}") from None
        raise


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


METHOD = Method(
    name="space",
    summary="the k most probable translations and samples: empty modes, kRG and kQRG, beam search's errors",
    kind=ParallelSentence,
    also=(SourceSentence,),
    check_items=check_references,
    settings=SpaceSettings,
    ask=ask,
    judge=judge,
    summarise=figures,
    chunk=16,  # exact search, beams and samples of an item take seconds
    asks=frozenset(
        {"k", "samples", "temperature", "top_p", "epsilon", "beam", "beams", "confidence"}
        | {"budget_expansions", "budget_seconds", "budget_bytes"}
    ),
    lowers=frozenset({"k"}),
    lower=lower,
    needs={"system": ()},
    check_system=check_system,
    identity=identity,
    identity_on=identity_on,
    comparable=comparable,
    across=mbr_correlations,
    view="babelscope.methods.space.view:VIEW",
    queue=queue,
)
