"""The method: its parts under one name."""

from __future__ import annotations

from babelscope.methods.base import Method
from babelscope.testsets.items import ParallelSentence
from babelscope_parrot.echo.ask import ask
from babelscope_parrot.echo.figures import comparable, summarize
from babelscope_parrot.echo.judge import judge
from babelscope_parrot.echo.queue import queue
from babelscope_parrot.echo.settings import EchoSettings

METHOD = Method(
    name="echo",
    summary="how often systems repeat the source instead of translating it",
    kind=ParallelSentence,
    settings=EchoSettings,
    ask=ask,
    judge=judge,
    summarize=summarize,
    asks=frozenset({"beam"}),
    comparable=comparable,
    view="babelscope_parrot.echo.view:VIEW",
    queue=queue,
)
