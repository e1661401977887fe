"""WinoMT by alignment and morphology: rules on sentences of our own, and the published confusion matrices."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.results import Record, Result
from babelscope.language.align import Links
from babelscope.language.registry import lemmatize
from babelscope.methods.patterns.winomt import Winomt, WinomtSettings, open_morphology
from babelscope.runs.execute import run_method
from babelscope.systems.registry import open_system
from babelscope.systems.stored.formats import Given
from babelscope.testsets import AmbiguousSource, TestSet, load
from babelscope.util.errors import BabelscopeError

TABLE = """\
male\t1\tThe cook slept because he was tired.\tcook\tanti
female\t1\tThe cook slept because she was tired.\tcook\tpro
female\t1\tThe construction worker slept because she was tired.\tconstruction worker\tanti
neutral\t0\tSomeone slept because they were tired.\tsomeone\tnone
"""


@pytest.fixture
def tests(tmp_path: Path) -> TestSet:
    (tmp_path / "test.tsv").write_text(TABLE)
    return load(f"winomt:{tmp_path / 'test.tsv'}?neutral=yes")


def items(tests: TestSet) -> tuple[AmbiguousSource, ...]:
    return tests.items_of(AmbiguousSource, what_for="this test")


def winomt(
    tests: TestSet,
    given: Sequence[Given],
    *,
    links: Sequence[Links] | None = None,
    skip_missing: bool = False,
    **settings: Any,
) -> Result:
    """Judge given translations, which are written to a file as they would be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.txt")
        lines = [
            each.translation if each.source is None else f"{each.source} ||| {each.translation}"
            for each in given
        ]
        path.write_text("".join(f"{line}\n" for line in lines))
        form = "plain" if given[0].source is None else "pairs"
        spec = f"file:{path}?format={form}{'&missing=skip' if skip_missing else ''}"
        if links is not None:
            settings["alignments"] = Path(folder, "out.align")
            settings["alignments"].write_text(
                "".join(" ".join(f"{a}-{b}" for a, b in each) + "\n" for each in links)
            )
        system = open_system(spec)
        system.name = "out"
        return run_method("patterns_winomt", system, tests, **settings)


def figure(result: Result, name: str, **labels: str) -> Any:
    (row,) = (r for r in result.rows if r.name == name and labels.items() <= r.labels.items())
    return row


def confusion(result: Result) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for row in result.rows:
        if row.name == "confusion" and row.counts["count"]:
            table.setdefault(str(row.labels["gold"]), {})[str(row.labels["predicted"])] = row.counts["count"]
    return table


@pytest.mark.parametrize(
    ("words", "found", "occupation", "published", "sound"),
    [
        ("Der Koch schlief .", [0, 1], "cook", "male", "male"),
        ("Die Köchin schlief .", [0, 1], "cook", "female", "female"),
        # The ending counts before any article.
        ("Der Köchin half er .", [1], "cook", "female", "female"),
        ("Das Kind schlief .", [1], "cook", "neutral", "neutral"),
        # The nearest article or pronoun tells.
        ("Er sah die Pflegekraft .", [3], "cook", "female", "female"),
        # A nurse is female whatever the translation says.
        ("Der Pfleger schlief .", [1], "nurse", "female", "female"),
        # Nothing found is male to the published rules.
        ("Der Koch schlief .", [], "cook", "male", "unknown"),
        ("Kochs schliefen .", [0], "cook", "male", "unknown"),
        ("", [], "cook", "unknown", "unknown"),
        # Marks before an article move it away: published, "Sie" is as near as "Der".
        ("Sie: „»Der Koch schlief .", [2], "cook", "female", "male"),
    ],
)
def test_gender_in_german(words: str, found: list[int], occupation: str, published: str, sound: str) -> None:
    split = words.split()
    assert open_morphology("de").gender(found, split, occupation) == published
    assert open_morphology("de", "sound").gender(found, split, occupation) == sound


