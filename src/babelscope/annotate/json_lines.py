"""Files of things to judge: JSON lines of bounded size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from babelscope.util.errors import BabelscopeError, at
from babelscope.util.json_lines import Row, parse_json
from babelscope.util.text import reading, shorten

LARGEST_FILE = 256 * 2**20  # bytes; all of it goes to the browser, or is held to be compared
LONGEST_LINE = 16 * 2**20  # bytes


def read_objects(path: str | Path) -> Iterator[Row]:
    """The JSON objects of a file, one a line; a line or file that is too large is refused before it is held."""
    with reading(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise BabelscopeError(
                f"{path} is larger than {LARGEST_FILE // 2**20} MB, the most that can be judged; split it"
            )
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                raise BabelscopeError(
                    f"{at(path, number)} is longer than {LONGEST_LINE // 2**20} MB, the most for one line"
                )
            record = parse_json(line, path, number)
            if not isinstance(record, dict):
                raise BabelscopeError(
                    f"{at(path, number)}: each line must be a JSON object, not {shorten(line.decode().strip())}"
                )
            yield at(path, number), record
