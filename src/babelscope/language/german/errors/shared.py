"""Noun phrases: finding the noun of a determiner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from babelscope.language.base import Detector, Overlap, Token
from babelscope.language.german.analysis import Analyzed, word_set

# What may stand between a determiner and its noun.
_INSIDE = tuple(word_set("ADJA ADJD ADV CARD PIAT PTKA TRUNC VVPP PIDAT PPOSAT PROAV PTKNEG"))
_MARKS = frozenset("\"'„“”»«‚‘’/")
_BEFORE_OWN_ADJECTIVE = tuple(word_set("NN NE ADV ADJD PTKZU CARD PRF ADJA VVINF PIS PIAT PTKNEG"))
# Tokens between determiner and noun that are searched; attributes may have complements of their own.
_REACH = 10

# Prepositions with the dative that hypercorrect speech gives the genitive.
_PREPOSITIONS = word_set("entgegen entsprechend gegenüber gemäß nahe beinahe nebst mitsamt samt seit")
# What may stand between preposition and article: "seit fast einem Jahr", "seit mehr als einem Jahr".
_DEGREES = word_set(
    "als annähernd bereits circa erst etwa exakt fast gerade genau gut immerhin knapp kaum mehr mindestens nahezu nur"
    " rund schon sogar über ungefähr wenigstens"
)


def preposition_before(tokens: tuple[Token, ...], place: int, *, strict: bool = True) -> int | None:
    """Index of a preposition with the dative that governs the article at `place`; words of degree may be between."""
    before = place - 1
    while before > max(0, place - 3) and tokens[before].text.lower() in _DEGREES:
        before -= 1
    word = tokens[before].text.lower() if before >= 0 else ""
    # "beinahe dem Tod" has no preposition, nor has "seit dem Mann klar ist"; both are in the released sets.
    governs = not strict or (word != "beinahe" and tokens[before].tag not in ("KOUS", "PTKVZ"))
    return before if word in _PREPOSITIONS and governs else None


def clause_around(
    tokens: tuple[Token, ...], place: int, ends: tuple[str, ...] = ("$,", "$.")
) -> tuple[Token, ...]:
    """The tokens around `place`, up to the next on either side whose tag begins with one of `ends`."""
    first = next((n + 1 for n in range(place - 1, -1, -1) if tokens[n].tag.startswith(ends)), 0)
    last = next((n for n in range(place + 1, len(tokens)) if tokens[n].tag.startswith(ends)), len(tokens))
    return tokens[first:last]


def has_free_noun(clause: tuple[Token, ...]) -> bool:
    """Whether a part of a clause has a noun without a preposition: "Sie sind Schwestern"."""
    governed = False
    for token in clause:
        governed = token.tag.startswith("APPR") or (governed and not token.tag.startswith(("NN", "V")))
        if token.tag in ("NN", "NE") and not governed:
            return True
    return False


def noun_place_after(sentence: Analyzed, place: int) -> int | None:
    """Index of the noun of the phrase that begins at `place`; None if it has none."""
    tokens = sentence.tokens
    for here in range(place + 1, min(place + _REACH, len(tokens))):
        tag, text = tokens[here].tag, tokens[here].text
        if is_noun(tokens[here]):
            if _belongs_to_adjective(sentence, here):
                continue
            return here
        if text in _MARKS or tag.startswith(_INSIDE) or text[0].isdigit():
            continue
        # "in die eine Richtung", but "die eines Fahrers" has no noun.
        if here == place + 1 and tag == "ART" and text in ("eine", "einen"):
            continue
        # Adjectives are joined by commas and conjunctions: "der alte, aber schöne Garten".
        if (tag == "KON" or text == ",") and here > place + 1 and tokens[here - 1].tag == "ADJA":
            continue
        if tag == "KON" and tokens[here - 1].tag == "TRUNC":
            continue
        # After an adjective, a preposition begins another phrase: "die erste von vier Ausgaben".
        if tag.startswith(("APPR", "PTKZU", "PRF", "PPER")) and tokens[here - 1].tag != "ADJA":
            return _after_complement(tokens, here)
        return None
    return None


def is_noun(token: Token) -> bool:
    """Whether a token is a noun: "29-Jährige" is one, "60er" is not."""
    if token.text[0].isdigit():
        return "-" in token.text and token.text.rsplit("-", 1)[-1][:1].isupper()
    return token.tag in ("NN", "NE")


def _belongs_to_adjective(sentence: Analyzed, here: int) -> bool:
    """Whether a noun only modifies what follows it: "die Kiewer Führung", "der 3 Meter lange Tisch"."""
    tokens = sentence.tokens
    following = tokens[here + 1 : here + 3]
    word = tokens[here].text
    if word.endswith("er") and (tokens[here].tag == "NE" or not sentence.analyzer.nouns.listed(word)):
        return bool(following) and following[0].tag == "NN"
    measured = tokens[here - 1].tag == "CARD" or tokens[here - 1].text[0].isdigit()
    return measured and len(following) == 2 and following[0].tag == "ADJA" and is_noun(following[1])


def _after_complement(tokens: tuple[Token, ...], start: int) -> int | None:
    """Index of the noun after an attribute with a complement: "das in Bonn ansässige Unternehmen"."""
    for here in range(start + 1, min(start + _REACH, len(tokens))):
        tag = tokens[here].tag
        # A participle before a noun looks like a finite verb: "die von der Stadt bezahlte Feier".
        participle = tag == "VVFIN" and here + 1 < len(tokens) and is_noun(tokens[here + 1])
        if tag.startswith(("$", "KOU", "PREL")) or (tag.endswith("FIN") and not participle):
            return None
        described = is_noun(tokens[here]) and tokens[here - 1].tag in ("ADJA", "VVFIN") and here - 1 > start
        # An adjective right after a preposition or article belongs to the complement.
        if described and tokens[here - 2].tag.startswith(_BEFORE_OWN_ADJECTIVE):
            return here
    return None


# --- Finds negation in English sources and German translations -----------------------------------------------------


_SOURCE = re.compile(
    r"\b(?:not|cannot|no|never|none|nobody|nothing|nowhere|neither|nor|without|lack\w*|fail\w*|refus\w*|hardly"
    r"|scarcely|barely)\b|n[’']t\b",
    re.IGNORECASE,
)
_SOURCE_PARTICLE = re.compile(r"\b(?:not|cannot)\b|n[’']t\b", re.IGNORECASE)
_SOURCE_NO = re.compile(r"\b(?:no|none|not? an?|not any|n[’']t any)\b", re.IGNORECASE)
_AFFIXED = re.compile(
    r"\b(?:un(?!til\b|der|ion|ite?[ds]?\b|iv|ique|less\b|cles?\b|anim)\w{3,}|non-\w+|non(?:exist|sens)\w*"
    r"|in(?:accur|act|adeq|app|cap|comp|conv|cor|dep|dir|eff|sec|sens|stab|suff|tol|val|vis|vol)\w*"
    r"|im(?:mor|pat|perf|pol|poss|prob)\w*|ir(?:rat|reg|rel|resp|rev)\w*|il(?:leg|lit|log)\w*"
    r"|dis(?:ab|adv|agr|app|bel|cont|hon|int|like|loy|obe|ord|resp|sat|tru)\w*|\w{3,}less(?:ly)?)\b",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:nicht\w*|kein\w*|nie(?:mals|mand\w*)?|nirgend\w*|weder|ohne|nein|kaum|statt|anstatt|wenig\w*|fehl\w*"
    r"|mangel\w*|verweiger\w*|weiger\w*|sonst|sondern|un(?!d\b|ter|ser|s\b|i(?!n))\w+|miss\w{3,}|anti\w+"
    r"|in(?:akz|dir|effi|komp|kons|stab|tol|val)\w*|irr(?:eg|el|at)\w*|illeg\w*|gegen\w*|verlier\w*|verlor\w*"
    r"|\w{2,}(?:los|frei|leer|widrig)(?:e[nmrs]?|igkeit)?)\b",
    re.IGNORECASE,
)

# Words that need a negation right after or before them: "gar nicht", "nicht einmal", "noch kein".
_NEED_AFTER = word_set("gar überhaupt noch lange längst weitem oder ob wenn falls wie fast beinahe schon")
_NEED_BEFORE = word_set(
    "allein allzu bloß dass einmal eben etwa gerade lediglich länger mal mehr minder nur sonderlich umhin umsonst"
    " unbedingt wahr weiter weniger wirklich zuletzt"
)
# Words that need one in their clause, or in the sentence before them.
_NEED_IN_CLAUSE = re.compile(
    r"mehr|je|jemals|jeglich\w*|irgend\w*|geringste\w*|mindesten|brauch\w*|bevor|ehe|bis|ungefähr"
)
_NEED_IN_SENTENCE = word_set("sondern geschweige vielmehr jemals überhaupt außer ob")  # "nicht sicher, ob"
# What begins a contrast to a negation, if no verb follows: "kein Hund, aber eine Katze".
_CONTRAST = word_set("aber allenfalls bloß dafür doch höchstens jedoch lediglich nur wohl")
_NEGATION = re.compile(
    r"nicht|nichts|kein\w*|nie|niemals|niemand\w*|nirgend\w*|weder|ohne|kaum|nein", re.IGNORECASE
)
_NEGATIVE_PREFIX = re.compile(r"un(?!d$|ter|ser|s$|i(?!n))\w+", re.IGNORECASE)
# Words that limit what a negation means, so that adding one gives no opposite: "immer nicht", "schon kein".
_LIMITING = word_set(
    "nur schon bereits erst fast mal immer stets oft meist meistens manchmal noch gern sogar wieder fast beinahe rund"
    " etwa höchstens mindestens auch"
)


def can_lose_negation(sentence: Analyzed, place: int) -> bool:
    """Whether a clause without its negation at `place` is grammatical and says the opposite."""
    tokens = sentence.tokens
    clause = clause_around(tokens, place)
    others = [token.text.lower() for token in clause if token is not tokens[place]]
    before = [token.text.lower() for token in tokens[max(0, place - 2) : place]]
    after = tokens[place + 1].text.lower() if place + 1 < len(tokens) else ""
    return not (
        set(before[-1:]) & _NEED_AFTER
        or "noch" in before
        or after in _NEED_BEFORE
        or any(_NEED_IN_CLAUSE.fullmatch(word) for word in others)
        or is_negated(sentence, place)
        or _goes_on(sentence, place)
        or any(token.text.lower() in _NEED_IN_SENTENCE for token in tokens[place:])
        # "Arzt und nicht Lehrer", "Arzt, nicht Lehrer"
        or (place > 0 and tokens[place - 1].tag == "KON")
        or not any(token.tag.endswith("FIN") or token.tag in ("PTKZU", "VVIZU") for token in clause)
        or is_asked(sentence, place)
    )


def _goes_on(sentence: Analyzed, place: int) -> bool:
    """Whether another part of the sentence needs the negation: "kein Hund, auch bei ihr nicht", "..., wohl aber"."""
    tokens = sentence.tokens
    also = any(token.text.lower() == "auch" for token in clause_around(tokens, place))
    marks = [here for here, token in enumerate(tokens) if token.tag in ("$,", "$.")]
    for start, end in pairwise((-1, *marks, len(tokens))):
        part = tokens[start + 1 : end]
        between = tokens[min(place, end) : max(place, start + 1)]
        if start < place < end or any(token.tag == "$." for token in between):
            continue  # its own part, or another sentence
        words = [token.text.lower() for token in part]
        negated = any(_NEGATION.fullmatch(word) for word in words)
        if any(token.tag.endswith("FIN") or token.tag in ("PTKZU", "VVIZU") for token in part):
            if words[:2] == ["wohl", "aber"] or (negated and (also or "auch" in words)):
                return True
        elif negated or (place < start and not _CONTRAST.isdisjoint(words[:2])):
            return True
    return False


def is_negated(sentence: Analyzed, place: int) -> bool:
    """Whether another word of the clause at `place` negates."""
    clause = clause_around(sentence.tokens, place)
    return any(_NEGATION.fullmatch(token.text) for token in clause if token is not sentence.tokens[place])


def can_take_negation(sentence: Analyzed, place: int) -> bool:
    """Whether a clause has a finite verb, no negation, and nothing that would limit one."""
    clause = clause_around(sentence.tokens, place)
    return (
        any(token.tag.endswith("FIN") for token in clause)
        and not any(token.text.lower() in _LIMITING for token in clause)
        and not is_negated(sentence, place)
        and not is_asked(sentence, place)
    )


def is_asked(sentence: Analyzed, place: int) -> bool:
    """Whether the sentence at `place` is a question, which a negation does not turn round."""
    ends = (token.text for token in sentence.tokens[place:] if token.text in (".", "!", "?"))
    return next(ends, "") == "?"


def source_has_particle(source: str) -> bool:
    """Whether an English sentence has "not"."""
    return bool(_SOURCE_PARTICLE.search(source))


def source_has_no(source: str) -> bool:
    """Whether an English sentence has "no" or "not a"."""
    return bool(_SOURCE_NO.search(source))


def source_has_affix(source: str) -> bool:
    """Whether an English sentence has a word negated by an affix."""
    return bool(_AFFIXED.search(source))


def source_negates(source: str, sentence: Analyzed) -> bool:
    """Whether an English sentence has a negation for each one of its translation, which may be free or mistaken."""
    n_source = len(_SOURCE.findall(source)) + len(_AFFIXED.findall(source))
    words = [token.text for token in sentence.tokens]
    return n_source >= sum(
        bool(_NEGATION.fullmatch(word) or _NEGATIVE_PREFIX.fullmatch(word)) for word in words
    )


def source_is_positive(source: str) -> bool:
    """Whether nothing in an English sentence negates."""
    return not (_SOURCE.search(source) or _AFFIXED.search(source))


def translation_is_positive(translation: Analyzed) -> bool:
    """Whether a German sentence has no negation in a wide sense, so that paraphrases are not taken for errors."""
    return not _TARGET.search(translation.text)


def lost_negation(source_has: Callable[[str], bool]) -> Detector:
    """A detector: the source has such a negation, and nothing in the translation negates."""
    return lambda source, translation: source_has(source) and translation_is_positive(translation)


# --- Keys by which two German translations share a phenomenon (minimal-pairs, section 3.3) -------------------------


_DATIVES = frozenset({"dem", "einem", "den"})
# Marks and conjunctions, which end a clause.
_ENDS = ("$", "KOU", "KON")
_NOMINAL = ("NN", "NE", "PPER", "PIS", "PDS", "PRELS")


def _noun(sentence: Analyzed, place: int) -> Token:
    at = noun_place_after(sentence, place)
    return sentence.tokens[at if at is not None else min(place + 1, len(sentence.tokens) - 1)]


def _by_preposition(sentence: Analyzed, place: int, word: str) -> frozenset[str]:  # noqa: ARG001
    case = "dative" if sentence.tokens[place].text.lower() in _DATIVES else "genitive"
    before = preposition_before(sentence.tokens, place, strict=False)
    preposition = sentence.tokens[max(0, place - 1) if before is None else before]
    return frozenset({f"{preposition.text.lower()} {case}"})


def _negation_is_lost(sentence: Analyzed, reference: Analyzed, place: int) -> bool:
    """Whether a sentence has what the negation at `place` of the reference belongs to, but no negation."""
    known = _content_words(reference, place)
    return translation_is_positive(sentence) and any(t.lemma.lower() in known for t in sentence.tokens)


def _content_words(sentence: Analyzed, place: int) -> frozenset[str]:
    """Lemmas that a particle or auxiliary may belong to: verbs, predicate and next content word of its clause."""
    clause = clause_around(sentence.tokens, place, _ENDS)
    verbs = {token.lemma for token in clause if token.tag.startswith(("VV", "ADJD"))}
    after = (token for token in clause if token.start > sentence.tokens[place].start)
    following = next(
        (token.lemma for token in after if token.tag.startswith(("NN", "NE", "ADJ", "VV"))), None
    )
    return frozenset(word.lower() for word in (*verbs, following) if word)


def _subjects(sentence: Analyzed, place: int) -> Iterator[str]:
    """Possible subjects of the verb at `place`: nouns and pronouns of its clause that follow no preposition."""
    prepositional = False
    for token in clause_around(sentence.tokens, place, _ENDS):
        if token.tag.startswith("APPR"):
            prepositional = True
        elif token.tag in _NOMINAL:
            if not prepositional:
                yield token.text.lower()
            prepositional = False


BY_NOUN = Overlap(lambda sentence, place, word: frozenset({f"{word} {_noun(sentence, place).text}"}))
BY_KEIN = Overlap(
    lambda sentence, place, word: frozenset({f"{word} {_noun(sentence, place).lemma}"}),
    # The endings of kein- and ein- do not matter for polarity.
    plain=lambda word: re.sub(r"^(k?ein)e[nmrs]?$", r"\1", word.lower()),
)
BY_CLAUSE = Overlap(
    lambda sentence, place, word: frozenset(f"{word} {each}" for each in _content_words(sentence, place))
)
# Infinitives look like plurals, so the token must be finite.
BY_SUBJECT = Overlap(
    lambda sentence, place, word: frozenset(f"{word} {each}" for each in _subjects(sentence, place)),
    can_be_wrong=lambda token: token.tag.endswith("FIN"),
)
# Only the article is compared: the noun may differ.
BY_PREPOSITION = Overlap(_by_preposition, n_compared=1)
NEGATION_DELETED = Overlap(is_lost=_negation_is_lost)
KEIN_DELETED = replace(BY_KEIN, is_lost=_negation_is_lost)
NICHT_DELETED = replace(BY_CLAUSE, is_lost=_negation_is_lost)
