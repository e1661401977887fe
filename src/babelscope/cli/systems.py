"""`babelscope systems`: the kinds of systems, with an example of each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from babelscope.cli.common import AsJson, as_line, figures, output, paragraph
from babelscope.util.errors import install_hint

if TYPE_CHECKING:
    from babelscope.systems.registry import Scheme


def systems(as_json: AsJson = False) -> None:
    """List the kinds of systems, with examples."""
    from babelscope.systems.prompting.prompts import shipped_names
    from babelscope.systems.registry import load_schemes

    known, faults = load_schemes()
    rows = [_row(scheme) for scheme in known.values()]
    with output(None, figures(as_json)) as write:
        for row in rows:
            if as_json:
                write(as_line(row))
            else:
                write(paragraph(f"{row['scheme']}:  {row['summary']}"))
                write(paragraph(f"  example  {row['example']}"))
                write(paragraph(f"  can      {', '.join(row['capabilities'])}"))
                if row["prompts"]:
                    write(paragraph(f"  prompts  {', '.join(shipped_names())} (?prompt=, --set prompt)"))
                if not row["installed"]:
                    write(paragraph(f"  needs    {row['install']}"))
    for fault in faults:
        print(f"babelscope: {fault}", file=sys.stderr)


def _row(scheme: Scheme) -> dict[str, Any]:
    return {
        "scheme": scheme.name,
        "summary": scheme.summary,
        "example": scheme.example,
        "capabilities": sorted(scheme.capabilities),
        "prompts": bool(scheme.prompted),
        "installed": _installed(scheme.extra),
        "install": install_hint(scheme.extra) if scheme.extra else None,
    }


def _installed(extra: str) -> bool:
    """Whether the packages of an extra are installed, without importing them."""
    from importlib import metadata

    from packaging.requirements import Requirement

    for line in metadata.requires("babelscope") or [] if extra else []:
        requirement = Requirement(line)
        if requirement.marker and requirement.marker.evaluate({"extra": extra}):
            try:
                metadata.version(requirement.name)
            except metadata.PackageNotFoundError:
                return False
    return True
