"""What annotators answered: one file each, appended to and synced at every answer; the last answer counts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babelscope.annotate.queue import GUIDES, LARGEST_FILE, Task, read_tasks
from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.files import append_synced, is_at, open_locked, open_regular
from babelscope.util.text import LocatedRecord, parse_json, read_json_lines, shorten, text_fault

Answer = Mapping[str, Any]
"""`label` and perhaps `correction`, or `score`, or `scores` and `overall`."""

LONGEST_CORRECTION = 5000
LONGEST_LINE = 2**20  # bytes; what a page can send is far below, and so are ids

_FIELDS = ("id", "item", "task", "annotator")
_START = b'{"id": "'  # of every line that `save` writes
_ANSWERS = re.compile(r"(.+)\.answers\.[^.]+\.jsonl")


@dataclass(frozen=True, slots=True)
class Answered:
    """One line of an answer file."""

    id: str
    item: str
    """The digest of what was judged."""
    task: str
    annotator: str
    system: str
    answer: Answer


def check_names(annotators: Sequence[str]) -> None:
    """Refuse names that cannot be in a file name, and names whose files would be the same on a disk without case."""
    seen: dict[str, str] = {}
    for name in annotators:
        if not name or len(name) > 40 or not all(each.isalnum() or each in "-_" for each in name):
            raise BabelscopeError(
                f"an annotator's name has up to 40 letters, digits, - and _, unlike {shorten(name)}"
            )
        alike = unicodedata.normalize("NFKC", name).casefold()
        if alike in seen:
            raise BabelscopeError(
                f"the annotators {shorten(seen[alike])} and {shorten(name)} have names that are too much alike"
            )
        seen[alike] = name


def answer_path(items: Path, annotator: str) -> Path:
    """The path of an annotator's answers to a file of items: in the same folder."""
    check_names([annotator])
    return items.with_name(f"{items.name.removesuffix('.jsonl')}.answers.{annotator}.jsonl")


def find_answers(files: Sequence[Path]) -> list[Path]:
    """The answer files among some files, and those to items among them; empty if there are none."""
    found: dict[Path, list[Path]] = {}
    for path in files:
        if not path.is_file():
            raise BabelscopeError(f"{path}: no such file")
        start = f"{path.name.removesuffix('.jsonl')}.answers."
        to_items = (each for each in path.parent.iterdir() if each.name.startswith(start))
        is_answers = _ANSWERS.fullmatch(path.name)
        found[path] = [path] if is_answers else sorted(each for each in to_items if each.suffix == ".jsonl")
    without = [path for path, own in found.items() if not own]
    if without and len(without) < len(found):
        raise BabelscopeError(f"{without[0]} has no answers of `babelscope annotate`; the other files have")
    return list(dict.fromkeys(path for own in found.values() for path in own))


def check_answer(task: Task, answer: Any) -> dict[str, Any]:
    """The answer with its fields in order; raises if it is no answer to this task."""
    if not isinstance(answer, dict):
        raise BabelscopeError("an answer must be a JSON object")
    found = _check_form(task.kind, answer)
    if task.guide.form == "list" and len(found["scores"]) != len(task.translations):
        raise BabelscopeError(f"'scores' must be a list of {len(task.translations)}")
    if "label" in found:
        if found["label"] not in [label.value for label in task.labels]:
            raise BabelscopeError(f"{shorten(found['label'])} is no label of this item")
        if "correction" in answer and found["label"] == task.guide.corrected:
            found["correction"] = _correction(answer["correction"])
    unknown = answer.keys() - found.keys()
    if unknown:
        raise BabelscopeError(f"an answer to this item has no {sorted(unknown)[0]!r}")
    return found


def _check_form(kind: str, answer: Answer) -> dict[str, Any]:
    """The label, the score, or the scores of a list and the overall one, each of which may still be open."""
    form = GUIDES[kind].form if kind in GUIDES else "label"
    if form == "score":
        return {"score": _number(answer.get("score"), 0, 100)}
    if form == "list":
        scores, overall = answer.get("scores"), answer.get("overall")
        if not isinstance(scores, list):
            raise BabelscopeError("'scores' must be a list")
        # An unfinished list is stored as it is, so that nobody scores five translations twice.
        return {
            "scores": [None if score is None else _number(score, 0, 100) for score in scores],
            "overall": None if overall is None else _number(overall, 1, 5),
        }
    if not isinstance(answer.get("label"), str):
        raise BabelscopeError("'label' must be text")
    return {"label": answer["label"]}


