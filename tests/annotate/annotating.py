"""Items of every kind, in sentences of our own, and the server as a process that can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.annotate.answers import AnswerFile, check_answer
from babelscope.annotate.queue import Task, read_tasks

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> "
    "'\"&amp; \u202eשלום עולם 🙈"
)

ITEMS: dict[str, dict[str, Any]] = {
    "machine-reference": {
        "source": "The unpopular plan was kept.",
        "translation": "Der beliebte Plan wurde beibehalten.",
        "correct": "Den unbeliebten Plan behielt man bei.",
        "contrastive": "Den beliebten Plan behielt man bei.",
        "phenomenon": "polarity_affix_del",
        "question": None,
        "answer": None,
        "correction": "Der unbeliebte Plan wurde beibehalten.",
    },
    "mucow": {
        "source": "He put the plates on the table.",
        "word": "plate",
        "translation": "Er legte die Kennzeichen auf den Tisch.",
        "correct_sense": ["teller"],
        "wrong_sense": ["kennzeichen", "nummernschild"],
    },
    "winomt": {
        "source": "The baker thanked the driver because she was late.",
        "translation": "Der Bäcker dankte der Fahrerin, weil sie zu spät kam.",
        "occupation": "baker",
        "gold": "female",
    },
    "challenge": {
        "source": "Er nahm das Angebot gestern an.",
        "reference": "He accepted the offer yesterday.",
        "translation": "He took the offer yesterday.",
        "phenomenon": "particle",
        "head": 2,
        "dependent": 6,
        "tokens": ["Er", "nahm", "das", "Angebot", "gestern", "an", "."],
    },
    "extraction": {
        "source": "Er nahm das Angebot gestern an.",
        "reference": "He accepted the offer yesterday.",
        "phenomenon": "particle",
        "head": "nahm",
        "dependent": "an",
        "distance": 3,
    },
    "assessment": {"source": "It is raining.", "translation": "Es regnet.", "reference": "SECRET"},
    "ranking": {
        "source": "It is raining again.",
        "translations": ["Es regnet wieder.", "", "Wieder Regen fällt es."],
    },
    "choice": {
        "source": "The unpopular plan was kept.",
        "translations": ["Der beliebte Plan blieb.", "Der unbeliebte Plan blieb."],
        "gold": "B",
    },
}
# What must stay on the server.
HIDDEN = {
    **dict.fromkeys(["system", "model", "verdict", "predicted", "score"], "SECRET"),
    "label": ["SECRET"],
}


def item(kind: str, number: int | str = 1, **fields: Any) -> dict[str, Any]:
    """An item of a kind, with all that an annotator must not see."""
    return {"task": kind, "id": f"SECRET-{number}", **ITEMS[kind], **HIDDEN, **fields}


def write_items(path: Path, items: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in items), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    """The answers in a file, every line of them, read without our own code."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def answer_all(
    queue: str | Path, annotator: str, answer: Callable[[Task], Any], kind: str | None = None
) -> list[Task]:
    """Answer an annotator's items as the page does, a label or more, None to skip one; gives the items."""
    tasks = [task for task in read_tasks(queue, kind) if task.is_for(annotator)]
    file = AnswerFile(Path(queue), annotator, tasks)
    for task in tasks:
        given = answer(task)
        if given is not None:
            file.save(task, check_answer(task, {"label": given} if isinstance(given, str) else given))
    file.close()
    return tasks


class Server:
    """`babelscope annotate` as a process."""

    def __init__(self, items: Path, annotator: str = "anna", *options: str) -> None:
        command = [sys.executable, "-m", "babelscope", "annotate", str(items), "--annotator", annotator]
        self.process = subprocess.Popen(
            [*command, "--no-open", "--json", *options], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.start: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.url: str = self.start["url"]

    def kill(self) -> None:
        """SIGKILL: it has no chance to clean up."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
