"""Characters that steer or hide text."""

import re
import unicodedata
from importlib.resources import files

import pytest

from babelscope.util.characters import HIDDEN, PATTERN, mark_hidden, name_of


@pytest.mark.parametrize(
    "character",
    [
        *"\x00\x07\x1b\r\x0b\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e",
        *"\u2060\u2066\u2067\u2068\u2069\ufeff\ufff9\ufffa\ufffb\ud800\udfff\U000e0001\U000e0041",
    ],
    ids=name_of,
)
def test_what_steers_or_hides_is_found(character: str) -> None:
    assert HIDDEN.fullmatch(character)


@pytest.mark.parametrize(
    "text",
    [
        "tab\tand\nnewline, no-break\u00a0space",
        "می\u200cخواهم",
        "क\u094d\u200dष",
        "👩\u200d💻 ❤\ufe0f",
        "ភាសា\u200bខ្មែរ, soft\xadhyphen",
        "葛\U000e0100",
        "שלום עולם, e\u0301",
        "\ufffd",
    ],
)
def test_what_people_write_with_stays(text: str) -> None:
    assert not HIDDEN.search(text)


def test_every_control_and_format_character_is_decided() -> None:
    """What Unicode calls control or format is found, but for what is said to be text."""
    kept = {
        chr(number)
        for number in range(0x110000)
        if unicodedata.category(chr(number)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
        and not HIDDEN.match(chr(number))
    }
    joiners = set("\t\n\xad\u200b\u200c\u200d\u180e")
    # Signs that are seen: Arabic and Syriac marks, Kaithi and Egyptian ones.
    seen = {
        c
        for c in kept
        if ord(c) in {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    }
    seen |= {c for c in kept if 0x13430 <= ord(c) <= 0x1343F}
    assert kept == joiners | seen


def test_a_name() -> None:
    assert (name_of("\x1b"), name_of("\u202e"), name_of("\U000e0041")) == ("U+001B", "U+202E", "U+E0041")


def test_it_is_shown_by_its_number() -> None:
    assert mark_hidden("abc\u202e\u2066d") == "abc⟦U+202E⟧⟦U+2066⟧d"
    assert mark_hidden("a" + "\u2060" * 2004) == "a" + "⟦U+2060⟧" * 4 + "⟦2,000 more⟧"
    assert mark_hidden("שלום\tabc\n") == "שלום\tabc\n"


def test_pages_have_the_same_table() -> None:
    script = (files("babelscope.util") / "visible.js").read_text("utf-8")
    pattern = re.sub(r"\\U0*([0-9a-f]+)", r"\\u{\1}", PATTERN)
    assert f"/({pattern}+)/u" in script
