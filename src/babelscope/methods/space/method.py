"""What a model believes beyond its 1-best: its most probable translations, its samples, and how well it ranks them.

Paper: hypothesis-space. Systems are asked for the exact k best, for beam search's k best and for samples; each
hypothesis is given a quality against the references; kRG and kQRG say how well probability orders quality.
"""

from __future__ import annotations

from babelscope.core.comparable import Comparable
from babelscope.methods.base import Method
from babelscope.methods.space.ask import ask
from babelscope.methods.space.compare import mbr_correlations
from babelscope.methods.space.figures import figures
from babelscope.methods.space.judge import judge
from babelscope.methods.space.settings import SpaceSettings, identity
from babelscope.testsets.items import ParallelSentence


def comparable(settings: SpaceSettings) -> list[Comparable]:
    """Gains of ranking in each region, where a sentence has them; by each further metric, too."""
    names = [f"{region}_{measure}" for region in ("top", "beam", "samples") for measure in ("krg", "kqrg")]
    return [
        *(Comparable(name, "ranking gain", name) for name in names),
        *(
            Comparable(("gains", metric, name), "ranking gain", f"{name} by {metric}")
            for metric in settings.metric[1:]
            for name in names
        ),
    ]


METHOD = Method(
    name="space",
    version=4,
    summary="the k most probable translations and samples: empty modes, kRG and kQRG, beam search's errors",
    kind=ParallelSentence,
    settings=SpaceSettings,
    ask=ask,
    judge=judge,
    summarise=figures,
    chunk=16,  # exact search, beams and samples of an item take seconds
    asks=frozenset({"k", "samples", "beam", "budget_expansions", "budget_seconds", "budget_bytes"}),
    needs={"system": ("translate", "score", "sample", "top_k")},
    instead=dict.fromkeys(("translate", "score", "sample", "top_k"), "regions"),
    identity=identity,
    comparable=comparable,
    across=mbr_correlations,
    view="babelscope.methods.space.view:VIEW",
    queue="babelscope.methods.space.queue:queue",
)
