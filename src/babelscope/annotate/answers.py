"""What annotators answered: one file each, appended to and synced at every answer, the last answer counts."""

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

from babelscope.annotate.items import GUIDES, LARGEST_FILE, Task, read_tasks
from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.files import append_synced, is_at, open_locked, open_regular
from babelscope.util.text import parse_json, read_json_lines, shorten, text_fault

Answer = Mapping[str, Any]
"""`label` and perhaps `correction`, or `score`, or `scores` and `overall`."""

LONGEST_CORRECTION = 5000
LONGEST_LINE = 2**20  # bytes; what a page can send is far below, and so are ids


@dataclass(frozen=True, slots=True)
class Answered:
    id: str
    item: str
    """The digest of what was judged."""
    task: str
    answer: Answer
    annotator: str
    system: str = ""
    time: str = ""


def check_name(annotator: str) -> str:
    """A name of an annotator that can be part of a file name."""
    if not annotator or len(annotator) > 40 or not all(each.isalnum() or each in "-_" for each in annotator):
        raise BabelscopeError(
            f"an annotator's name has up to 40 letters, digits, - and _, unlike {shorten(annotator)}"
        )
    return annotator


def check_names(annotators: Sequence[str]) -> None:
    """Names of annotators whose files are not one and the same, also on a disk that knows no case."""
    seen: dict[str, str] = {}
    for name in annotators:
        alike = unicodedata.normalize("NFKC", check_name(name)).casefold()
        if alike in seen:
            raise BabelscopeError(
                f"the annotators {shorten(seen[alike])} and {shorten(name)} have names that are too much alike"
            )
        seen[alike] = name


def answer_path(items: Path, annotator: str) -> Path:
    """Where an annotator's answers to a file of items are: beside it."""
    return items.with_name(f"{items.name.removesuffix('.jsonl')}.answers.{check_name(annotator)}.jsonl")


def answer_files(items: Path) -> list[Path]:
    """The files of all who have answered a file of items."""
    start, end = f"{items.name.removesuffix('.jsonl')}.answers.", ".jsonl"
    folder = items.parent
    return sorted(
        path for path in folder.iterdir() if path.name.startswith(start) and path.name.endswith(end)
    )


def check_answer(task: Task, answer: Any) -> dict[str, Any]:
    """The answer with its fields in order, or an error if it is none to this task."""
    if not isinstance(answer, dict):
        raise BabelscopeError("an answer must be a JSON object")
    found: dict[str, Any]
    if task.guide.form == "score":
        found = {"score": _number(answer.get("score"), 0, 100)}
    elif task.guide.form == "list":
        scores = answer.get("scores")
        if not isinstance(scores, list) or len(scores) != len(task.translations):
            raise BabelscopeError(f"'scores' must be a list of {len(task.translations)}")
        # An unfinished list is kept as it is, so that nobody scores five translations twice.
        found = _numbers_or_none(answer)
    else:
        found = {"label": answer.get("label")}
        if found["label"] not in [label.value for label in task.labels]:
            raise BabelscopeError(f"{shorten(str(found['label']))} is no label of this item")
        if "correction" in answer and found["label"] == task.guide.corrected:
            found["correction"] = _correction(answer["correction"])
    strange = answer.keys() - found.keys()
    if strange:
        raise BabelscopeError(f"an answer to this item has no {sorted(strange)[0]!r}")
    return found


def is_complete(answer: Answer) -> bool:
    """Whether nothing is left open: a list needs all its scores and the overall one."""
    return None not in answer.values() and None not in answer.get("scores", ())


def _numbers_or_none(answer: Answer) -> dict[str, Any]:
    """The scores of a list and the overall one, each perhaps still open."""
    overall = answer.get("overall")
    return {
        "scores": [None if score is None else _number(score, 0, 100) for score in answer["scores"]],
        "overall": None if overall is None else _number(overall, 1, 5),
    }


