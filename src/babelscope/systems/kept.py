"""A system whose answers are kept in a journal: work that was stopped goes on without asking them again.

Unlike a cache, it asks exactly what it is asked, call by call: batches, and with them floats, are those of the system
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from babelscope.core.answers import System, properties
from babelscope.systems.stored import Form, Stored
from babelscope.util.digests import digest_json
from babelscope.util.journal import Keep


class Kept(Stored):
    """Asked in the same order each time the work is begun; one call is one part of the journal."""

    def __init__(self, inner: System, keep: Keep) -> None:
        super().__init__(inner)
        self._keep = keep
        self.capabilities -= {"next_tokens"}
        # Not `at_once`: calls from several threads would come in any order.
        said = properties(inner)
        self.asked_as_a_whole, self.reads_context = said.asked_as_a_whole, said.reads_context
        self.length_penalty = said.length_penalty
        self.reads_source, self.reproducible = said.reads_source, said.reproducible

    def _answers(
        self,
        requests: Sequence[dict[str, Any]],
        asked: Sequence[Any],
        ask: Callable[[Sequence[Any]], list[Any]],
        form: Form,
    ) -> list[Any]:
        method = requests[0]["ask"] if requests else "ask"
        stored = self._keep(
            f"{method} {len(asked)} with {self.name} {digest_json(requests)[:16]}",
            lambda: [form.write(each) for each in ask(asked)],
        )
        return [form.read(each) for each in stored]
