"""Notes on answers: what must be known of one beside its text, and is counted beside every figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Note = Literal[
    "truncated", "unfinished", "changed", "filtered", "stopped", "empty", "whole", "without_eos", "end_unscored",
    "unnamed", "other_prompt", "preamble", "quoted", "explained", "repeated", "refused", "wrong_language", "cleaned",
]  # fmt: skip
"""truncated: source or target was cut to the model's limit. unfinished: generation hit its limit before the
end of sentence. changed: the text does not survive tokenisation and detokenisation unchanged. filtered: a
server's content filter cut the answer. stopped: a server ended it for another reason of its own. empty: a server
answered, with no text. whole: one token stands for all, since only the whole target's log-probability is known.
without_eos: a server told the log-probabilities of a sample's tokens, but not that of its end of sentence.
other_prompt: the model was asked in another form than the only one that it was trained with.
end_unscored: a server scored a given text, but not its end of sentence, since nobody told it which token that is.
unnamed: a generated token has no name in the vocabulary, and no text.
The others are of `systems.chatter`. `TOLD` says what the last ones mean to a reader."""
CHATTER: Mapping[str, str] = {
    "preamble": "have a translation with words of the model before it",
    "quoted": "have a translation in quotation marks that the source does not have",
    "explained": "have a translation with a note or an explanation after it",
    "repeated": "have a translation with the source beside it",
    "refused": "have a refusal to translate in the place of a translation",
    "wrong_language": "have an answer in another language than the one that was asked for",
    "cleaned": "have a translation that chatter was cut off from",
}
"""Notes on what a model wrote around a translation, or in its place, as the end of a sentence about items."""
TOLD: Mapping[str, str] = {
    "other_prompt": "were asked by another prompt than the only one that the model was trained with, and can read",
    "end_unscored": "have scores without the end of the sentence: name the token that ends texts, such as eos=</s>",
    "unnamed": "have tokens without a name in the vocabulary: <id N> among the tokens, nothing in the text",
    **CHATTER,
}
"""All notes that every method counts and every summary tells."""


def told_counts(notes: Mapping[str, int]) -> dict[str, int]:
    """How many answers have each note of `TOLD`; only those that there are."""
    return {note: notes[note] for note in TOLD if notes.get(note)}