def _number(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise BabelscopeError(f"a score must be a whole number from {low} to {high}")
    return value


def _correction(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_CORRECTION:
        raise BabelscopeError(f"a correction must be text of up to {LONGEST_CORRECTION} characters")
    text = " ".join(value.split())
    fault = text_fault(text)
    if fault:
        raise BabelscopeError(f"the correction {fault}")
    return text


class AnswerFile:
    """An annotator's answers, held open by one process at a time; what `save` has returned from is on disk."""

    def __init__(self, items: Path, annotator: str, tasks: Sequence[Task]) -> None:
        self.path = answer_path(items, annotator)
        self.annotator = annotator
        other = f"go on there: {annotator} is already judging these items on another page"
        self._file = open_locked(self.path, instead=other)
        try:
            data = _read_all(self._file, self.path)
            # Understood before anything is changed: what is no file of answers stays as it is.
            answered, torn = parse_answers(data, self.path)
            known = {task.digest for task in tasks}
            self.answers = {each.item: each.answer for each in answered.values() if each.item in known}
            self.strange = len(answered) - len(self.answers)
            """How many answers are to items that the file does not have, or no more."""
            self.torn = torn
            """The start of an answer that was never confirmed, since its process was killed; it is cut off."""
            self._end = len(data)
            if torn:
                self._end -= len(torn)
                os.ftruncate(self._file.fileno(), self._end)
            elif data and not data.endswith(b"\n"):
                self._append(b"\n")
        except BaseException:
            self._file.close()
            raise

    def save(self, task: Task, answer: Answer) -> None:
        """Append an answer and wait until the disk has it; one that is there already is not written again."""
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
        """Release the file; one without answers is not left behind."""
        if os.fstat(self._file.fileno()).st_size == 0 and is_at(self._file, self.path):
            self.path.unlink(missing_ok=True)
        self._file.close()


def _read_all(file: io.FileIO, path: Path) -> bytes:
    if os.fstat(file.fileno()).st_size > LARGEST_FILE:
        raise BabelscopeError(
            f"{path} is larger than {LARGEST_FILE // 2**20} MB, the most for a file of answers"
        )
    try:
        return file.readall()
    except OSError as error:
        raise SystemFailure(f"{path} cannot be read: {error.strerror}") from error


def find_answers(files: Sequence[Path]) -> list[Path]:
    """The answer files among some files, and those to items among them; empty if there are none."""
    found: dict[Path, list[Path]] = {}
    for path in files:
        if not path.is_file():
            raise BabelscopeError(f"{path}: no such file")
        found[path] = [path] if _ANSWERS.fullmatch(path.name) else answer_files(path)
    strange = [path for path, own in found.items() if not own]
    if strange and len(strange) < len(found):
        raise BabelscopeError(
            f"{strange[0]} has no answers of `babelscope annotate`, as the other files have"
        )
    return list(dict.fromkeys(path for own in found.values() for path in own))


_ANSWERS = re.compile(r"(.+)\.answers\.[^.]+\.jsonl")


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
    """The items beside the answers, by digest, as far as they are there."""
    found: dict[str, Task] = {}
    for path in paths:
        named = _ANSWERS.fullmatch(path.name)
        items = path.with_name(f"{named[1]}.jsonl" if named else path.name)
        if items == path or not items.exists():
            continue
        for kind in {each.task for each in read_answers(path).values()}:
            # Lines without `task` were given one with --task; that of other lines need not fit them.
            with contextlib.suppress(BabelscopeError):
                found |= {task.digest: task for task in read_tasks(items, kind)}
    return found


def read_answers(path: Path) -> dict[str, Answered]:
    """The last answer to each item, by the digest of the item, in the order of the first answers."""
    with open_regular(path) as file:
        return parse_answers(_read_all(file, path), path)[0]


def parse_answers(data: bytes, path: Path) -> tuple[dict[str, Answered], bytes]:
    """The last answer to each item, by its digest; and what is there of a last line that was torn off."""
    *lines, last = data.split(b"\n")
    torn = last if _is_torn(last) else b""
    if last and not torn:
        lines.append(last)  # complete, but for its end: somebody's editor, or a kill
    found: dict[str, Answered] = {}
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise BabelscopeError(
                f"{at(path, number)} is longer than {LONGEST_LINE:,} bytes, so it is no answer"
            )
        each = _answered(parse_json(line, path, number), at(path, number))
        found[each.item] = each
    return found, torn


_START = b'{"id": "'


def _is_torn(line: bytes) -> bool:
    """Whether a line without its end is the beginning of one that `save` writes."""
    if not line or len(line) > LONGEST_LINE or not (line.startswith(_START) or _START.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _answered(record: Any, place: str) -> Answered:
    if not isinstance(record, dict):
        raise BabelscopeError(f"{place} is no answer")
    answer = record.get("answer")
    if not record.keys() >= _FIELDS or not isinstance(answer, dict):
        missing = sorted(_FIELDS - record.keys())
        raise BabelscopeError(f"{place} is no answer{f': {missing[0]!r} is missing' if missing else ''}")
    return Answered(
        str(record["id"]),
        str(record["item"]),
        str(record["task"]),
        _stored(str(record["task"]), answer, place),
        str(record["annotator"]),
        str(record.get("system", "")),
        str(record.get("time", "")),
    )


def _stored(task: str, answer: Answer, place: str) -> Answer:
    """A stored answer, or an error if no page has sent it; its item may be gone, so labels are not known."""
    form = GUIDES[task].form if task in GUIDES else "label"
    try:
        if form == "score":
            _number(answer.get("score"), 0, 100)
        elif form == "list":
            if not isinstance(answer.get("scores"), list):
                raise BabelscopeError("'scores' must be a list")
            return {**answer, **_numbers_or_none(answer)}
        elif not isinstance(answer.get("label"), str):
            raise BabelscopeError("'label' must be text")
    except BabelscopeError as error:
        raise BabelscopeError(f"{place}: {error}") from None
    return answer


_FIELDS = {"id", "item", "task", "answer", "annotator"}


def read_judged(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A queue's answers as its makers read them: `id`, `answer` (the label), perhaps `correction`.

    `path` is an annotator's answer file, or the queue itself with `answer` filled in by hand.
    """
    if not _ANSWERS.fullmatch(path.name):
        yield from read_json_lines(path, most=LARGEST_FILE)
        return
    for each in read_answers(path).values():
        said = {name: value for name, value in each.answer.items() if name != "label"}
        yield str(path), {"id": each.id, "answer": each.answer.get("label"), **said}
