"""The cache: never a wrong answer, whatever happens to the file, the disk or the process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import random
import resource
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from babelscope.core.system import (
    Asked,
    Budget,
    Question,
    Scored,
    Target,
    Unanswered,
    as_question,
    capabilities,
    sources_of,
)
from babelscope.systems import cache as cached_module
from babelscope.systems.cache import cached, default_path
from babelscope.systems.contract import ask_translate
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, RefusedText
from tests.support.enumerated import Enumerated
from tests.support.killing import Killer
from tests.support.toys import ToySystem

PAIRS = [(f"a{number}", "ab" * (number % 4)) for number in range(30)]


class Counting(ToySystem):
    """Remembers what it was asked."""

    def __init__(self, name: str = "toy", *, salt: str = "") -> None:
        super().__init__(name, salt=salt)
        self.batches: list[Sequence[object]] = []

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        self.batches.append([(as_question(asked).source, target) for asked, target in pairs])
        return super().score(pairs)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        self.batches.append(sources_of(questions))
        return super().translate(questions, beam=beam, n_best=n_best)

    def detokenize(self) -> str:
        return "passed through"


def test_only_what_is_new_is_asked_once_and_in_order(tmp_path):
    inner = Counting()
    system = cached(inner, tmp_path / "cache")
    assert system.score(PAIRS[:3]) == ToySystem().score(PAIRS[:3])
    again = [PAIRS[4], PAIRS[1], PAIRS[3], PAIRS[4]]
    assert system.score(again) == ToySystem().score(again)
    assert inner.batches == [PAIRS[:3], [PAIRS[4], PAIRS[3]]]
    assert cached(inner, tmp_path / "cache").score(again) == ToySystem().score(again)
    assert len(inner.batches) == 2
    assert system.score([]) == []


def test_every_option_of_a_question_counts(tmp_path):
    inner = Counting()
    system = cached(inner, tmp_path / "cache")
    for options in ({"beam": 5}, {"beam": 4}, {"beam": 5, "n_best": 3}):
        for _ in range(2):
            assert system.translate(["a b"], **options) == inner.__class__().translate(["a b"], **options)
    assert len(inner.batches) == 3
    drawn = [system.sample(["a b"], n=n, seed=seed) for n, seed in ((3, 0), (3, 1), (2, 0), (3, 0))]
    assert drawn[0] == drawn[3] == inner.sample(["a b"], n=3, seed=0)
    assert drawn[1] != drawn[0]


def test_searches_are_remembered_with_their_certificates(tmp_path):
    inner = Enumerated()
    system = cached(inner, tmp_path / "cache")
    small = Budget(expansions=2)
    asked = [(2, None), (2, small), (3, None), (1000, None)]
    first = [system.top_k(["a", "b"], k=k, budget=budget) for k, budget in asked]
    inner.salt = "another"  # what is asked from now on would be answered in another way
    assert [system.top_k(["a", "b"], k=k, budget=budget) for k, budget in asked] == first
    assert first == [Enumerated().top_k(["a", "b"], k=k, budget=budget) for k, budget in asked]
    assert first[3][0].bound == -math.inf
    assert not first[1][0].exact or first[1][0].expansions == 2


def test_a_text_and_its_tokens_are_different_questions(tmp_path):
    inner = Counting()
    system = cached(inner, tmp_path / "cache")
    whole = Scored("ab", ("ab", "</s>"), (-1.0, -1.0))
    pairs: list[tuple[str, Target]] = [("a", "ab"), ("a", whole)]
    for _ in range(2):
        text, tokens = system.score(pairs)
        assert text.tokens == ("a", "b", "</s>")
        assert tokens.tokens == ("ab", "</s>")
        assert tokens.logprobs[0] == -math.inf
    assert len(inner.batches) == 1


def test_one_model_is_never_served_the_answer_of_another(tmp_path):
    one, two = (cached(ToySystem(salt=salt), tmp_path / "cache") for salt in ("1", "2"))
    assert one.score(PAIRS) != two.score(PAIRS)
    assert one.score(PAIRS) == ToySystem(salt="1").score(PAIRS)
    assert two.score(PAIRS) == ToySystem(salt="2").score(PAIRS)


def test_a_cached_system_is_the_system(tmp_path):
    inner = Counting("someone")
    system = cached(inner, tmp_path / "cache")
    assert (system.name, system.fingerprint) == ("someone", inner.fingerprint)
    assert capabilities(system) == capabilities(inner) == {"translate", "score", "sample"}
    assert system.detokenize() == "passed through"
    with pytest.raises(AttributeError):
        _ = system.nothing


def test_by_default_it_lies_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("BABELSCOPE_CACHE", str(tmp_path / "deep" / "cache"))
    cached(ToySystem()).score(PAIRS)
    assert (tmp_path / "deep" / "cache").exists()
    monkeypatch.delenv("BABELSCOPE_CACHE")
    assert default_path().name == "answers.sqlite"


def changed(path: Path, statement: str) -> None:
    """A cache of ours that somebody has changed."""
    cached(ToySystem(), path).score(PAIRS[:2])
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


def another(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE photos (name TEXT)")


TRIGGER = "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END"
UNUSABLE, OTHER = "cannot be used as a cache", "is a database of something else"
DAMAGED, FORMAT = "is damaged.*move it away or delete it", "was made by {}; delete it, and its answers will"
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_bytes(b"not a database" * 100), DAMAGED),
    "torn": (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096), DAMAGED),
    "link": (lambda path: path.symlink_to(path.with_name("mine")), UNUSABLE),
    "pipe": (os.mkfifo, UNUSABLE),
    "folder": (Path.mkdir, UNUSABLE),
    "trigger": (lambda path: changed(path, TRIGGER), OTHER),
    "photos": (another, OTHER),
    "older": (lambda path: changed(path, "PRAGMA user_version = 2"), FORMAT.format("an older version")),
    "newer": (lambda path: changed(path, "PRAGMA user_version = 4"), FORMAT.format("a newer version")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_refused_and_left(tmp_path, name):
    make, told = REFUSED[name]
    path = tmp_path / "cache"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(BabelscopeError, match=told) as caught:
        cached(ToySystem(), path)
    assert caught.value.exit_code == 2
    assert before is None or path.read_bytes() == before
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("path", ["file/cache", "/proc/cache"])
def test_a_folder_that_cannot_be_written_is_told(tmp_path, path):
    (tmp_path / "file").touch()
    with pytest.raises(BabelscopeError, match=UNUSABLE):
        cached(ToySystem(), tmp_path / path)


def test_damage_in_the_middle_is_told_and_never_served(tmp_path):
    pairs: list[tuple[str, Target]] = [(f"a{number}", "abc" * 9) for number in range(200)]
    right = ToySystem().score(pairs)
    cached(ToySystem(), tmp_path / "whole").score(pairs)
    with sqlite3.connect(tmp_path / "whole") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (tmp_path / "whole").read_bytes()
    dice = random.Random(0)
    told: list[str] = []
    dropped = 0
    for number in range(30):
        place = dice.randrange(4096, len(whole) - 64)
        path = tmp_path / f"damaged{number}"
        damaged = whole[:place] + dice.randbytes(64) + whole[place + 64 :]
        path.write_bytes(damaged)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                assert cached(ToySystem(), path).score(pairs) == right
            except BabelscopeError as error:
                told.append(str(error))
                assert path.stat().st_size >= len(damaged)
        dropped += any("do not fit their questions" in str(each.message) for each in caught)
    assert all("is damaged" in sentence for sentence in told)
    assert told
    assert dropped > 10


@pytest.mark.parametrize(
    "change",
    [
        "answer = x'fffe'",
        "answer = '[]', digest = 'HERE'",
        """answer = '{"text": "a", "tokens": ["a"], "logprobs": [7], "notes": []}', digest = 'HERE'""",
        "answer = '{', digest = 'HERE'",
    ],
)
def test_rows_that_do_not_fit_are_dropped_and_asked_again(tmp_path, change):
    """Also those whose check fits them, as anybody who can write the file can make it."""
    cached(ToySystem(), tmp_path / "cache").score(PAIRS[:2])
    with sqlite3.connect(tmp_path / "cache") as database:
        if "HERE" in change:
            answer = change.partition("'")[2].partition("', digest")[0]
            for (key,) in database.execute("SELECT key FROM answers").fetchall():
                check = hashlib.sha256(f"{key}{answer}".encode()).hexdigest()
                database.execute(
                    "UPDATE answers SET answer = ?, digest = ? WHERE key = ?", (answer, check, key)
                )
        else:
            database.execute(f"UPDATE answers SET {change}")
    inner = Counting()
    with pytest.warns(RuntimeWarning, match="do not fit their questions; they are asked again"):
        assert cached(inner, tmp_path / "cache").score(PAIRS[:2]) == ToySystem().score(PAIRS[:2])
    assert inner.batches == [PAIRS[:2]]
    assert cached(inner, tmp_path / "cache").score(PAIRS[:2]) == ToySystem().score(PAIRS[:2])
    assert len(inner.batches) == 1


def test_it_is_its_owner_s_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("BABELSCOPE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "babelscope"
    folder.mkdir(mode=0o755)
    (folder / "answers.sqlite").touch(mode=0o644)
    for path in (None, tmp_path / "new" / "cache"):
        cached(ToySystem(), path).score(PAIRS[:2])
    for each in (folder, tmp_path / "new"):
        assert each.stat().st_mode & 0o777 == 0o700
        for file in each.iterdir():
            assert file.stat().st_mode & 0o777 == 0o600


def test_what_another_version_of_ours_answered_is_not_served(tmp_path, monkeypatch):
    inner = Counting()
    for version in (cached_module.ANSWERS_VERSION, cached_module.ANSWERS_VERSION + 1):
        monkeypatch.setattr(cached_module, "ANSWERS_VERSION", version)
        for _ in range(2):
            cached(inner, tmp_path / "cache").score(PAIRS[:2])
    assert len(inner.batches) == 2


def test_on_a_full_disk_answers_still_come_with_one_warning(tmp_path):
    system = cached(ToySystem(), tmp_path / "cache")
    system.score(PAIRS[:2])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers = [system.score(PAIRS[start : start + 10]) for start in range(0, 30, 10)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [answer for batch in answers for answer in batch] == ToySystem().score(PAIRS)
    assert len(caught) == 1
    assert "continuing without it" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert system.score(PAIRS) == ToySystem().score(PAIRS)
    inner = Counting()
    assert cached(inner, tmp_path / "cache").score(PAIRS) == ToySystem().score(PAIRS)
    assert inner.batches == []


def hammer(path: str, report: str, rounds: str) -> None:
    """In another process: ask in an order of its own, and note what was wrong."""
    right = dict(zip(PAIRS, ToySystem().score(PAIRS), strict=True))
    system = cached(ToySystem(), path)
    dice = random.Random()
    wrong = 0
    for _ in range(int(rounds)):
        some = dice.sample(PAIRS, 7)
        wrong += system.score(some) != [right[pair] for pair in some]
        # Always something new to write.
        fresh = [(f"b{dice.random()}", "abc") for _ in range(20)]
        wrong += system.score(fresh) != ToySystem().score(fresh)
    if wrong:
        Path(report).write_text(f"{wrong} wrong answers")


def check(path: Path) -> int:
    """How many answers a sound file holds."""
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not database.execute("SELECT * FROM sqlite_master").fetchall():
            return 0  # killed before the table was made
        rows = database.execute("SELECT request, answer FROM answers").fetchall()
    for request, answer in rows:
        asked = json.loads(request)
        (right,) = ToySystem().score([(asked["source"], asked["target"])])
        assert json.loads(answer)["logprobs"] == list(right.logprobs)
    return len(rows)


def test_killed_again_and_again_the_file_stays_sound(tmp_path, toy_folders):
    dice = random.Random(1)
    path = tmp_path / "cache"
    kills = 0
    with Killer(f"{__name__}:hammer", toy_folders) as killer:
        held = 0
        for _ in range(25):
            killed = not killer.run(
                str(path), str(tmp_path / "report"), "100000", kill_after=dice.uniform(0, 0.15)
            )
            kills += killed
            if path.exists() and killed:
                now = check(path)
                assert now >= held
                held = now
    assert kills == 25
    assert held > 0
    assert not (tmp_path / "report").exists()
    assert cached(ToySystem(), path).score(PAIRS) == ToySystem().score(PAIRS)


def test_four_processes_at_once_never_disagree(tmp_path, toy_folders):
    with contextlib.ExitStack() as stack:
        killers = [stack.enter_context(Killer(f"{__name__}:hammer", toy_folders)) for _ in range(4)]
        for number in range(3):  # a new file each time, so that all create it
            arguments = (str(tmp_path / f"cache{number}"), str(tmp_path / "report"), "10")
            threads = [threading.Thread(target=killer.run, args=arguments) for killer in killers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert check(tmp_path / f"cache{number}") >= 4 * 10 * 20
    assert not (tmp_path / "report").exists()


def test_a_file_of_translations_is_its_own_memory(tmp_path):
    """Without sources it can be asked for as a whole only, so remembering parts of it would break it."""
    (tmp_path / "out").write_text("eins\nzwei\n", encoding="utf-8")
    system = cached(open_system(f"file:{tmp_path / 'out'}"), tmp_path / "cache")
    for _ in range(2):
        assert [group[0].text for group in system.translate(["one", "one"])] == ["eins", "zwei"]


def test_another_context_is_another_question(tmp_path):
    inner = Counting()
    system = cached(inner, tmp_path / "cache")
    asked = ["a", Question("a", ("before",)), Question("a"), Question("a", target_language="de")]
    for _ in range(2):
        system.translate(asked)
    system.score([(asked[0], "b"), (asked[1], "b")])
    assert inner.batches == [["a", "a", "a"], [("a", "b"), ("a", "b")]]


def test_a_refused_text_has_the_number_it_was_asked_with(tmp_path):
    system = cached(ToySystem(), tmp_path / "cache")
    system.translate(["a", "b"])
    with pytest.raises(RefusedText, match=r"^source 3 is empty") as caught:
        system.translate(["a", "b", "", "c", ""])
    assert (caught.value.side, caught.value.number) == ("source", 3)


def test_an_unanswered_question_has_the_index_it_was_asked_with(tmp_path):
    class Silent(ToySystem):
        def translate(self, questions: Sequence[Asked], **how: int) -> list[list[Scored]]:
            if lost := [index for index, source in enumerate(sources_of(questions)) if source == "lost"]:
                raise Unanswered(dict.fromkeys(lost, "no answer"))
            return super().translate(questions, **how)

    system = cached(Silent(), tmp_path / "cache")
    system.translate(["a", "b"])
    asked = [Question(source, item=f"item {number}") for number, source in enumerate(["b", "c", "lost"])]
    with pytest.raises(Unanswered) as caught:
        ask_translate(system, asked)
    assert (caught.value.reasons, caught.value.items) == ({2: "no answer"}, {"item 2": "no answer"})