@pytest.mark.parametrize(
    ("target", "words", "found", "gender"),
    [
        ("ru", "Врач спал", [0], "male"),
        ("ru", "Медсестра спала", [0], "female"),
        ("ru", "Существо спало", [0], "neutral"),
        ("ru", "Кто-то спал", [], "unknown"),
        ("ru", "очень", [0], "neutral"),
        ("uk", "Лікар спав", [0], "male"),
        ("uk", "Лікарка спала", [0], "female"),
    ],
)
def test_gender_in_russian_and_ukrainian(target: str, words: str, found: list[int], gender: str) -> None:
    pytest.importorskip(f"pymorphy3_dicts_{target}")
    assert open_morphology(target).gender(found, words.split(), "doctor") == gender


@pytest.mark.parametrize(
    ("target", "words", "found", "gender"),
    [
        ("es", "La doctora durmió", [0, 1], "female"),
        ("es", "El guardia durmió", [0, 1], "male"),  # the article decides
        ("es", "Alguien durmió", [0], "neutral"),
        ("es", "Durmió", [], "unknown"),
        ("fr", "L'infirmière dormait", [0], "female"),
        ("it", "L'addetto alla cassa dormiva", [0, 1, 2], "male"),  # not by the article of the desk
        ("it", "L'autista dormiva", [0], "neutral"),
        ("pt", "A enfermeira dormia", [0, 1], "female"),
        ("nl", "De schrijfster sliep", [0, 1], "female"),
        ("nl", "De schrijver sliep", [0, 1], "male"),
        ("cs", "Lékařka spala", [0], "female"),
        ("cs", "Dal to lékaři, řekl mechanik", [4], "male"),
        ("he", "הרופאה ישנה", [0], "female"),
        ("he", "הרופא ישן", [0], "male"),
        ("he", "הרופא ישן", [], "female"),  # as published
        ("ar", "الطبيبة نامت", [0], "female"),
    ],
)
def test_gender_by_articles_and_endings(target: str, words: str, found: list[int], gender: str) -> None:
    assert open_morphology(target).gender(found, words.split(), "doctor") == gender


@pytest.mark.parametrize(
    ("word", "gender"), [("Lekarka", "female"), ("kierowca", "male"), ("bardzo", "neutral")]
)
def test_gender_in_polish(word: str, gender: str) -> None:
    pytest.importorskip("morfeusz2")
    assert open_morphology("pl").gender([0], [word, "spała"], "doctor") == gender
    assert open_morphology("pl").gender([], [word], "doctor") == "unknown"


def test_lemmas_in_german() -> None:
    pytest.importorskip("HanTa")
    assert lemmatize(["Drei Stifte.", ""], "de") == [["drei", "Stift", "."], []]
    with pytest.raises(BabelscopeError, match="no lemmatizer for 'fr'"):
        lemmatize(["trois"], "fr")


def test_a_missing_analyzer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymorphy3", None)
    with pytest.raises(BabelscopeError, match=r"\.\[russian\]"):
        open_morphology("ru")
    with pytest.raises(BabelscopeError, match="no WinoMT morphology for 'xx'; known: de, ar, cs, es"):
        open_morphology("xx")


def test_both_words_of_an_occupation(tests: TestSet) -> None:
    item = items(tests)[2]
    aligned: Record = {
        "source": item.source,
        "index": item.extra["index"],
        "occupation": item.extra["occupation"],
        "gold": item.gold,
        "translation": "Worker-in schlief",
        "links": [[2, 0]],
    }
    (published,) = Winomt(WinomtSettings(target="de")).judge([aligned])
    (sound,) = Winomt(WinomtSettings(target="de", gender_rules="sound")).judge([aligned])
    assert (published["translated_as"], sound["translated_as"]) == ("", "Worker-in")


