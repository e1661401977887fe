"""Train the lab's parsers again: `python -m benchmarks.train_parsers FOLDER` writes lab-en.udpipe and lab-de.udpipe.

They are small on purpose, and know no lemmas: they show what a parser's mistakes do to a challenge set. UDPipe draws
random numbers of its own, so a model comes out a little different each time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.meaning import conllu
from babelscope.language.parsers import import_udpipe, words_file
from babelscope.language.ud import read_trees
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import replacing
from babelscope.util.text import read_line_bytes

# English particles are rarer and look like prepositions, so it needs more to learn from.
SENTENCES = {"en": 5000, "de": 2500}
SEED = 21
TOKENIZER = "epochs=2;dimension=16;tokenize_url=0;allow_spaces=0"
TAGGER = "iterations=6;use_lemma=0;provide_lemma=0;use_xpostag=0;provide_xpostag=0;guesser_suffix_rules=4"
PARSER = (
    "iterations=6;hidden_layer=100;embedding_form=30;structured_interval=0;use_gold_tags=1;l2=0.2;"
    "learning_rate=0.02"
)
# Relative clauses at the end of a German sentence cross other dependencies.
TRANSITIONS = {
    "en": "transition_system=projective;transition_oracle=static",
    "de": "transition_system=swap;transition_oracle=static_lazy",
}


def train_udpipe(
    trees: str | Path, model: str | Path, *, tokenizer: str = "", tagger: str = "", parser: str = ""
) -> None:
    """Train a UDPipe model on a CoNLL-U file; options as in UDPipe's manual, such as `epochs=20;dimension=16`.

    The words it was trained on are written beside it, since a UDPipe model cannot be asked which words it knows.
    """
    library = import_udpipe()
    reader = library.InputFormat.newConlluInputFormat()
    reader.setText(read_line_bytes(trees).decode("utf-8"))
    error = library.ProcessingError()
    sentences, sentence = library.Sentences(), library.Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = library.Sentence()
    if not error.occurred():
        made = library.Trainer.train(
            "morphodita_parsito", sentences, library.Sentences(), tokenizer, tagger, parser, error
        )
    if error.occurred():
        raise BabelscopeError(f"UDPipe cannot learn from {trees}: {error.message}")
    with replacing(Path(model)) as file:
        file.write(made)
    words = {word.form.lower() for tree in read_trees(trees) if tree is not None for word in tree.words}
    with replacing(words_file(Path(model))) as file:
        file.writelines(f"{word}\n".encode() for word in sorted(words) if any(map(str.isalpha, word)))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for code, transitions in TRANSITIONS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".conllu", encoding="utf-8") as trees:
            for number, pair in enumerate(generate(SENTENCES[code], SEED, "train"), 1):
                trees.write(conllu(pair.english if code == "en" else pair.german, str(number)))
            trees.flush()
            train_udpipe(
                trees.name,
                folder / f"lab-{code}.udpipe",
                tokenizer=TOKENIZER,
                tagger=TAGGER,
                parser=f"{PARSER};{transitions}",
            )


if __name__ == "__main__":
    main()