def _number(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise BabelscopeError(f"a score must be a whole number from {low} to {high}")
    return value


def _correction(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_CORRECTION:
        raise BabelscopeError(f"a correction must be text of up to {LONGEST_CORRECTION} characters")
    text = " ".join(value.split())
    if fault := text_fault(text):
        raise BabelscopeError(f"the correction {fault}")
    return text


def is_complete(answer: Answer) -> bool:
    """Whether nothing is left open: a list needs all its scores and the overall one."""
    return None not in answer.values() and None not in answer.get("scores", ())


class AnswerFile:
    """An annotator's answers, held open by one process at a time; what `save` has returned from is on disk."""

    def __init__(self, items: Path, annotator: str, tasks: Sequence[Task]) -> None:
        self.path = answer_path(items, annotator)
        self.annotator = annotator
        other = f"continue there: {annotator} is already judging these items on another page"
        self._file = open_locked(self.path, instead=other)
        try:
            data = _read_all(self._file, self.path)
            # Parsed before anything is changed: a file that is no file of answers stays as it is.
            answered, self.torn = _parse_answers(data, self.path)
            """The start of an answer that was never confirmed, since its process was killed; it is cut off."""
            known = {task.digest for task in tasks}
            self.answers = {each.item: each.answer for each in answered.values() if each.item in known}
            self.unknown = len(answered) - len(self.answers)
            """Number of answers to items that the file does not have, or not any more."""
            self._end = len(data) - len(self.torn)
            if self.torn:
                os.ftruncate(self._file.fileno(), self._end)
            elif data and not data.endswith(b"\n"):
                self._append(b"\n")
        except BaseException:
            self._file.close()
            raise

    def save(self, task: Task, answer: Answer) -> None:
        """Append an answer and wait until it is on disk; one that is there already is not written again."""
        if self.answers.get(task.digest) == answer:
            return
        line = {
            "id": task.id,
            "item": task.digest,
            "task": task.kind,
            **({"system": task.system} if task.system else {}),
            "answer": answer,
            "annotator": self.annotator,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._append(json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self.answers[task.digest] = answer

    def _append(self, data: bytes) -> None:
        if not is_at(self._file, self.path) or os.fstat(self._file.fileno()).st_size != self._end:
            raise SystemFailure(
                f"{self.path} cannot be written: it was changed or moved by somebody else; start again"
            )
        append_synced(self._file, data, self._end)
        self._end += len(data)

    def close(self) -> None:
        """Release the file; one without answers is removed."""
        if os.fstat(self._file.fileno()).st_size == 0 and is_at(self._file, self.path):
            self.path.unlink(missing_ok=True)
        self._file.close()


def read_annotators(paths: Sequence[Path]) -> dict[str, dict[str, Answered]]:
    """The last answers of each annotator, by name and item; an annotator may have answered several files."""
    found: dict[str, dict[str, Answered]] = {}
    for path in paths:
        for item, each in read_answers(path).items():
            found.setdefault(each.annotator, {})[item] = each
    if not found:
        raise BabelscopeError(f"{paths[0]} has no answers yet")
    return found


def items_of(paths: Sequence[Path]) -> dict[str, Task]:
    """The items in the folders of answer files, by digest, as far as they are there."""
    found: dict[str, Task] = {}
    for path in paths:
        named = _ANSWERS.fullmatch(path.name)
        items = path.with_name(f"{named[1]}.jsonl") if named else path
        if items == path or not items.exists():
            continue
        for kind in {each.task for each in read_answers(path).values()}:
            # Lines without `task` were given one with --task; that of other lines need not fit them.
            with contextlib.suppress(BabelscopeError):
                found |= {task.digest: task for task in read_tasks(items, kind)}
    return found


def read_judged(path: Path) -> Iterator[LocatedRecord]:
    """A queue's answers as commands that made it read them: `id`, `answer` (the label), perhaps `correction`.

    `path` is an annotator's answer file, or the queue itself with `answer` filled in by hand.
    """
    if not _ANSWERS.fullmatch(path.name):
        yield from read_json_lines(path, most=LARGEST_FILE)
        return
    for each in read_answers(path).values():
        more = {name: value for name, value in each.answer.items() if name != "label"}
        yield str(path), {"id": each.id, "answer": each.answer.get("label"), **more}


def read_answers(path: Path) -> dict[str, Answered]:
    """The last answer to each item, by the digest of the item, in the order of the first answers."""
    with open_regular(path) as file:
        return _parse_answers(_read_all(file, path), path)[0]


def _read_all(file: io.FileIO, path: Path) -> bytes:
    if os.fstat(file.fileno()).st_size > LARGEST_FILE:
        raise BabelscopeError(
            f"{path} is larger than {LARGEST_FILE // 2**20} MB, the most for a file of answers"
        )
    try:
        return file.readall()
    except OSError as error:
        raise SystemFailure(f"{path} cannot be read: {error.strerror}") from error


def _parse_answers(data: bytes, path: Path) -> tuple[dict[str, Answered], bytes]:
    """The last answer to each item, by its digest; and the part of a last line that was torn off."""
    *lines, last = data.split(b"\n")
    torn = last if _is_torn(last) else b""
    if last and not torn:
        lines.append(last)  # complete except for its newline: an editor, or a kill
    found: dict[str, Answered] = {}
    for number, line in enumerate(lines, 1):
        place = at(path, number)
        if len(line) > LONGEST_LINE:
            raise BabelscopeError(f"{place} is longer than {LONGEST_LINE:,} bytes, so it is not an answer")
        each = _parse_line(parse_json(line, path, number), place)
        found[each.item] = each
    return found, torn


def _is_torn(line: bytes) -> bool:
    """Whether a line without its newline is the start of one that `save` writes."""
    if not line or len(line) > LONGEST_LINE or not (line.startswith(_START) or _START.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _parse_line(record: Any, place: str) -> Answered:
    """An answer; its item may be gone, so that its labels are unknown."""
    fields = record if isinstance(record, dict) else {}
    missing = sorted({*_FIELDS, "answer"} - fields.keys())
    if missing or not isinstance(fields["answer"], dict):
        reason = f": {missing[0]!r} is missing" if missing and isinstance(record, dict) else ""
        raise BabelscopeError(f"{place} is no answer{reason}")
    try:
        checked = _check_form(str(fields["task"]), fields["answer"])
    except BabelscopeError as error:
        raise BabelscopeError(f"{place}: {error}") from None
    texts = {name: str(fields[name]) for name in _FIELDS}
    return Answered(**texts, system=str(fields.get("system", "")), answer={**fields["answer"], **checked})
