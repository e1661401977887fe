"""Characters that steer or hide text, wherever it is shown."""

from __future__ import annotations

import re

HIDDEN: re.Pattern[str] = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters, tab and newline among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # of bidirectional text
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ufeff\ufff9-\ufffb"  # byte order mark, interlinear annotation
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff"  # lone surrogates
    "]"
)
"""One character that steers or hides text; joiners (ZWJ, ZWNJ), which many scripts are written with, are none."""
