"""The public formats: small files made here, and the published ones where the shared data is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from babelscope.systems.stored.formats import Given, read_translations
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence, TestSet, load
from babelscope.testsets.mucow import frequency_categories, read_keys, read_sense_counts
from babelscope.testsets.pattern_files import match_translations, read_lemmas
from babelscope.util.errors import BabelscopeError

WINOMT = "male\t1\tThe doctor, who helped her, said he was tired.\tdoctor\tpro\n"


def write(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name.replace("__", ".")).write_bytes(data)


def distil(folder: Path, sources: str, correct: str, incorrect: str) -> Path:
    write(folder, src__en=sources, tgt__correct__de=correct, tgt__incorrect__de=incorrect)
    return folder


def fault(spec: str) -> str:
    with pytest.raises(BabelscopeError) as caught:
        load(spec)
    return str(caught.value)


def test_parallel_text(tmp_path: Path) -> None:
    write(tmp_path, a__en="One.\nTwo.\n", a__de="Eins.\nZwei.", b__de="1.\n2.\n")
    one = load(f"parallel:{tmp_path}/a.en,{tmp_path}/a.de")
    assert one.items == (ParallelSentence("1", "One.", ("Eins.",)), ParallelSentence("2", "Two.", ("Zwei.",)))
    two = load(f"parallel:{tmp_path}/a.en,{tmp_path}/a.de,{tmp_path}/b.de")
    assert two.items[1] == ParallelSentence("2", "Two.", ("Zwei.", "2."))
    assert (one.name, one.kind, len(one)) == ("a.en", ParallelSentence, 2)


def test_faults_of_parallel_text(tmp_path: Path) -> None:
    write(tmp_path, a="x\ny\n", short="x\n", gap="x\n\n", nul="x\ny\0\n", cr="x\r\ny\r\n")
    write(tmp_path, separator="x\ny\u2028z\n", latin="x\n\xe9\n".encode("latin-1"), none="")

    def parallel(source: str, reference: str) -> str:
        return fault(f"parallel:{tmp_path / source},{tmp_path / reference}")

    counted = f"{tmp_path / 'a'} has 2, {tmp_path / 'short'} has 1"
    assert parallel("a", "short") == f"line-parallel files must have equally many lines, but {counted}"
    assert parallel("gap", "a") == f"{tmp_path / 'gap'}:2: field 'source' is empty"
    assert parallel("a", "gap") == f"{tmp_path / 'a'}:2: field 'reference' is empty"
    assert parallel("nul", "a").startswith(f"{tmp_path / 'nul'}:2 has a NUL character")
    assert parallel("cr", "a").startswith(f"{tmp_path / 'cr'}:1 has a line break inside")
    assert parallel("separator", "a").startswith(f"{tmp_path / 'separator'}:2 has the line separator U+2028")
    assert parallel("latin", "a").startswith(f"{tmp_path / 'latin'}:2: not UTF-8")
    assert parallel("a", "missing") == f"{tmp_path / 'missing'}: no such file"
    assert parallel("a", ".") == f"{tmp_path} is a folder, not a file"
    assert parallel("none", "none") == "the test set none has no items"
    assert "needs a source and a reference" in fault(f"parallel:{tmp_path / 'a'}")
    skipped = load(f"parallel:{tmp_path / 'gap'},{tmp_path / 'a'}?skip_empty=yes")
    assert (skipped.skipped, len(skipped)) == ({"empty source": 1}, 1)


def test_tab_separated_text(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("One.\tEins.\t1.\nTwo.\tZwei.\t2.\n")
    assert load(f"tsv:{path}").items[1] == ParallelSentence("2", "Two.", ("Zwei.", "2."))
    path.write_text("One.\tEins.\nTwo.\tZwei.\t2.\n")
    assert fault(f"tsv:{path}") == f"{path}:2 has 3 columns, the first line has 2"
    path.write_text("One.\tEins.\nTwo.\n")
    assert fault(f"tsv:{path}") == f"{path}:2: no tab between source and reference"
    path.write_text("One.\tEins.\n\tZwei.\n")
    assert fault(f"tsv:{path}") == f"{path}:2: field 'source' is empty"
    assert load(f"tsv:{path}?skip_empty=yes").skipped == {"empty source": 1}


def test_distil_lingeval(tmp_path: Path) -> None:
    human = distil(tmp_path / "omission.human", "a\u2028b\n\nc\n", "A\nB\nC\n", "1\n2\n3\n")
    distil(tmp_path / "omission.mt", "c\n", "C\n", "3\n")
    (tmp_path / "scores").mkdir()
    one = load(f"distil-lingeval:{human}")
    assert one.name == "omission.human"
    assert one.items == (
        MinimalPair("omission.human:1", "a\u2028b", "A", ("1",), "omission", "human"),
        MinimalPair("omission.human:3", "c", "C", ("3",), "omission", "human"),
    )
    assert one.skipped == {"empty source": 1}
    both = load(f"distil-lingeval:{tmp_path}")
    assert both.items == (*one.items, MinimalPair("omission.mt:1", "c", "C", ("3",), "omission", "machine"))


def test_the_folder_one_is_in_tells_its_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(distil(tmp_path / "omission.mt", "a\n", "A\n", "1\n"))
    assert load("distil-lingeval:.").items[0].id == "omission.mt:1"


def test_faults_of_distil_lingeval(tmp_path: Path) -> None:
    short = distil(tmp_path / "short.mt", "a\nb\n", "A\nB\n", "1\n")
    assert "equally many lines" in fault(f"distil-lingeval:{short}")
    unnamed = distil(tmp_path / "unnamed", "a\n", "A\n", "1\n")
    assert "must be named <phenomenon>.human or <phenomenon>.mt" in fault(f"distil-lingeval:{unnamed}")
    write(tmp_path / "part.mt", src__en="a\n")
    assert fault(f"distil-lingeval:{tmp_path / 'part.mt'}").endswith("tgt.correct.de: no such file")
    assert fault(f"distil-lingeval:{tmp_path / 'nowhere'}") == f"{tmp_path / 'nowhere'}: no such folder"
    (tmp_path / "bare").mkdir()
    assert "is not a DistilLingEval set" in fault(f"distil-lingeval:{tmp_path / 'bare'}")


def test_mucow_scoring(tmp_path: Path) -> None:
    path = tmp_path / "cs-en.json"
    entry = {"source": "s", "reference": "r", "ambig word": "w", "sense": "x", "origin": "ted"}
    errors = [{"contrastive": c, "replacement": c.upper(), "type": "word_sense"} for c in ("b", "a")]
    path.write_text(json.dumps([{**entry, "errors": errors}]))
    extra = {"ambig word": "w", "sense": "x", "origin": "ted", "replacement": ["B", "A"]}
    extra["type"] = ["word_sense", "word_sense"]
    assert load(f"mucow-scoring:{path}").items == (
        MinimalPair("1", "s", "r", ("b", "a"), "word_sense", "human", extra=extra),
    )
    for content, sentence in (
        ('[\n{"source": ]', f"{path}:2: not JSON: Expecting value at column 12"),
        ("{}", f"{path} is not a MuCoW scoring suite: it must be a JSON list of items"),
        (json.dumps([{**entry, "errors": errors}, entry]), f"{path}: item 2: field 'errors' is missing"),
        ("[7]", f"{path}: item 1 is not an object with a list of errors"),
    ):
        path.write_text(content)
        assert fault(f"mucow-scoring:{path}") == sentence


def test_winomt(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    rows = (
        WINOMT,
        "female\t0\tSomeone saw the construction worker.\tsomeone\tnone\n",
        "female\t3\tSomeone saw the construction worker.\tconstruction worker\n",
        "male\t2\tAsk the  doctor now.\tdoctor\tpro\n",
        "neutral\t1\tThe doctor said they were tired.\tdoctor\tnone\n",
    )
    path.write_text("".join(rows))
    made = load(f"winomt:{path}")
    assert made.skipped == {"neutral gender": 1}
    assert made.items[0] == AmbiguousSource(
        "1",
        "The doctor, who helped her, said he was tired.",
        ("The [male] doctor, who helped her, said he was tired.",),
        ("The [female] doctor, who helped her, said he was tired.",),
        "male",
        gold="male",
        extra={"index": 1, "occupation": "doctor", "stereotype": "pro"},
    )
    right = [item.correct_sources for item in made.items_of(AmbiguousSource, what_for="this test")]
    assert right[1:] == [
        ("[female] Someone saw the construction worker.",),
        ("Someone saw the [female] construction worker.",),
        ("Ask the  [male] doctor now.",),
    ]
    assert "stereotype" not in made.items[2].extra
    neutral = load(f"winomt:{path}?neutral=yes").items[-1]
    assert isinstance(neutral, AmbiguousSource)
    assert (neutral.gold, neutral.correct_sources, neutral.incorrect_sources) == ("neutral", (), ())


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("male\t1\tThe doctor.", " has 3 columns; WinoMT has 4 or 5"),
        ("man\t1\tThe doctor.\tdoctor", ": gender must be male, female or neutral, not 'man'"),
        ("male\t9\tThe doctor.\tdoctor", ": 9 is no index of a token of 'The doctor.'"),
        ("male\t-1\tThe doctor.\tdoctor", ": '-1' is not the index of a token of 'The doctor.'"),
        ("male\t0\tThe doctor.\tdoctor", ": token 0 is 'The', not the occupation 'doctor'"),
    ],
)
def test_faults_of_winomt(tmp_path: Path, row: str, sentence: str) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(f"{WINOMT}{row}\n")
    assert fault(f"winomt:{path}").startswith(f"{path}:2{sentence}")


def test_the_published_distil_lingeval(shared: Path) -> None:
    expected = json.loads((shared / "data" / "distil-lingeval" / "expected.json").read_text())["test_sets"]
    made = load(f"distil-lingeval:{shared / 'data' / 'distil-lingeval'}")
    sizes = Counter(item.id.partition(":")[0] for item in made)
    sizes["hypercorrect_genitive.human"] += made.skipped["empty source"]
    assert sizes == {name: facts["pairs"] for name, facts in expected.items()}
    assert made.skipped == {"empty source": 1}
    assert "hypercorrect_genitive.human:1922" not in {item.id for item in made}
    # A toy model that likes short translations, as in expected.json, where nothing is skipped.
    right: Counter[str] = Counter()
    for item in made.items_of(MinimalPair, what_for="this test"):
        right[item.id.partition(":")[0]] += len(item.correct) < len(item.contrastive[0])
    for name, facts in expected.items():
        off = name == "hypercorrect_genitive.human"
        assert 0 <= facts["length_scorer_strict"] - right[name] <= off


@pytest.mark.parametrize("pair", ["cs-en", "tr-en"])
def test_the_published_mucow_scoring(shared: Path, pair: str) -> None:
    folder = shared / "data" / "mucow-scoring"
    expected = json.loads((folder / "expected.json").read_text())[pair]
    spec = f"mucow-scoring:{folder / f'{pair}.json'}"
    made = load(f"{spec}?empty=yes").items_of(MinimalPair, what_for="this test")
    assert len(made) == expected["items"]
    equal = sum(item.correct in item.contrastive for item in made)
    assert sum(load(spec).skipped.values()) == equal == {"cs-en": 20, "tr-en": 0}[pair]
    assert sum(len(item.contrastive) for item in made) == expected["contrastive_pairs"]
    # The order is that of the stored scores: lower is better, the reference first, then its variants.
    scores = iter(float(line) for line in (folder / f"{pair}.nematus.scores").read_text().split())
    right = 0
    for item in made:
        best, *others = [next(scores) for _ in (item.correct, *item.contrastive)]
        right += all(best < other for other in others)
    assert right == expected["correct_strict"]


def test_the_published_sets_survive_our_own_format(shared: Path, tmp_path: Path) -> None:
    for spec in (
        f"distil-lingeval:{shared / 'data' / 'distil-lingeval' / 'clause_omission.mt'}",
        f"mucow-scoring:{shared / 'data' / 'mucow-scoring' / 'tr-en.json'}",
        f"winomt:{shared / 'data' / 'winomt' / 'test.tsv'}",
    ):
        made: TestSet = load(spec)
        made.write(tmp_path / "set.jsonl")
        assert load(tmp_path / "set.jsonl").digest == made.digest


ROWS = [
    "female\t1\tThe doctor, who slept, woke.\tdoctor\tpro",
    "male\t1\tThe construction worker slept.\tconstruction worker\tanti",
    "neutral\t0\tSomeone slept, they snored.\tsomeone\tnone",
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{row}\n" for row in ROWS))
    return path


def items(tests: TestSet) -> tuple[AmbiguousSource, ...]:
    return tests.items_of(AmbiguousSource, what_for="this test")


def test_cues_as_released_replace_the_token(table: Path) -> None:
    first, second = items(load(f"winomt:{table}?paper_cues=yes"))
    assert first.correct_sources == ("The [female] doctor who slept, woke.",)
    assert first.incorrect_sources == ("The [male] doctor who slept, woke.",)
    assert second.correct_sources == ("The [male] construction worker worker slept.",)
    assert items(load(f"winomt:{table}"))[1].correct_sources == ("The [male] construction worker slept.",)


def test_three_genders_are_held_against_each_other(table: Path) -> None:
    tests = load(f"winomt:{table}?genders=three&neutral_cue=nonbinary")
    assert not tests.skipped
    first, _, third = items(tests)
    assert first.incorrect_sources == (
        "The [male] doctor, who slept, woke.",
        "The [nonbinary] doctor, who slept, woke.",
    )
    assert third.correct_sources == ("[nonbinary] Someone slept, they snored.",)
    assert third.incorrect_sources == (
        "[male] Someone slept, they snored.",
        "[female] Someone slept, they snored.",
    )
    assert third.extra["cued"] == {
        "male": "[male] Someone slept, they snored.",
        "female": "[female] Someone slept, they snored.",
        "neutral": "[nonbinary] Someone slept, they snored.",
    }
    # Two genders: neutral rows have no cue, and are left out unless asked for.
    assert load(f"winomt:{table}").skipped == {"neutral gender": 1}
    assert items(load(f"winomt:{table}?neutral=yes"))[2].correct_sources == ()


def test_a_tag_stands_before_the_source_and_changes_nothing_in_it(table: Path) -> None:
    for item in items(load(f"winomt:{table}?tag=<2{{}}>")):
        for source in (*item.correct_sources, *item.incorrect_sources):
            assert source.endswith(item.source)
        assert item.correct_sources == (f"<2{item.gold}> {item.source}",)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("genders=four", "genders=four is not one of two, three"),
        ("tag=<female>", "tag=<female> has no {}, where the gender is put"),
        ("tag=<{}>&paper_cues=yes", "tag and paper_cues exclude each other"),
        ("genders=three&neutral_cue=", "neutral_cue is empty"),
        ("gender=three", "unknown option 'gender'; did you mean genders"),
    ],
)
def test_options_that_cannot_be(table: Path, options: str, told: str) -> None:
    with pytest.raises(BabelscopeError, match=told):
        load(f"winomt:{table}?{options}")


def test_the_published_table_with_three_genders(shared: Path) -> None:
    tests = load(f"winomt:{shared}/data/winomt/test.tsv?genders=three")
    assert len(tests) == 3888
    assert sum(item.category == "neutral" for item in items(tests)) == 240
    released = items(load(f"winomt:{shared}/data/winomt/test.tsv?paper_cues=yes"))
    ours = items(load(f"winomt:{shared}/data/winomt/test.tsv"))
    differ = sum(a.correct_sources != b.correct_sources for a, b in zip(released, ours, strict=True))
    assert (len(released), differ) == (3648, 131)


def test_files_of_translations(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Ein Stift.\n\n")
    assert [each.translation for each in read_translations(path)] == ["Ein Stift.", ""]
    path.write_text("A pen. ||| Ein Stift. ||| ja\nB. |||\n")
    assert read_translations(path) == [
        Given(f"{path}:1", "Ein Stift. ||| ja", "A pen."),
        Given(f"{path}:2", "", "B."),
    ]
    path.write_text("A. ||| B.\nC.\n")
    with pytest.raises(BabelscopeError, match=r"a\.txt:2 has no \|\|\| between source and translation"):
        read_translations(path)
    path = tmp_path / "a.jsonl"
    path.write_text('{"sentence": "A.", "translation": "B.", "translation_lemmatized": null}\n')
    assert read_translations(path) == [Given(f"{path}:1", "B.", "A.", folded=True)]
    path.write_text('{"source": "A.", "translation": "B.", "lemmas": "b ."}\n')
    assert read_translations(path) == [Given(f"{path}:1", "B.", "A.", "b .")]
    path.write_text('{"source": "A."}\n')
    with pytest.raises(BabelscopeError, match=r"a\.jsonl:1: field 'translation' must be text"):
        read_translations(path)
    lemmas = tmp_path / "lemmas"
    lemmas.write_text("ein stift\n")
    assert read_lemmas(lemmas, [Given("f", "x")], parallel_to="a")[0].lemmas == "ein stift"
    with pytest.raises(BabelscopeError, match=r"a has 2, .*lemmas has 1"):
        read_lemmas(lemmas, [Given("f", "x")] * 2, parallel_to="a")
    item = AmbiguousSource("1", "A pen.", ("r",), ("w",), "m")
    with pytest.raises(BabelscopeError, match=r"a\.txt has no translations"):
        match_translations([item], [], what="a.txt")


SOURCES = ["My pen is full.", "The pig left its pen.", "PEN!", "An open pen."]
KEYS = [
    "1\tted\tpen\tstift füller\tgehege",
    "2\ttatoeba\tpen\tgehege\tstift füller",
    "3\topensubs\tpen\tstift füller\tgehege",
    "4\tted\tpen\tstift füller\tgehege",
]
COUNTS = {"pen - stift füller": 9, "pen - gehege": 2}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    prefix = tmp_path / "en-de"
    (tmp_path / "cues").mkdir()
    (tmp_path / "counts").mkdir()
    lines(prefix, ".text.txt", SOURCES)
    lines(prefix, ".key.tsv", KEYS)
    lines(prefix, ".ref.txt", ["Mein Stift ist voll.", "Das Schwein war weg.", "STIFT!", "Ein Stift."])
    lines(prefix, ".domain.tsv", ["pen\tstift füller\tin\t4\t1", "pen\tgehege\tout\t1\t3"])
    ink, pig = {"correct_insertions": ["ink"]}, {"incorrect_insertions": ["pig", "cow"]}
    cues = [{"src_word": "pen", **ink, **pig}] * 3 + [{"src_word": "pen", **ink}]
    lines(tmp_path / "cues" / "en-de", ".insertions.some.jsonl", [json.dumps(each) for each in cues])
    (tmp_path / "counts" / "senses_en-de_count_results.json").write_text(json.dumps(COUNTS))
    return prefix


def lines(prefix: Path, suffix: str, texts: list[str]) -> None:
    prefix.with_name(prefix.name + suffix).write_text("".join(f"{text}\n" for text in texts))


def test_a_language_pair(suite: Path) -> None:
    tests = load(f"mucow:{suite}")
    assert tests.skipped == {"word not in the sentence": 1, "no cues": 1}
    first, second = items(tests)
    assert (first.id, first.category, first.gold) == ("1", "frequent", "stift füller")
    assert first.correct_sources == ("My ink pen is full.",)
    assert first.incorrect_sources == ("My pig pen is full.", "My cow pen is full.")
    assert first.extra == {
        "word": "pen",
        "form": "pen",
        "lemmas": ["stift", "füller"],
        "wrong_lemmas": ["gehege"],
        "corpus": "ted",
        "key": "1",
        "domain": "in",
        "reference": "Mein Stift ist voll.",
    }
    assert (second.id, second.category, second.extra["domain"]) == ("2", "infrequent", "out")
    # One of its files stands for all of them.
    assert load(f"mucow:{suite}.text.txt").digest == load(f"mucow:{suite}.key.tsv").digest == tests.digest


def test_all_sentences_and_plain_replacement(suite: Path) -> None:
    everything = items(load(f"mucow:{suite}?all=yes"))
    assert [item.id for item in everything] == ["1", "2", "3", "4"]
    assert everything[2].correct_sources == ()
    lines(suite.parent / "cues" / "en-de", ".insertions.some.jsonl", [
        json.dumps({"src_word": "pen", "correct_insertions": ["ink"], "incorrect_insertions": ["pig"]})
    ] * 4)  # fmt: skip
    assert items(load(f"mucow:{suite}"))[2].correct_sources == ("An open ink pen.",)
    assert items(load(f"mucow:{suite}?paper_cues=yes"))[2].correct_sources == ("An oink pen ink pen.",)


def test_without_cues_counts_and_domains(suite: Path) -> None:
    for path in (suite.parent / "cues", suite.parent / "counts"):
        for each in path.iterdir():
            each.unlink()
    suite.with_name("en-de.domain.tsv").unlink()
    with pytest.raises(BabelscopeError, match=r"there are no cues for en-de: .*\?all=yes"):
        load(f"mucow:{suite}")
    for item in items(load(f"mucow:{suite}?all=yes")):
        assert item.category == "none"
        assert "domain" not in item.extra


def test_frequency_is_being_ahead_of_every_other_sense() -> None:
    counts = {("a", "x"): 3, ("a", "y"): 2, ("a", "z"): 2, ("b", "x"): 5, ("b", "y"): 5, ("c", "x"): 0}
    assert frequency_categories(counts) == {
        ("a", "x"): "frequent",
        ("a", "y"): "infrequent",
        ("a", "z"): "infrequent",
        ("b", "x"): "infrequent",
        ("b", "y"): "infrequent",
        ("c", "x"): "frequent",
    }


def test_faults_are_told(suite: Path) -> None:
    def fault(spec: str = "") -> str:
        with pytest.raises(BabelscopeError) as caught:
            load(spec or f"mucow:{suite}")
        return str(caught.value)

    assert "nowhere.text.txt: no such file; mucow: needs the common prefix" in fault(
        f"mucow:{suite.parent}/nowhere"
    )
    lines(suite, ".key.tsv", KEYS[:3])
    assert "en-de.text.txt has 4, " in fault()
    lines(suite, ".key.tsv", [*KEYS[:3], "4\tted\tpen\tstift"])
    assert "en-de.key.tsv:4 is no MuCoW key" in fault()
    lines(suite, ".key.tsv", [*KEYS[:3], KEYS[3].replace("pen", "cup")])
    assert "en-de.text.txt:4: the cues are for 'pen', the key is for 'cup'" in fault()
    lines(suite, ".key.tsv", KEYS)
    lines(suite, ".domain.tsv", ["pen\tstift füller\tin\t1\t1", "pen\tgehege\tnear\t1\t1"])
    assert "en-de.domain.tsv:2 is not" in fault()
    lines(suite, ".domain.tsv", [])
    lines(suite, ".insertions.other.jsonl", [])
    assert "are both cues for en-de; keep one" in fault()
    counts = suite.parent / "counts.json"
    for wrong in ('{"pen": 1}', '{"pen - stift": "1"}', '{"pen - stift": -1}', "[]"):
        counts.write_text(wrong)
        with pytest.raises(BabelscopeError):
            read_sense_counts(counts)


@pytest.mark.parametrize(
    ("pair", "usable", "frequent", "words", "senses", "capitals"),
    [("en-de", 3334, 1712, 176, 362, 3), ("en-ru", 1810, 923, 99, 203, 4)],
)
def test_the_published_suite(
    shared: Path, pair: str, usable: int, frequent: int, words: int, senses: int, capitals: int
) -> None:
    folder = shared / "data" / "mucow"
    tests = load(f"mucow:{folder / pair}")
    assert (len(tests), tests.skipped) == (usable, {"word not in the sentence": capitals})
    counted = Counter(item.category for item in items(tests))
    assert counted == {"frequent": frequent, "infrequent": usable - frequent}
    keys = read_keys(folder / f"{pair}.key.tsv")
    assert (len({key.word for key in keys}), len({key.sense for key in keys})) == (words, senses)
    categories = frequency_categories(
        read_sense_counts(folder / "counts" / f"senses_{pair}_count_results.json")
    )
    stored = json.loads((folder / "frequency_categories.json").read_text())[pair[-2:]]
    for category, pairs in stored.items():
        derived = {
            (word, lemma)
            for (word, lemmas), own in categories.items()
            if own == category
            for lemma in lemmas.split()
        }
        assert derived == {tuple(each) for each in pairs}