def test_missing_translations(tests: TestSet) -> None:
    given = [Given("f:1", "Der Koch", items(tests)[0].source)]
    with pytest.raises(
        BabelscopeError, match=r"has no translation of 'The cook .*3 of 4 in the test set test are missing\)"
    ):
        winomt(tests, given, target="de", links=[()])
    result = winomt(tests, given, target="de", links=[()], skip_missing=True)
    assert figure(result, "accuracy", category="all").counts["skipped"] == 3
    assert [record["id"] for record in result.unanswered] == ["2", "3", "4"]
    assert figure(result, "accuracy", category="female").estimate.n == 0
    with pytest.raises(BabelscopeError, match="has no translation of"):
        winomt(tests, [Given("f:1", "x", "y")], target="de", links=[()], skip_missing=True)
    with pytest.raises(
        BabelscopeError, match=r"out.txt has translations of 1 sources, but the test set test has 4"
    ):
        winomt(tests, [Given("f:1", "Der Koch")], target="de", links=[()])
    with pytest.raises(BabelscopeError, match=r"out.txt has 1, .*out.align has 2"):
        winomt(tests, given, target="de", links=[(), ()], skip_missing=True)


def test_lists_of_stereotypes(tests: TestSet, tmp_path: Path) -> None:
    lines = TABLE.split("\n")
    given = [Given(f"f:{n}", "Der Koch schlief") for n in range(1, 5)]

    def judge(pro: str, anti: str) -> list[str]:
        paths: dict[str, Any] = {
            "stereotypical": tmp_path / "pro.txt",
            "anti_stereotypical": tmp_path / "anti.txt",
        }
        for path, line in zip(paths.values(), (pro, anti), strict=True):
            path.write_text(f"{line}\n")
        found = winomt(tests, given, target="de", links=[((1, 1),)] * 4, **paths)
        return [record["stereotype"] for record in found.records]

    assert judge(lines[0], lines[2]) == ["pro", "none", "anti", "none"]
    with pytest.raises(BabelscopeError, match="item 1 of the list 'pro' is not in the test set"):
        judge(lines[0].replace("slept", "ate"), lines[2])


def test_alignments_count_the_words_of_the_file_or_else_of_the_test_set(tests: TestSet) -> None:
    bare = [Given(f"f:{n}", text) for n, text in enumerate("abcd", 1)]
    paired = [
        Given(each.place, each.translation, item.source)
        for each, item in zip(bare, items(tests), strict=True)
    ]
    for given in (bare, paired):
        with pytest.raises(BabelscopeError, match=r"out.align:4: the link 6-0 points .* source has 6 words"):
            winomt(tests, given, target="de", links=[(), ((6, 0),), ((7, 0),), ((6, 0),)])
        with pytest.raises(BabelscopeError, match=r"out.align:2: .* target has 1 words"):
            winomt(tests, given, target="de", links=[(), ((0, 1),), (), ()])
    # A line of the file that no item has counts too.
    more = [*paired, Given("f:5", "x y z", "Nobody slept.")]
    result = winomt(tests, more, target="de", links=[*[()] * 4, ((1, 2),)])
    assert result.config["seed"] == 0
    assert result.rows == winomt(tests, more, target="de", links=[*[()] * 4, ((1, 2),)], seed=0).rows


def test_errors_by_gender_head_the_tables(tests: TestSet) -> None:
    given = [Given(f"f:{n}", "Der Koch schlief") for n in range(1, 5)]
    result = winomt(tests, given, target="de", links=[((1, 1),)] * 4)
    table = Winomt(WinomtSettings(target="de")).tables(result.groups[0])[0]
    rates = {line.cells[0]: getattr(line.cells[1], "value", None) for line in table.lines}
    assert rates == {
        "error rate, female": 1, "error rate, neutral": 1, "error rate, all": 0.75, "error rate, male": 0,
        "F1 of male minus female (delta G)": pytest.approx(2 / 5),
        "accuracy of stereotypical minus other genders (delta S)": -0.5,
    }  # fmt: skip
    assert {line.verdict for line in table.lines} == {"too few items", ""}
    (female,) = (line for line in table.lines if line.cells[0] == "error rate, female")
    assert (female.query["group"], female.query["verdict"]) == ("female", "wrong")
    shown = Winomt(WinomtSettings(target="de")).show(result.records[1])
    assert (shown.verdict, shown.tone, shown.groups) == ("wrong", "errors", ("female",))
    assert ("translated as", "Koch") in shown.answer()


