"""WMT test sets: XML (2021 and later), SGM (before), and the JSON lines of WMT24++.

www.statmt.org/wmt and huggingface.co/datasets/google/wmt24pp (Apache-2.0): the organizers ask for a citation. XML and
SGM have documents with their original language (`origlang`) and, where stated, domain; XML has references by several
translators and system outputs, too. Sentences keep the one before as context.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from babelscope.testsets.formats.shared import Row, collect, field
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_bytes, read_json_lines

_MOST = 64 << 20
_SGM = re.compile(r"<(?P<tag>srcset|refset|doc|seg)\b(?P<attributes>[^>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*["']([^"']*)["']""")


def read_wmt(path: str | Path, *, translator: str = "") -> TestSet:
    """Read a WMT XML file (all references, or those of one translator), JSON lines, or `SOURCE.sgm,REFERENCE.sgm`."""
    first, *others = str(path).split(",")
    if first.endswith((".sgm", ".jsonl")):
        if translator:
            raise BabelscopeError(f"{path}: translator= only applies to XML, which names translators")
        skipped: dict[str, int] = {}
        rows = _read_json_lines(first, skipped) if first.endswith(".jsonl") else _read_sgm(first, others)
        return collect(Path(first).stem, rows, skipped)
    sentences = _Reader(Path(path), translator).read()
    if not sentences:
        who = f" by translator {translator}" if translator else ""
        raise BabelscopeError(f"{path} has no sentences with a reference{who}")
    return collect(Path(path).stem, sentences)


def _read_json_lines(path: str, skipped: dict[str, int]) -> Iterator[Row]:
    before: dict[str, list[str]] = {}
    document = None
    for number, (place, row) in enumerate(read_json_lines(path), 1):
        source, target = (" ".join(field(row, name, place).split()) for name in ("source", "target"))
        before, document = before if row.get("document_id") == document else {}, row.get("document_id")
        source_code, _, target_code = str(row.get("lp", "")).partition("-")
        codes = {"source_language": source_code, "target_language": target_code.partition("_")[0]}
        fields = {"id": str(number), "source": source, "reference": target, **before}
        named = {
            name: row[name] for name in ("domain", "document_id", "lp") if isinstance(row.get(name), str)
        }
        if row.get("is_bad_source"):
            skipped["is_bad_source"] = skipped.get("is_bad_source", 0) + 1
            continue
        yield place, {**fields, **{name: code for name, code in codes.items() if code}, **named}
        before = {"context_source": [source], "context_target": [target]}


def _read_sgm(path: str, references: list[str]) -> Iterator[Row]:
    if not references:
        raise BabelscopeError(f"{path} has sources or references alone: write SOURCE.sgm,REFERENCE.sgm")
    sources, *targets = (_segments(Path(each)) for each in (path, *references))
    before = ("", "")
    for key, (number, text, known) in sources.items():
        own = [side[key][1] for side in targets if key in side]
        codes = {"source_language": known.get("srclang", "")}
        codes |= {"target_language": targets[0][key][2].get("trglang", "")} if key in targets[0] else {}
        fields: dict[str, Any] = {name: code for name, code in codes.items() if code not in ("", "any")}
        fields |= {name: known[name] for name in ("origlang", "genre") if name in known}
        if before[0] == key[0]:
            fields["context_source"] = [before[1]]
        before = (key[0], text)
        if own:
            yield at(path, number), {"id": "/".join(key), "source": text, "reference": own, **fields}


def _segments(path: Path) -> dict[tuple[str, str], tuple[int, str, dict[str, str]]]:
    """(document, segment) -> line, text, and what document and file say of it."""
    text = read_bytes(path, most=_MOST).decode("utf-8", "replace")
    found: dict[tuple[str, str], tuple[int, str, dict[str, str]]] = {}
    of_file: dict[str, str] = {}
    of_document: dict[str, str] = {}
    line, counted = 1, 0
    for match in _SGM.finditer(text):
        own = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(match["attributes"])}
        tag = match["tag"].lower()
        if tag == "seg":
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            stop = text.find("</seg>", match.end())
            if stop < 0:
                raise BabelscopeError(f"{at(path, line)}: a segment without its end")
            inside = html.unescape(" ".join(text[match.end() : stop].split()))
            key = (of_document.get("docid", ""), own.get("id", ""))
            found[key] = (line, inside, {**of_file, **of_document})
        elif tag == "doc":
            of_document = own
        else:
            of_file = own
    if not found:
        raise BabelscopeError(f"{path} has no segments")
    return found


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
