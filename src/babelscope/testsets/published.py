"""The public test sets: where each is published, sizes and SHA-256 of its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from babelscope.util.published import NamedSet, Project, PublishedFile, SetPart

_DISTIL = Project(
    "ZurichNLP/distil-lingeval",
    ("en", "de"),
    "code MIT; data on the terms of OPUS (hypercorrect_genitive) and of the WMT19 shared task (all others)",
    "Jannis Vamvas and Rico Sennrich. 2021. On the Limits of Minimal Pairs in Contrastive Evaluation. "
    "BlackboxNLP.",
)
_MUCOW_CITATION = (
    "Alessandro Raganato, Yves Scherrer and Jörg Tiedemann. 2019. The MuCoW Test Suite at WMT 2019: "
    "Automatically Harvested Multilingual Contrastive Word Sense Disambiguation Test Sets for Machine "
    "Translation. WMT."
)
_WINOMT = Project(
    "gabrielStanovsky/mt_gender",
    ("en", ""),
    "MIT",
    "Gabriel Stanovsky, Noah A. Smith and Luke Zettlemoyer. 2019. Evaluating Gender Bias in Machine "
    "Translation. ACL. Stereotype column: Jannis Vamvas and Rico Sennrich. 2021. Contrastive Conditioning "
    "for Assessing Disambiguation in MT: A Case Study of Distilled Bias. EMNLP.",
)

# Full commit ids, so that the file behind a URL cannot change.
_DISTIL_AT = f"{_DISTIL.repository}/9c6cabbb3aaa90af1c335f98d10bf5282f73f704/data"
_MUCOW_AT = "Helsinki-NLP/MuCoW"
_WINOMT_AT = "ZurichNLP/contrastive-conditioning/3f23f4ade9fcd6a3dd7b8faee1e7b6ce771f58e8"

_DISTIL_ERRORS = {
    "clause_omission": "a clause is left out",
    "hypercorrect_genitive": "a genitive where German has a dative (implausible error)",
    "np_agreement": "determiner and noun disagree",
    "placeholder_ding": "a noun is replaced by Ding (implausible error)",
    "polarity_affix_del": "a negative prefix is left out",
    "polarity_particle_kein_del": "kein is replaced by ein",
    "polarity_particle_nicht_del": "nicht is left out",
    "subj_verb_agreement": "subject and verb disagree",
}
# A line `set NAME ITEMS`, then bytes and SHA-256 of each of its files, where they are known.
_DISTIL_SETS = """\
set clause_omission.human 1104
222222 1f27db6e2dd052f92676d5be416a5ff5358c835be1c452138d39aad4634b9922
252200 ce67724cf3edeb9107b8ee337416b59b539eec8bb7d2a92e4a17c16bf1a2ae9d
171465 b088eea11c0fc2ea160cf7ae5c8a51f48f3621b6b200955fb21396c12cbc8b09
set clause_omission.mt 1025
198056 b6c770b2ab500ccd4c75e0fa3e685f9c9fbc5d68ac048e98e6a8e9f4987336bc
218554 08f522509a16148c1c8977161d8164cc02a509ecd2568628c4a77b9d08968f64
150273 dbf5ff31edcba398e292f3710dc6e3cb7da0d209dcf4190ee1f5dc8f6e580e94
set hypercorrect_genitive.human 3404
351964 df4a9b6966309f5038a913863b8c99ae36722fcc50dcccb36d3be9e66718eb4a
394066 b4cd0bbe057e533dd674c002042055b8b33ef1d804ec1ce87d2902527a7adab4
396912 2236018b603f66056638adae506082935d28ed4ae30bbc25aaecff19602c22d8
set np_agreement.mt 10595
1615966 3770804a78516287a25631530f5ae0f4ce253b05a3ae1639d67d943e783d09d6
1806529 cd58b4c2ae1eb5020c37813507ddf8e5a83339effdffcd5100e76739ea950722
1806529 42ce351d85a69425d81c1aed6c14e2f23d825013cb31e85680bd6ddfba5931f8
set placeholder_ding.human 18647
2256405 a973bdefd1fdeee0728aa436b6619cc87921f267a19a741bd1bdc8208f8ce8f3
2569393 87dd604195039db2d4400b6dafea989c774eeb5c941934f7cead31c25759c4e4
2477351 f4b2c4b6ebf6646a04a29865bb84d585cbec030a2fed6c6fbc1d37964eb4e90a
set placeholder_ding.mt 18659
2280057 2ab9fdbbab1e04687329ce83d5fe2d902bdcc9a0d6a30c9d542f77039359e330
2553195 c35907a6079df4ed70ae809ce6b5b6e6c4e659cde077d2e316cdc249e49d0e1a
2464015 5b11c7ef083f15d35d94016af096f2f9a281655264aef680d04826815f5174fe
set polarity_affix_del.human 408
58974 2c80ae8cc207c12ab27ae0182275750a642c065b1ced02dfb042b633d9afd974
67291 9880168c5c71556c4ca9a2731cc089f4ca34b5febfcfd59027cb956a07c28f89
66475 f9bebd44a82256e3cedc2d05a4f2e0587a1da39ec7fff72b939ac0e0d70835f8
set polarity_particle_kein_del.human 554
74778 1ea666d12b9b02714108c4b1bcab7f8429713b51e59d1f23333ee5a5008b314f
85614 c980c7ebf11a33229a639efe04fad43dfd5e8a8cbce47873cc4c643d1e115f20
85060 86a74f1d68defe33c63972f80d6c62549c07b51f5f6d5220862ac3c690279f36
set polarity_particle_kein_del.mt 201
26371 a987d64faf35449d84709360de4c307778d0a28f9c509cdfde0b1ef2c4324ba4
29601 4ab3f3f3015a6e60926e9303c23f9e3e019c932e7a551197887e6cbf0f874c19
29400 942825accf7f980e053b17ac6ad54fa112040161a7afa525ebe1aeee77cb62b9
set polarity_particle_nicht_del.human 2561
348180 0b0e0de9c4ac9f3858e70e1d93f82d0b4bf3ec582f3ecbab6216d51ed299cdb9
404820 391742b0ac8bf03322b2e60b6bcf2c1e25358cfe4d461c2c57afbe00fb47a03c
389454 d1610e48002b7ceb545cc365b33c68f1e6b8a890ef24df3daf9c07e0b5701b45
set polarity_particle_nicht_del.mt 888
113628 77ddb44a44f6db6d777c369351a96c05a100c8724bb512e04c4f08e8ca36fbc9
130263 ff0e8111af073745f053af8085fc72019760d6c9c5f3e8f25a52d979b282f82e
124935 4858a687aed2577f7d0fdca25689a6ed8a0b90ea7876680e57fd412a406434e8
set subj_verb_agreement.mt 6701
894411 273fe6e6cf24859bafe8e1fb57db3c30dcbfc7ab51a8105ebcf2487d176f06fd
1007088 6ac9189afd46463080e9e390ca113159a2bda346c476e965e289476a6e297a6c
1010069 c77fbe898c123b5b3913ebf5478b98656187232975335195af4dbf051e914539
set hypercorrect_genitive.mt 635
set np_agreement.human 24055
set polarity_affix_del.mt 180
set subj_verb_agreement.human 31978
"""


def _distil_facts() -> dict[str, tuple[int, list[tuple[int, str]]]]:
    found = {}
    for each in _DISTIL_SETS.split("set ")[1:]:
        name, items, *facts = each.split()
        found[name] = int(items), list(zip(map(int, facts[::2]), facts[1::2], strict=True))
    return found


def _distil_part(name: str, items: int, facts: Sequence[tuple[int, str]]) -> SetPart:
    files = (
        PublishedFile(f"distil-lingeval/{name}/{file}", f"{_DISTIL_AT}/{name}/{file}", *fact)
        for file, fact in zip(
            ("src.en", "tgt.correct.de", "tgt.incorrect.de"), facts or ((0, ""),) * 3, strict=True
        )
    )
    return SetPart(
        f"distil-lingeval/{name}", "distil-lingeval", f"distil-lingeval/{name}", items, tuple(files)
    )


def _distil_sets() -> list[NamedSet]:
    parts = {name: _distil_part(name, *facts) for name, facts in sorted(_distil_facts().items())}
    sets = [NamedSet("distil-lingeval", "all error types", _DISTIL, tuple(parts.values()))]
    for error, description in _DISTIL_ERRORS.items():
        both = [part for name, part in parts.items() if name.rpartition(".")[0] == error]
        sets.append(NamedSet(f"distil-lingeval/{error}", description, _DISTIL, tuple(both)))
        for part in both:
            kind = "human" if part.name.endswith(".human") else "machine"
            sets.append(NamedSet(part.name, f"{description}; {kind} references only", _DISTIL, (part,)))
    return sets


def _mucow_set(pair: str, items: int, remote: str, size: int, sha256: str) -> NamedSet:
    source, target = pair.split("-")
    project = Project(_MUCOW_AT, (source, target), "CC BY 4.0", _MUCOW_CITATION)
    local = f"mucow-scoring/{pair}.json"
    file = PublishedFile(local, f"{_MUCOW_AT}/{remote}", size, sha256)
    part = SetPart(f"mucow-scoring/{pair}", "mucow-scoring", local, items, (file,))
    return NamedSet(part.name, "a word translated in another of its senses", project, (part,))


_WINOMT_PART = SetPart(
    "winomt",
    "winomt",
    "winomt/test.tsv",
    3888,
    (
        PublishedFile(
            "winomt/test.tsv",
            f"{_WINOMT_AT}/tasks/data/winomt/test.tsv",
            380928,
            "b99c279bcb7aa70e324df735779a905ea0387790af4dc3c4a921fad184fdaa44",
        ),
    ),
)

# A line `remote local bytes SHA-256` a file of MuCoW's translation suite, as the conditioning paper used it.
_MUCOW_FILES = {
    "en-de": """\