# --- what was published


SYSTEMS = ["google.en-de", "aws.en-de", "google.en-ru", "aws.en-ru"]


def published(shared: Path, name: str, *, own_alignment: bool = False, **settings: Any) -> Result:
    if name.endswith("ru"):
        pytest.importorskip("pymorphy3_dicts_ru")
    folder = shared / "data" / "winomt"
    path = folder / "translations" / f"{name}.txt"
    alignments = None if own_alignment else folder / "alignments" / f"{name}.align"
    return run_method(
        "patterns_winomt",
        open_system(f"file:{path}?format=pairs"),
        load(f"winomt:{folder / 'test.tsv'}?neutral=yes"),
        target=name[-2:],
        alignments=alignments,
        **settings,
    )


def expected(shared: Path, name: str) -> Any:
    return json.loads((shared / "data" / "winomt" / "expected.json").read_text())[name]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_published_figures(shared: Path, name: str) -> None:
    folder, right = shared / "data" / "winomt", expected(shared, name)
    lists: dict[str, Any] = {
        "stereotypical": folder / "en_pro.txt",
        "anti_stereotypical": folder / "en_anti.txt",
    }
    result = published(shared, name, intermediate_rounding="published", **lists)
    assert confusion(result) == right["confusion_gold_to_predicted"]

    def percent(name: str, **labels: str) -> float:
        return round(100 * figure(result, name, **labels).estimate.value, 1)

    assert {
        "accuracy": percent("accuracy", category="all"),
        "f1_male": percent("f1", category="male"),
        "f1_female": percent("f1", category="female"),
        "delta_g": percent("delta_g"),
        "pro_accuracy": percent("accuracy", stereotype="pro"),
        "anti_accuracy": percent("accuracy", stereotype="anti"),
        "delta_s": percent("delta_s"),
        "without_neutral": {
            "accuracy": percent("accuracy", category="male and female"),
            "male_recall": percent("accuracy", category="male"),
            "female_recall": percent("accuracy", category="female"),
        },
    } == {key: value for key, value in right.items() if key != "confusion_gold_to_predicted"}


# Two of the four, for time; all are in docs/methods/conditioning.md.
@pytest.mark.parametrize("name", ["google.en-de", "aws.en-ru"])
def test_our_own_aligner_comes_close(shared: Path, name: str) -> None:
    pytest.importorskip("thot")
    right = expected(shared, name)
    result = published(shared, name, own_alignment=True)
    points = 0.5 if name.endswith("de") else 2
    accuracy = figure(result, "accuracy", category="all")
    assert (accuracy.labels["alignment"], accuracy.estimate.n) == ("forward", 3888)
    assert 100 * accuracy.estimate.value == pytest.approx(right["accuracy"], abs=points)
    assert 100 * figure(result, "delta_g").estimate.value == pytest.approx(right["delta_g"], abs=points)


@pytest.mark.parametrize("target", ["es", "fr", "he", "it"])
def test_published_logs_of_other_languages(shared: Path, target: str) -> None:
    """Within three points of the published accuracy: published analyzers of es, fr and it were old spaCy models."""
    pytest.importorskip("thot")
    folder = shared / "data" / "winomt"
    log = (folder / "logs" / f"google.{target}.log").read_text()
    right = float(re.search(r"acc = ([\d.]+)%", log)[1])  # type: ignore[index]
    path = folder / "translations-more" / f"google.en-{target}.txt"
    result = run_method(
        "patterns_winomt",
        open_system(f"file:{path}?format=pairs"),
        load(f"winomt:{folder / 'en.txt'}?neutral=yes"),
        target=target,
    )
    accuracy = figure(result, "accuracy", category="all")
    assert 100 * accuracy.estimate.value == pytest.approx(right, abs=3)
    assert sum(sum(each.values()) for each in confusion(result).values()) == accuracy.estimate.n == 3888
