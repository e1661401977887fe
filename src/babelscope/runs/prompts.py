"""A system asked by several prompts is several systems, one a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.systems.opening import with_prompt
from babelscope.systems.prompts import find_prompt
from babelscope.util.errors import BabelscopeError


def by_prompt(spec: str, name: str, prompts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Spec and name of the system under each prompt, and what the prompt is called; a name only if it has one."""
    found: dict[str, str] = {}
    named = []
    for said in prompts:
        prompt = find_prompt(said)
        if other := found.get(prompt.digest):
            raise BabelscopeError(f"two prompts are the same, {other} and {said}: leave one of them out")
        found[prompt.digest] = said
        called = prompt.name or prompt.digest[:8]
        named.append((with_prompt(spec, said), name and f"{name} [{called}]", called))
    return named
