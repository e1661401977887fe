"""What can be chosen about echoes; a field is an option of the command, and its docstring the help."""

from __future__ import annotations

from pydantic import Field

from babelscope.core.settings import Settings


class EchoSettings(Settings):
    beam: int = Field(default=5, ge=1)
    """Beam size of the system."""
    threshold: float = Field(default=0.5, ge=0, le=1)
    """A translation that has this share of the source's words is an echo."""
