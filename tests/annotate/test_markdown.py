"""Guidelines in Markdown: what is shown of them, and that nothing in them is more than text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from babelscope.annotate.server import LARGEST, MarkdownBlock, parse_markdown, read_markdown
from babelscope.util.errors import BabelscopeError
from tests.annotate.annotating import HOSTILE


def test_headings_lists_quotations_and_code() -> None:
    text = """# Which *sense*?

Judge **one** word,
and `this` only.

- first
  goes on
  - deeper
2. numbered

> quoted
> twice

```
**not bold**
```
---
snake_case_name stays"""
    assert parse_markdown(text) == [
        MarkdownBlock("heading", [("Which ", ""), ("sense", "italic"), ("?", "")]),
        MarkdownBlock(
            "paragraph",
            [("Judge ", ""), ("one", "bold"), (" word, and ", ""), ("this", "code"), (" only.", "")],
        ),
        MarkdownBlock("bullet", [("first goes on", "")], "•", 0),
        MarkdownBlock("bullet", [("deeper", "")], "•", 1),
        MarkdownBlock("number", [("numbered", "")], "2.", 0),
        MarkdownBlock("quote", [("quoted twice", "")]),
        MarkdownBlock("code", [("**not bold**", "")]),
        MarkdownBlock("paragraph", [("snake_case_name stays", "")]),
    ]


def test_html_and_links_stay_text() -> None:
    (block,) = parse_markdown(f"{HOSTILE} [here](javascript:alert(1)) ![](x)")
    assert block.kind == "paragraph"
    assert "".join(text for text, _ in block.pieces) == f"{HOSTILE} [here](javascript:alert(1)) ![](x)"


@pytest.mark.parametrize("piece", ["*a", "**", "_a ", "`", "- ", "> ", "[", "- - "])
def test_no_text_takes_long(piece: str) -> None:
    began = time.process_time()
    parse_markdown(piece * (LARGEST // len(piece)))
    assert time.process_time() - began < 5


def test_what_is_no_guideline_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    path.write_text("\n\n")
    with pytest.raises(BabelscopeError, match="is empty"):
        read_markdown(path)
    path.write_text("x" * (LARGEST + 1))
    with pytest.raises(BabelscopeError, match="at most"):
        read_markdown(path)
