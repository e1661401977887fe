"""`REGION=FILE?options` of a command line as the spec of a `lists:` system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from babelscope.core.specs import parse_options, split_options
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import whole_number

REGIONS = ("top", "beam")
"""What a list can be of: the most probable hypotheses of the whole space, or those that beam search found."""


def lists_spec(given: Sequence[str]) -> tuple[str, str, int | None]:
    """The spec, a name for rows and reports, and the k that the options say, if they do."""
    options: dict[str, str] = {}
    sizes: set[int | None] = set()
    for each in given:
        region, _, rest = each.partition("=")
        path, query = split_options(rest)
        if region not in REGIONS or not path:
            raise BabelscopeError(f"--nbest {each}: it must be top=FILE or beam=FILE")
        if region in options:
            raise BabelscopeError(f"--nbest {each}: there is a list of {region} already")
        own = parse_options(query)
        if "k" in own:
            size = whole_number(own.pop("k"))
            if size is None or size < 2:
                raise BabelscopeError(f"--nbest {each}: k is a whole number of at least 2")
            sizes.add(size)
        options[region] = path
        options |= {f"{region}_{name}": value for name, value in own.items()}
    if len(sizes) > 1:
        raise BabelscopeError("the lists of --nbest must have one k")
    query = "&".join(f"{name}={quote(value, safe='/')}" for name, value in options.items())
    name = ", ".join(f"{region}={PurePath(options[region]).name}" for region in REGIONS if region in options)
    return f"lists:?{query}", name, next(iter(sizes), None)
