"""Chatter: recognized where it stands, never in a clean translation, cut off only if asked for."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from pathlib import Path

import pytest

from babelscope.core.system import Question, Scored
from babelscope.systems.prompting.chatter import Chatter, with_clean_output
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import build_causal
from tests.support.serving import Server
from tests.support.toys import Canned

SOURCE = "Two dogs run through the snow."
PLAIN = "Zwei Hunde laufen durch den Schnee."

CHATTER = [
    (f"Here is the translation: {PLAIN}", {"preamble"}),
    (f"Sure! Here's the German translation:\n\n{PLAIN}", {"preamble"}),
    (f"Sure, this is my translation of your text.\n{PLAIN}", {"preamble"}),
    (f"**Translation:** {PLAIN}", {"preamble"}),
    (f"German: {PLAIN}", {"preamble"}),
    (f"Übersetzung: {PLAIN}", {"preamble"}),
    (f"Voici la traduction :\n{PLAIN}", {"preamble"}),
    (f"以下是翻译：{PLAIN}", {"preamble"}),
    (f"<think>\nThe user wants German.\n</think>\n\n{PLAIN}", {"preamble"}),
    (f'"{PLAIN}"', {"quoted"}),
    (f"„{PLAIN}“", {"quoted"}),
    (f"»{PLAIN}«", {"quoted"}),
    (f"« {PLAIN} »", {"quoted"}),
    (f"「{PLAIN}」", {"quoted"}),
    (f"**{PLAIN}**", {"quoted"}),
    (f"```\n{PLAIN}\n```", {"quoted"}),
    (f"{PLAIN}\n\nNote: 'laufen' may also be 'rennen'.", {"explained"}),
    (f"{PLAIN} (Note: informal register.)", {"explained"}),
    (f"{PLAIN} Hinweis: Das Subjekt steht im Plural.", {"explained"}),
    (f"{PLAIN}\n**Explanation:**\n- Zwei: two", {"explained"}),
    (f"{SOURCE}\n{PLAIN}", {"repeated"}),
    (f"{SOURCE} -> {PLAIN}", {"repeated"}),
    (f"{PLAIN} ({SOURCE})", {"repeated"}),
    (f"English: {SOURCE}\nGerman: {PLAIN}", {"repeated", "preamble"}),
    (f'Here is the translation:\n\n"{PLAIN}"\n\nNote: literal.', {"preamble", "quoted", "explained"}),
]


@pytest.mark.parametrize(("answer", "notes"), CHATTER)
def test_chatter_is_noted_and_cut_off_only_if_asked(answer, notes):
    text, found = Chatter("count", "German").read(SOURCE, answer)
    assert (text, set(found)) == (answer, notes)
    text, found = Chatter("yes", "German").read(SOURCE, answer)
    assert (text, set(found)) == (PLAIN, {*notes, "cleaned"})
    assert Chatter("no", "German").read(SOURCE, answer) == (answer, ())


CLEAN = [
    ('"Two dogs run."', "„Zwei Hunde laufen.“"),
    ("He said: “Come here.”", "Er sagte: „Komm her.“"),
    ("Translation: the process of changing.", "Übersetzung: der Vorgang des Veränderns."),
    ("The translation reads as follows.", "Die Übersetzung lautet: wie folgt."),
    ("Note: the door is open.", "Hinweis: Die Tür ist offen."),
    ("The door (note the color) is open.", "Die Tür (Hinweis auf die Farbe) ist offen."),
    ("A and B are letters.", '"A" und "B" sind Buchstaben, ebenso wie "C"'),
    ("It starts at 12:30.", "Es beginnt um 12:30."),
    ("Three things: a, b, c.", "Drei Dinge: a, b, c."),
    ("I'm sorry, but I can't help you with that.", "Es tut mir leid, aber ich kann dabei nicht helfen."),
    ("Unfortunately there is no translation.", "Leider gibt es keine Übersetzung."),
    ("Microsoft Windows 10", "Microsoft Windows 10"),
    ("Yes.", "Ja."),
    ("Berlin - the capital of Germany", "Berlin - die Hauptstadt Deutschlands"),
    ("German beer is good.", "Deutsches Bier ist gut."),
    ("She asked: two dogs?", "Sie fragte: zwei Hunde?"),
]


@pytest.mark.parametrize(("source", "translation"), CLEAN)
def test_a_clean_translation_has_no_notes(source, translation):
    assert Chatter("yes", "German").read(source, translation) == (translation, ())


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't assist with that request.",
        "I cannot translate this text because it is offensive.",
        "As an AI language model, I am not able to do this.",
        "Es tut mir leid, ich kann diesen Text nicht übersetzen.",
        "抱歉，我无法翻译这段文字。",
    ],
)
def test_a_refusal_is_a_note_and_stays_as_it_is(answer):
    assert Chatter("yes", "German").read(SOURCE, answer) == (answer, ("refused",))


@pytest.mark.parametrize(
    ("target", "answer", "other"),
    [
        ("German", "Two dogs are running through the deep snow in winter.", True),
        ("German", PLAIN, False),
        ("de", "Two dogs are running through the deep snow in winter.", True),
        ("Russian", "Dve sobaki begut", True),
        ("Russian", "Две собаки бегут по снегу.", False),
        ("Russian", "iPhone 15", False),
        (
            "Japanese",
            "两只狗在雪中奔跑，非常高兴，天气也很好，大家都喜欢它们，孩子们也跟着它们一起在雪地里跑来跑去。",
            True,
        ),
        ("Japanese", "二匹の犬が雪の中を走っています。", False),
        ("Serbian", "Dva psa trče kroz sneg.", False),
        ("Klingon", "Two dogs are running through the deep snow in winter.", False),
        ("", "Two dogs are running through the deep snow in winter.", False),
    ],
)
def test_another_language_is_a_note(target, answer, other):
    assert ("wrong_language" in Chatter("count", target).read("...", answer)[1]) == other


def test_the_language_of_an_item_counts_where_nobody_names_another():
    english = "Two dogs are running through the deep snow in winter."
    asked = Question("Zwei Hunde laufen.", target_language="de")
    assert Chatter("count").read(asked, english)[1] == ("wrong_language",)
    assert Chatter("count", "English").read(asked, english)[1] == ()


def test_long_and_empty_answers_are_left_alone():
    for text in ("", "  ", '"' + "a" * 30_000 + '"'):
        assert Chatter("yes", "German").read(SOURCE, text) == (text, ())


UNITS = ["\n ", "a: ", ". ", "()", '"', "<think>", "Note\n", ".  Note ", " - ", "\n(*"]


@pytest.mark.parametrize("unit", UNITS)
def test_no_answer_takes_long(unit):
    text = "a" + unit * (19_990 // len(unit)) + "b"
    start = time.process_time()
    Chatter("yes", "German").read(SOURCE, text)
    Chatter("yes", "German").read(text, f'"{PLAIN}" Note: x')
    assert time.process_time() - start < 3


def test_any_black_box_is_watched_if_asked():
    box = Canned({SOURCE: f'"{PLAIN}"'})
    assert with_clean_output(box, Chatter()) is box
    counted, cleaned = (with_clean_output(box, Chatter(how, "German")) for how in ("count", "yes"))
    assert counted.translate([SOURCE]) == [[Scored(f'"{PLAIN}"', notes=("quoted",))]]
    assert cleaned.translate([SOURCE]) == [[Scored(PLAIN, notes=("cleaned", "quoted"))]]
    assert len({each.fingerprint.digest for each in (box, counted, cleaned)}) == 3
    assert counted.capabilities == {"translate"}


def test_a_file_is_watched_and_still_held_against_its_test_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.de").write_text(f'"{PLAIN}"\n', encoding="utf-8")
    (tmp_path / "in.tsv").write_text(f"{SOURCE}\t{PLAIN}\n", encoding="utf-8")
    from babelscope import quality
    from babelscope.testsets import load

    result = quality(open_system("file:out.de?clean=yes"), load("tsv:in.tsv"))
    [record] = result.records
    assert (record["translation"], record["notes"]) == (PLAIN, ["cleaned", "quoted"])
    assert result.rows[0].counts["quoted"] == result.rows[0].counts["cleaned"] == 1
    raw = quality(open_system("file:out.de"), load("tsv:in.tsv"))
    assert "quoted" not in raw.rows[0].counts
    with pytest.raises(BabelscopeError, match="clean=maybe is not one of"):
        open_system("file:out.de?clean=maybe")


def test_a_model_is_watched_unless_told_not_to(tmp_path):
    spec = f"llm:{build_causal(tmp_path / 'm')}?source=English&target=Russian&max_length=30"
    counted, cleaned, plain = (open_system(f"{spec}&clean={how}") for how in ("count", "yes", "no"))
    assert open_system(spec).fingerprint == counted.fingerprint
    assert len({each.fingerprint.digest for each in (counted, cleaned, plain)}) == 3
    notes = Counter(note for [each] in counted.translate(["a b", "c d"], beam=1) for note in each.notes)
    assert notes["wrong_language"] > 0  # random bytes are no Russian
    drawn = counted.sample(["a b"], n=5, seed=1)[0]
    assert any("wrong_language" in each.notes for each in drawn)
    [[unwatched]] = plain.translate(["a b"], beam=1)
    assert "wrong_language" not in unwatched.notes
    assert [each.tokens for each in drawn] == [each.tokens for each in plain.sample(["a b"], n=5, seed=1)[0]]


def test_a_server_s_chatter_is_cut_off_before_it_must_be_one_line():
    answer = f"Here is the translation:\n\n{PLAIN}"
    server = Server(
        lambda _: {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]},
    )
    spec = f"openai:{server.url}/v1#m?source=English&target=German&retries=0"
    [[cleaned]] = open_system(f"{spec}&clean=yes").translate([SOURCE])
    assert (cleaned.text, set(cleaned.notes)) == (PLAIN, {"preamble", "cleaned"})
    [[counted]] = open_system(f"{spec}&newlines=space").translate([SOURCE])
    assert (counted.text, counted.notes) == (f"Here is the translation: {PLAIN}", ("preamble",))
    server.shutdown()


# -- clean references ------------------------------------------------------------------------------------

NAMES = {"en": "English", "de": "German", "fr": "French", "cs": "Czech"}


def noted(pairs: list[tuple[str, str]], target: str) -> Counter[str]:
    chatter = Chatter("count", target)
    return Counter(note for source, text in pairs for note in chatter.read(source, text)[1])


def test_the_lab_s_sentences_have_no_chatter():
    from babelscope.testsets import load
    from babelscope.testsets.items import ParallelSentence

    items = [item for item in load("lab:parallel?n=200").items if isinstance(item, ParallelSentence)]
    there = [(item.source, item.references[0]) for item in items]
    assert len(there) == 200
    assert noted(there, "German") == {}
    assert noted([(text, source) for source, text in there], "English") == {}


@pytest.mark.parametrize("target", ["de", "fr", "cs", "en"])
def test_references_of_multi30k_have_no_chatter(target, shared):
    """None of the 1,000 references per language; docs/howto/prompts.md states the rate over the training set too."""
    folder = shared / "data" / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"no multi30k at {folder}")
    source = "de" if target == "en" else "en"
    texts = [multi30k(folder, "test_2016_flickr", each) for each in (source, target)]
    assert noted(list(zip(*texts, strict=True)), NAMES[target]) == {}


def multi30k(folder: Path, split: str, language: str) -> list[str]:
    data = gzip.decompress((folder / f"{split}.{language}.gz").read_bytes())
    return data.decode().split("\n")[:-1][:8000]


def test_the_tables_are_whole():
    """Every language of the table of names is known to the identifier."""
    import tomllib

    from babelscope.language.fitness import is_known
    from babelscope.systems.prompting import chatter

    tables = tomllib.loads(Path(chatter.__file__).with_name("chatter.toml").read_text("utf-8"))
    assert [name for name, (code, *_) in tables["languages"].items() if not is_known(code)] == []
    assert all(len(pair) == 2 for pair in tables["quotes"])
