"""WMT news test sets: the XML files of 2021 and later, and their JSON lines.

www.statmt.org/wmt: the organizers ask for a citation. The XML has documents with their original language
(`origlang`), domain, references by several translators and system outputs; sentences keep the one before as context.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from babelscope.testsets.formats.shared import Row, collect
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_bytes

_MOST = 64 << 20


def read_wmt(path: str | Path, *, translator: str = "") -> TestSet:
    """Read a WMT XML file: its sentences with all references, or those of one translator."""
    reader = _Reader(Path(path), translator)
    rows = reader.read()
    if not rows:
        who = f" by translator {translator}" if translator else ""
        raise BabelscopeError(f"{path} has no sentences with a reference{who}")
    return collect(Path(path).stem, iter(rows))


class _Reader:
    """Collects sentences while the XML is parsed; entities are refused, so that none can grow or read files."""

    def __init__(self, path: Path, translator: str) -> None:
        self.path, self.translator = path, translator
        self.rows: list[Row] = []
        self.document: dict[str, str] = {}
        self.languages: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self.references: dict[str, list[str]] = {}
        self.side = ""
        self.segment: str | None = None
        self.text: list[str] = []

    def read(self) -> list[Row]:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(read_bytes(self.path, most=_MOST), True)
        except expat.ExpatError as error:
            raise BabelscopeError(f"{self.path} is not XML: {error}") from None
        return self.rows

    def _refuse(self, *_: Any) -> None:
        raise BabelscopeError(f"{self.path} declares entities, which test sets do not need")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "doc":
            self.document = {
                key: attributes[key] for key in ("id", "origlang", "domain") if key in attributes
            }
            self.sources, self.references, self.languages = {}, {}, {}
        elif name == "src":
            self.side = "source"
            self.languages["source_language"] = attributes.get("lang", "")
        elif name == "ref":
            wanted = not self.translator or attributes.get("translator") == self.translator
            self.side = "reference" if wanted else ""
            if wanted:
                self.languages["target_language"] = attributes.get("lang", "")
        elif name == "hyp":
            self.side = ""
        elif name == "seg":
            self.segment, self.text = attributes.get("id", ""), []

    def _characters(self, text: str) -> None:
        if self.segment is not None:
            self.text.append(text)

    def _end(self, name: str) -> None:
        if name == "seg" and self.segment is not None:
            text = " ".join("".join(self.text).split())
            if self.side == "source":
                self.sources[self.segment] = text
            elif self.side == "reference":
                self.references.setdefault(self.segment, []).append(text)
            self.segment = None
        elif name in ("src", "ref", "hyp"):
            self.side = ""
        elif name == "doc":
            self.rows += self._sentences()

    def _sentences(self) -> Iterator[Row]:
        before = ""
        document = self.document.get("id", "")
        for segment, source in self.sources.items():
            own = self.references.get(segment, [])
            if own:
                yield (
                    f"{self.path}: document {document}, segment {segment}",
                    {
                        "id": f"{document}/{segment}",
                        "source": source,
                        "reference": own,
                        **{side: code for side, code in self.languages.items() if code},
                        **({"context_source": [before]} if before else {}),
                        **{key: value for key, value in self.document.items() if key != "id"},
                    },
                )
            before = source
