"""Tables in every format: aligned, escaped, folded, nothing lost."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from rich.cells import cell_len

from babelscope.core.results import Estimate, Row, even_decimals, number
from babelscope.core.tables import (
    Column,
    Format,
    Line,
    Note,
    Table,
    all_rows,
    of_rows,
    readable,
    render,
    rows_text,
)

FORMATS: tuple[Format, ...] = ("text", "markdown", "latex", "csv", "html")
RATE = Column("error rate", "percent", digits=1)
MIXED = Table(
    "Errors by type",
    ["system", "error_type", "p", RATE, Column("difference", sign=True), "ties"],
    [
        Line(
            ["lab:teacher", "np_agreement", 0.04, Estimate(0.123, 0.101, 0.146, 40), 0.5, 3],
            system="lab:teacher",
            verdict="error",
            query={"system": "lab:teacher", "group": "a&b"},
            marks="†",
        ),
        Line(
            [
                "lab:student",
                "word_order",
                1.2e-7,
                Estimate.without_interval(0.5, 12, "2 sentences"),
                -2.0,
                1234,
            ],
            system="lab:student",
            verdict="too few items",
        ),
        Line(
            ["lab:student", "control", None, Estimate.empty(), None, None],
            system="lab:student",
            is_control=True,
        ),
    ],
    labels=3,
    notes=[
        Note("† on its own output", "lab:teacher"),
        Note("2 items were cut", "lab:student"),
        Note("2 items were cut", "lab:teacher"),
        Note("2 items were cut", "lab:student"),
        Note("a warning of everything"),
    ],
)
SHOWN = [
    *("system", "error_type", "p", "n", "error rate, %", "difference", "ties"),
    "verdict",
]


def latex_cells(made: str) -> list[list[str]]:
    lines = made.split("\\midrule\n")[1].split("\\bottomrule")[0].strip().split("\n")
    return [line.removesuffix(" \\\\").split(" & ") for line in lines]


def latex_headings(made: str) -> list[str]:
    return made.split("\\toprule\n")[1].split(" \\\\\n\\midrule")[0].split(" & ")


def csv_rows(made: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(made)))


def test_text():
    title, heading, rule, *lines = render([MIXED], "text", signature="sha:1").split("\n")
    assert title == "Errors by type ([95 % interval])"
    assert re.split(r" {2,}", heading) == SHOWN
    assert len(heading) == len(rule)
    cells = [re.split(r" {2,}", line) for line in lines[:3]]
    assert cells == [
        ["lab:teacher", "np_agreement", "0.04", "40", "12.3 [10.1, 14.6]†", "+0.5", "3", "error"],
        [
            *(
                "lab:student",
                "word_order",
                "< 0.0001",
                "12",
                "50.0 (no interval: 2 sentences)",
                "-2",
                "1,234",
            ),
            "too few items",
        ],
        ["lab:student", "control", "–", "control"],
    ]
    assert lines[3:] == [
        "lab:teacher: † on its own output",
        "2 items were cut",
        "a warning of everything",
        "sha:1",
    ]


def test_markdown():
    lines = render([MIXED], "markdown", signature="sha:1").split("\n")
    assert lines[0] == "**Errors by type ([95 % interval])**"
    assert lines[3] == "|---|---|---|---:|---:|---:|---:|---:|"
    assert lines[4] == "| lab:teacher | np_agreement | 0.04 | 40 | 12.3 [10.1, 14.6]† | +0.5 | 3 | error |"
    assert lines[-1] == "`sha:1`"
    assert {len(line.split(" | ")) for line in lines if line.startswith("| ")} == {8}


def test_a_wide_latex_table_has_systems_as_lines_and_intervals_below():
    kinds = ("accuracy in forced choice", "errors in its own translations")
    headings: list[str | Column] = [
        "error type",
        *(Column(kind, "percent", system=name) for kind in kinds for name in ("one", "two")),
    ]
    half, whole = Estimate(0.5, 0.25, 0.75, 40), Estimate(1.0, 0.9, 1.0, 40)
    made = render([Table("t", headings, [["a_b", half, whole, half, None]])], "latex")
    assert r"\shortstack{accuracy in\\forced choice, \%}" in made
    rows = [line for line in made.split("\n") if line.endswith(r" \\") and "&" in line][1:]
    assert rows == [
        r"a b & one & 50.0 & 50.0 \\",
        r" &  & {\scriptsize [25.0, 75.0]} & {\scriptsize [25.0, 75.0]} \\",
        r"a b & two & 100.0 &  \\",
        r" &  & {\scriptsize [90.0, 100.0]} &  \\",
    ]


def test_latex_has_columns_of_intervals_and_says_why_there_is_none():
    made = render([MIXED], "latex", signature="contrast|sha:1")
    assert latex_headings(made) == [
        "system",
        "error type",
        "p",
        "n",
        "error rate, \\%",
        "95 \\% interval",
        "difference",
        "ties",
        "verdict",
    ]
    assert latex_cells(made) == [
        [
            "lab:teacher",
            "np agreement",
            "0.0400",
            "40",
            "12.3\\dag{}",
            "[10.1, 14.6]",
            "+0.500",
            "3",
            "error",
        ],
        [
            *("lab:student", "word order", "$<$ 0.0001", "12", "50.0", "–$^{1}$", "$-$2.000", "1,234"),
            "too few items",
        ],
        ["lab:student", "control", "", "", "–", "", "", "", "control"],
    ]
    assert "\\par\\noindent $^{1}$ no interval: 2 sentences\n" in made
    assert "\\par\\noindent lab:teacher: \\dag{} on its own output\n" in made
    fitting = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    assert made.startswith(f"% Errors by type\n{{\\small\\noindent\n{fitting}\n\\begin{{tabular}}")
    assert made.endswith("\n% contrast|sha:1")


def test_csv_has_plain_numbers():
    made = render([MIXED, Table("other", ["a"], [["b"]])], "csv", signature="sha:1")
    first, second = made.split("\n\n")
    title, *lines = first.split("\n")
    assert title == "# Errors by type"
    heading, *rows = csv_rows("\n".join(line for line in lines if not line.startswith("#")))
    figures = ["error rate", "low", "high", "n", "no_interval", "difference", "ties"]
    assert heading == ["system", "error_type", "p", *figures, "marks", "verdict"]
    teacher = ["0.123", "0.101", "0.146", "40", "", "0.5", "3"]
    student = ["0.5", "", "", "12", "2 sentences", "-2.0", "1234"]
    assert rows == [
        ["lab:teacher", "np_agreement", "0.04", *teacher, "†", "error"],
        ["lab:student", "word_order", "1.2e-07", *student, "", "too few items"],
        ["lab:student", "control", "", "", "", "", "0", "", "", "", "", "control"],
    ]
    assert lines[-1] == "# a warning of everything"
    assert second == "# other\na\nb\n# sha:1"


def test_csv_names_the_parts_of_several_figures():
    third = Estimate(1 / 3, 0.25, 0.5, 9)
    table = Table("t", ["a", Column("accuracy", "percent", system="s"), "b"], [["x", third, third]])
    heading, row = csv_rows(render([table], "csv"))[1:]
    assert heading[1:5] == ["accuracy, s", "accuracy, s low", "accuracy, s high", "accuracy, s n"]
    assert row[1] == str(1 / 3)


def test_html():
    made = render([MIXED], "html", signature="sha:1")
    assert "<caption>Errors by type ([95 % interval])</caption>" in made
    assert '<tr data-query="system=lab%3Ateacher&amp;group=a%26b"><th scope="row">lab:teacher</th>' in made
    assert '<tr class="control">' in made
    assert '<td class="num">12.3 [10.1, 14.6]†</td>' in made
    assert '<p class="note">2 items were cut</p>' in made
    assert made.endswith("<code>sha:1</code>")


HOSTILE = "\x1b[31m\u202e<img src=x>|a&b_c%\\input{x}$~^#\n=cmd()"


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_of_strangers_steers_a_terminal_page_or_paper(format):
    table = Table(
        HOSTILE,
        [HOSTILE, Column("x", system=HOSTILE)],
        [Line([HOSTILE, Estimate.without_interval(1.0, 2, HOSTILE)], system="s", marks="†")],
        notes=[Note(HOSTILE, HOSTILE)],
    )
    made = render([table], format, signature=HOSTILE)
    if format == "html":  # the page itself makes hidden characters visible
        assert "<img" not in made
        assert html.escape(HOSTILE) in made
        return
    assert not {"\x1b", "\u202e"} & set(made)
    assert "\n=cmd" not in made
    if format == "latex":
        code = "\n".join(line for line in made.split("\n") if not line.startswith("%"))
        assert "\\input" not in code
        # A percent sign of ours ends a line, where it keeps TeX from reading a space.
        assert not re.search(r"(?<!\\)[%#]", code.replace("{!}{%\n", ""))
    if format == "markdown":
        assert not re.search(r"(?<!\\)\|a", made.split("\n")[2])


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "+1"),
        ("+x", "'+x"),
        ("-0.5", "-0.5"),
        ("-2+3+cmd|x", "'-2+3+cmd|x"),
        ("@sum", "'@sum"),
        (-0.5, "-0.5"),
        ('a,"b"', 'a,"b"'),
        (math.nan, ""),
    ],
)
def test_a_spreadsheet_runs_nothing(cell, written):
    assert csv_rows(render([Table("t", ["a"], [[cell]])], "csv"))[2] == [written]


def test_text_folds_to_eighty_columns_and_cuts_no_note():
    note = "a long warning " * 20
    wide = replace(MIXED, title="title " * 30, notes=[*MIXED.notes, Note(note.strip())])
    lines = render([wide], "text", width=80).split("\n")
    assert all(cell_len(line) <= 80 for line in lines)
    words = " ".join(" ".join(lines).split())
    assert note.strip() in words
    for expected in ("12.3 [10.1, 14.6]†", "50.0 (no interval: 2 sentences)", "too few items", "1,234"):
        assert expected in words


A, B, C = (Estimate(0.5, 0.25, 0.75, n) for n in (40, 40, 12))
NONE = Estimate.empty()


@pytest.mark.parametrize(
    ("rows", "title", "headings", "first", "in_latex"),
    [
        ([[A, B], [A, NONE]], "t ([95 % interval]; n = 40)", ["s", "x", "y"], "0.5 [0.25, 0.75]", 5),
        ([[A, B], [C, NONE]], "t ([95 % interval])", ["s", "n", "x", "y"], "40", 6),
        ([[A, C], [A, None]], "t ([95 % interval])", ["s", "x", "y"], "0.5 [0.25, 0.75], n=40", 7),
        ([["1", "2"], ["3", 4]], "t", ["s", "x", "y"], "1", 3),
    ],
)
def test_n_is_written_as_rarely_as_it_can_be(rows, title, headings, first, in_latex):
    table = Table("t", ["s", "x", "y"], [["a", *row] for row in rows])
    lines = render([table], "markdown").split("\n")
    assert lines[0] == f"**{title}**"
    assert lines[2].strip("| ").split(" | ") == headings
    assert lines[4].strip("| ").split(" | ")[1] == first
    assert len(latex_headings(render([table], "latex"))) == in_latex


def test_notes_name_systems_unless_they_are_all():
    def below(*notes: Note) -> list[str]:
        columns = [Column("", system=name) for name in ("a", "b", "c")]
        return render([Table("t", columns, [[1, 2, 3]], 0, notes=notes)], "text").split("\n")[4:]

    assert below(Note("cut", "b"), Note("cut", "a"), Note("cut", "b")) == ["b, a: cut"]
    assert below(*(Note("cut", name) for name in "abc")) == ["cut"]
    assert below(Note("cut", "a"), Note("cut")) == ["cut"]
    assert below(Note("cut", "a"), Note("lost", "a")) == ["a: cut", "a: lost"]


def test_a_column_of_a_paper_has_as_many_decimals_in_every_row():
    estimates = [Estimate(0.5, 0.25, 0.75, 9), Estimate(-0.12346, -1.0, 10.25, 9), Estimate(12, 11.5, 13, 9)]
    made = render([Table("t", ["x"], [[each] for each in estimates], 0)], "latex")
    assert latex_cells(made) == [
        ["0.500", "[0.250, 0.750]"],
        ["$-$0.123", "[$-$1.000, 10.250]"],
        ["12.000", "[11.500, 13.000]"],
    ]
    share = Table("t", [Column("x", "percent")], [[Estimate(0.005, 0.0, 0.75, 9)]], 0)
    assert latex_cells(render([share], "latex")) == [["0.5", "[0.0, 75.0]"]]


@pytest.mark.parametrize("width", [3, 12])
def test_latex_is_balanced(width, tmp_path):
    rows = [
        Line(
            [f"row_{n} {HOSTILE if n else ''}".replace("\x1b", ""), *([A] * width)], marks="†‡§¶", system="s"
        )
        for n in range(3)
    ]
    table = Table("t", ["system", *(f"x_{n}" for n in range(width))], rows, notes=[Note(HOSTILE, "s")])
    made = render([table, MIXED], "latex", signature=HOSTILE)
    code = re.sub(r"\\[\\&%$#_{}]", "", re.sub(r"(?m)(?<!\\)%.*$", "", made))
    environments = re.findall(r"\\(begin|end)\{(\w+)\}", made)
    assert environments == [("begin", "tabular"), ("end", "tabular")] * 2
    assert code.count("{") == code.count("}")
    assert code.count("$") % 2 == 0
    for part in made.split("\\begin{tabular}{")[1:]:
        columns = part.split("}")[0]
        lines = [line for line in part.split("\\end{tabular}")[0].split("\n") if line.endswith(" \\\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}
    if shutil.which("pdflatex"):
        packages = "\\usepackage[T1]{fontenc}\\usepackage{booktabs,graphicx}"
        page = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{made}\n\\end{{document}}\n"
        (tmp_path / "t.tex").write_text(page, "utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_rows_become_a_table():
    rows = [
        Row("all", A, {"method": "m", "system": "x", "note": "guessed"}, {"ties": 0, "wins": 0}),
        Row("all", NONE, {"method": "m", "system": "y", "p": 0.25, "k": 3}, {"ties": 0, "skipped": 2}),
    ]
    table = of_rows("title", rows, shown=("wins",))
    # What is the same in all rows is said once; counts that are nowhere are not said.
    assert table.title == "title: m"
    assert [column.heading for column in table.columns] == ["system", "p", "k", "value", "wins", "skipped"]
    assert [list(line.cells) for line in table.lines] == [
        ["x", None, None, A, 0, None],
        ["y", 0.25, "3", NONE, None, 2],
    ]
    assert table.lines[0].marks == "†"
    assert table.notes == [Note("† guessed")]
    assert all_rows("title", rows).title == "title: all: m"


def test_wide_characters_are_aligned_as_a_terminal_shows_them():
    rows = [Row("a", A, {"system": name}) for name in ("abcdef", "日本語")]
    one, other = rows_text(rows).split("\n")[3:]
    assert one.removeprefix("abcdef") == other.removeprefix("日本語")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("excess_errors", "excess errors"),
        ("*np_agreement", "*np agreement"),
        ("krg", "kRG"),
        ("lab:my_model", "lab:my_model"),
        ("A_b", "A_b"),
    ],
)
def test_keys_are_words_and_names_stay(key, words):
    assert readable(key) == words


def test_decimals():
    assert even_decimals([]) == 1
    assert even_decimals([math.nan, 0.0, 250.0]) == 1
    assert even_decimals([0.93, 250.0]) == 3
    assert even_decimals([1e-9]) == 4


@pytest.mark.parametrize(
    ("value", "decimals", "written"),
    [
        (-0.0001, 2, "0.00"),
        (-0.006, 2, "-0.01"),
        (math.nan, 2, "–"),
        (math.nan, None, "–"),
        (0.12345, None, "0.123"),
        (-999.6, None, "-1,000"),
        (123456.7, None, "123,457"),
        (-math.inf, None, "-inf"),
        (1.2e-7, None, "1.2e-07"),
    ],
)
def test_numbers(value, decimals, written):
    assert number(value, decimals) == written
