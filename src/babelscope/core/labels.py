"""Names of phenomena in plain words, for people who have not read the papers."""

from __future__ import annotations

_PLAIN = {
    # Errors in minimal pairs.
    "auxiliary": "‘haben’ and ‘sein’ confused",
    "clause_omission": "a clause left out",
    "compound": "a compound written as two words",
    "hypercorrect_genitive": "a genitive where the dative belongs",
    "np_agreement": "an article of the wrong gender",
    "placeholder_ding": "‘Ding’ (thing) in place of a noun",
    "polarity_affix_del": "the negation ‘un-’ left out",
    "polarity_affix_ins": "the negation ‘un-’ added",
    "polarity_particle_kein_del": "‘kein’ (no) turned into ‘ein’ (a)",
    "polarity_particle_kein_ins": "‘ein’ (a) turned into ‘kein’ (no)",
    "polarity_particle_nicht_del": "‘nicht’ (not) left out",
    "polarity_particle_nicht_ins": "‘nicht’ (not) added",
    "subj_adequacy": "a verb of the wrong number after ‘sie’",
    "subj_verb_agreement": "a verb that does not agree",
    "transliteration": "letters of a name swapped",
    "verb_particle": "a wrong verb particle",
    # Long-distance dependencies.
    "particle": "verb and particle apart",
    "preposition_stranding": "a preposition without its object",
    "reflexive": "a reflexive pronoun apart",
    "reordering": "words far out of order",
    "reordering_crossing": "words in crossing order",
    "reordering_normalised": "words out of order for the length",
}


def plain_words(name: str) -> str:
    """What a phenomenon is called in sentences; one that we do not know by its own name."""
    return _PLAIN.get(name, name.replace("_", " "))
