"""FLORES (Goyal et al. 2022, NLLB Team 2024) and NTREX (Federmann et al. 2022): one text in many languages.

CC BY-SA 4.0. Folders with a line-parallel file per language: FLORES-200's devtest/ has eng_Latn.devtest (1,012 lines;
dev/ has 997), NTREX-128 newstest2019-src.eng.txt and newstest2019-ref.deu.txt (1,997 lines).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, parallel_lines
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_DOCUMENTS = "DOCUMENT_IDS.tsv"
_LETTERS = (
    "ara ces deu ell eng fin fra heb hin ita jpn kor nld pol por ron rus spa swe tha tur ukr zho",
    "ar cs de el en fi fr he hi it ja ko nl pl pt ro ru es sv th tr uk zh",
)
_TWO_LETTERS = dict(zip(*(codes.split() for codes in _LETTERS), strict=True))
"""Codes that languages have elsewhere; others keep their three letters."""


def read_flores(spec: str | Path) -> TestSet:
    """Read `FOLDER,SOURCE,TARGET` with languages as the files have them: eng_Latn,deu_Latn or eng,deu."""
    folder, *languages = str(spec).rsplit(",", 2)
    if len(languages) != 2 or not all(languages):
        raise BabelscopeError(f"a folder and two languages are needed, such as {folder},eng_Latn,deu_Latn")
    if not os.path.isdir(folder):
        raise BabelscopeError(f"{folder}: no such folder")
    files = [_file(Path(folder), code) for code in languages]
    return collect(f"{Path(folder).resolve().name}-{'-'.join(languages)}", _rows(files, languages))


def _file(folder: Path, code: str) -> Path:
    found = [path for path in sorted(folder.iterdir()) if code in path.name.split(".")]
    # NTREX has a second Spanish reference, newstest2019-ref-2.spa.txt.
    found = [path for path in found if "-ref-2." not in path.name]
    if len(found) != 1:
        many = f"has several files of {code}" if found else f"has no file of {code}"
        raise BabelscopeError(f"{folder} {many}, such as {code}.devtest or newstest2019-ref.{code}.txt")
    return found[0]


def _rows(files: list[Path], languages: list[str]) -> Iterator[Row]:
    """With the ids of documents, which NTREX has in the folder above, the sentence before is the context."""
    ids = [
        path for path in (files[0].parent / _DOCUMENTS, files[0].parent.parent / _DOCUMENTS) if path.is_file()
    ]
    before: list[str] = []
    document = ""
    for number, place, (source, target, *named) in parallel_lines(*files, *ids[:1]):
        same = bool(named) and named[0] == document
        sides = {"context_source": before[:1], "context_target": before[1:]} if same else {}
        document = named[0] if named else ""
        before = [source, target]
        fields = {"id": str(number), "source": source, "reference": target, **sides}
        codes = [_TWO_LETTERS.get(each[:3], each[:3]) for each in languages]
        both = dict(zip(("source_language", "target_language"), codes, strict=True))
        yield place, {**fields, **both, **({"document": document} if document else {})}
