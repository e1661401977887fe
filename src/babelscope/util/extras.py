"""Optional packages: how a user installs an extra of Babelscope."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """How to install an extra, for messages; from a clone, since Babelscope is on no package index."""
    return f"pip install -e '.[{extra}]' (in the clone of Babelscope)"