old en-de.text.txt 353336 e45b6862d4ce67f27bf7f4bfb2f601839a9cbe7640e84caf86ba8881eae47402
old en-de.key.tsv 193675 f05b6994d614a4031ddf113214c71d90a181f4f384a8517fbf8303038efb2d77
new en-de.ref.txt 397624 5b7d7a308fe1b7732ca7a3486163f8ebf4fa80b7e2f510df4f90c1285cb5dc6b
new en-de.domain.tsv 11284 9b53c2d320baffc0b8bb71a231349966168a2271b07a145568481328a6d0e086
cues cues/en-de.insertions.roberta-large.jsonl 498521 26516e032fa21b4044acd3628e1a22e0155cdfe80d1211bcbcc10ac1c09d4cdf
counts counts/senses_en-de_count_results.json 13395 73c63840fe62e87da0733343c8e5bf1cd14abbe76d581d305bb0da4e493f0638
""",
    "en-ru": """\
mid en-ru.text.txt 166906 1d9f9c022f7f751c2895bbcc1258bf6256fc51401709ba26d04e4d2f8421f7ed
new en-ru.key.tsv 120901 57ca4a15987d51b931d1dafa4844932d858f8e857a28b902c5adeb7bab0f04e9
paper en-ru.ref.txt 0
mid en-ru.domain.tsv 7103 7a816d54cf411587e967d2fbb7c99a458485d67be89643b52b9cd3b33ac6e453
cues cues/en-ru.insertions.roberta-large.jsonl 267628 7f3e088cad766c17601d7e99ca9c403ecb75faaee951fa25c6dd6d7433c1535f
counts counts/senses_en-ru_count_results.json 15597 b45d40be07312c8b1dfb5c58b5f35a1421228e88120b5b2f257e9401270cc785
""",
}  # fmt: skip
_MUCOW_REMOTE = {
    "old": f"{_MUCOW_AT}/944e803b5d14ccdcf32e1202d6cc3948c4e0ceba/translation test suite/txt",
    "mid": f"{_MUCOW_AT}/5bdc8f6951a5352e4b2b7f100bff765fe629bc4d/translation test suite/txt",
    "new": f"{_MUCOW_AT}/805bdb906a3ae372e30dcebcfc94f6f617a595ae/WMT2019/translation test suite/txt",
    "paper": f"{_WINOMT_AT}/tasks/data/mucow",
    "cues": f"{_WINOMT_AT}/tasks/data/mucow/disambiguation_cues",
    "counts": f"{_WINOMT_AT}/data_analysis/results",
}


def _mucow_translation_set(pair: str, items: int) -> NamedSet:
    """The suite of a language pair, with the cues and the sense counts of the conditioning paper."""
    files = []
    for line in _MUCOW_FILES[pair].splitlines():
        where, local, size, *sha256 = line.split()
        remote = local.rpartition("/")[2].replace(".tsv", ".txt")
        path = f"{_MUCOW_REMOTE[where]}/{remote}"
        files.append(PublishedFile(f"mucow/{local}", path, int(size), "".join(sha256)))
    source, target = pair.split("-")
    more = (
        "Cues and sense counts (MIT): Jannis Vamvas and Rico Sennrich. 2021. Contrastive Conditioning. EMNLP."
    )
    project = Project(
        _MUCOW_AT, (source, target), "CC BY 4.0; cues and counts MIT", f"{_MUCOW_CITATION} {more}"
    )
    part = SetPart(f"mucow/{pair}", "mucow", f"mucow/{pair}", items, tuple(files))
    return NamedSet(part.name, "an ambiguous word in one of its senses, with cues", project, (part,))


SETS: Mapping[str, NamedSet] = {
    made.name: made
    for made in (
        *_distil_sets(),
        _mucow_set(
            "cs-en",
            3791,
            "f73aa2f36e824b2fcd65c9474fadb00f61080f6b/scoring test suite/json/cs-en.mucow.scoring.json",
            3231221,
            "044da1df7b5c391b1c3199c229f24386c94f703490f999f45f059baa20c2a183",
        ),
        _mucow_set(
            "tr-en",
            3723,
            "8d35167e02c3b23fb0ff812416b01e9ae7614040/scoring test suite/json/tr-en.mucow.json",
            3224246,
            "11c5f24608a753b79665e5a78488b1cf0f09cb23ab6c302ecb99ca9b7ff9ed1d",
        ),
        _mucow_translation_set("en-de", 3337),
        _mucow_translation_set("en-ru", 1814),
        NamedSet("winomt", "an occupation whose gender a pronoun tells", _WINOMT, (_WINOMT_PART,)),
    )
}
