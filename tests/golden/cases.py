"""The cases: commands that are run one after another in a folder with the files of `data.py`."""

# ruff: noqa: E501
from __future__ import annotations

_BOTH = "--system lab:teacher --system lab:student"
_OWN = "--tests parallel:own.en,own.de --system file:first.de --system file:second.de"
_STUB = "openai:{server}/v1#m?source=English&target=German"

CASES: dict[str, list[str]] = {
    # --- systems: what they answer ---
    "systems/lab": [
        "translate --system lab:teacher a.en --json",
        "score --system lab:teacher own.en --target own.de --json",
        "translate --decode sample --system lab:teacher a.en --n 4 --json",
        "translate --decode sample --system lab:unsmoothed a.en --n 4 --temperature 0.7 --set top_k=9 --set top_p=0.9 --set epsilon=0.01 --seed 3 --json",
        "translate --decode mbr --system lab:teacher own.en --n 8 --json",
        "translate --decode mbr --system lab:teacher a.en --n 8 --metric bleu --set weights=probability --json",
        "translate --decode mbr --system lab:teacher a.en --n 8 --set aggregate=2 --json",
    ],
    "systems/search": [
        "translate --decode exact --system lab:student a.en --n 4 --json",
        "translate --decode exact --system lab:unsmoothed own.en --n 3 --budget-expansions 40 --json",
        "translate --decode exact --system lab:teacher a.en --n 2 --set length=1..6 --json",
        "translate --decode exact --system lab:teacher a.en --n 3 --set length_penalty=1.0 --set max_length=12 --json",
    ],
    "systems/other-types": [
        "translate --decode exact --system lab:student a.en --n 1 --json",
        "translate --decode exact --system lab:student?dtype=float64 a.en --n 2 --json",
        "translate --decode sample --system lab:student?dtype=float64 a.en --n 2 --json",
        "translate --decode exact --system lab:llm?dtype=float64 a.en --n 2 --budget-expansions 100 --json",
        "translate --decode sample --system lab:llm?dtype=float64 a.en --n 2 --json",
    ],
    "systems/python": ["python distinct", "python own_model"],
    "systems/ensemble": [
        "score --system ensemble:lab:teacher,lab:teacher-2 a.en --target a.de --json",
        "translate --system ensemble:lab:teacher,lab:teacher-2 a.en --beam 3 --json",
        "translate --decode exact --system ensemble:lab:student,lab:student-2 a.en --n 2 --budget-expansions 200 --json",
        "translate --decode sample --system ensemble:lab:student,lab:student-2 a.en --n 2 --json",
    ],
    "systems/llm": [
        "translate --system lab:llm a.en --json",
        "score --system lab:llm own.en --target own.de --json",
        "translate --decode sample --system lab:llm a.en --n 3 --json",
        "translate --decode exact --system lab:llm a.en --n 2 --budget-expansions 300 --json",
    ],
    **{
        f"systems/{family}": [
            f"score --system {{{family}}} toy.en --target toy.de --json",
            f"translate --system {{{family}}} toy.en --beam 3 --json",
            f"translate --decode sample --system {{{family}}} toy.en --n 2 --json",
            f"translate --decode exact --system {{{family}}} toy.en --n 2 --budget-expansions 60 --json",
        ]
        for family in ("marian", "fsmt", "nllb", "mbart50", "t5", "llama", "gpt2")
    },
    "systems/ct2": [
        "score --system {ct2} toy.en --target toy.de --json",
        "translate --decode sample --system {ct2} toy.en --n 2 --json",
    ],
    "systems/black-boxes": [
        "translate --system 'cmd:tr a-z A-Z' a.en --json",
        "translate --system file:own.de own.en --json",
        "translate --system lists:top.moses own.en --json",
        "translate --system '{http}' a.en --json",
        "translate --system '" + _STUB + "' a.en --json",
        "translate --decode sample --system '" + _STUB + "' a.en --n 3 --json",
        "score --system '" + _STUB + "&logprobs=vllm' a.en --target a.de --json",
    ],
    "systems/plug-in": [
        "translate --system toy:1 toy.abc --json",
        "score --system toy:1 toy.abc --target toy.abc --json",
        "contrast --system toy:1 --system toy:2 --tests toy-pairs.jsonl --json",
        "space --system toy:1 --tests toy-sentences.jsonl --k 0 --samples 20 --json",
    ],
    # --- contrast ---
    "contrast/lab": [f"contrast {_BOTH} --tests lab:pairs?n=4&seed=1 --json --out run"],
    "contrast/own": [
        "contrast --system lab:student --tests pairs.jsonl --group-by domain --group-by length --json --out records",
        "contrast --system lab:student --tests pairs.jsonl --protocol paper --json",
        "contrast --system lab:student --tests pairs.jsonl --protocol released --json",
        "contrast --system lab:student --tests pairs.jsonl --score total --set controls=polarity --json",
    ],
    "contrast/scores": [
        "contrast --tests pairs.jsonl --system pairs.scores=scores:pairs.scores?layout=interleaved&direction=lower --set ties=wrong --json --out run",
        "contrast --tests pairs.jsonl --system scores:pairs.scores?layout=interleaved --set ties=half --json",
        "contrast --rejudge run --set ties=correct --json --out again",
    ],
    "contrast/without-variants": [
        "contrast --tests mucow-scoring:scoring.json --system scores:scoring.scores?direction=lower --json",
        "contrast --tests mucow-scoring:scoring.json --system scores:scoring.scores?direction=lower --set without_variants=correct --json",
    ],
    "contrast/machine": [
        "contrast --system lab:student --tests lab:pairs?n=5&seed=2 --machine-references lab:control "
        "--json --out asked",
        "annotate asked --queue queue.jsonl --queue-size 6 --queue-only",
    ],
    "contrast/seeds": [
        "contrast --system lab:student --system lab:student-2 --system lab:student-3 --set seed_group=lab:student* "
        "--tests lab:pairs?n=2&seed=4 --set spread=0 --json",
    ],
    "contrast/answers": [
        "prompted-choice --system '" + _STUB + "' --tests pairs.jsonl --json --out run",
        "prompted-choice --system '" + _STUB + "' --tests pairs.jsonl --json",
        "contrast --system '" + _STUB + "&logprobs=vllm' --tests pairs.jsonl --json --out records",
    ],
    "contrast/prompts": [
        "contrast --system lab:llm --set prompt=lines --set prompt=instruction --set prompt=question --tests lab:pairs?n=1&seed=2 --set spread=5 --json"
    ],
    # --- likelihood, quality, errors ---
    "likelihood/both": [
        f"likelihood {_BOTH} --tests lab:parallel?n=20&seed=3 --json --out run",
        "likelihood --system lab:teacher --tests lab:parallel?n=20&seed=3 --set references=first --group-by length --json",
        "likelihood --system lab:teacher --tests parallel:twice.en,twice.de --json",
        "compare run --json",
    ],
    "quality/own": [
        f"quality {_OWN} --metric bleu --metric chrf --metric chrf++ --metric ter --metric ribes --json --out run",
        "quality --rejudge run --metric chrf --tokenize intl --json --out records",
        "quality --tests parallel:twice.en,twice.de --system file:twice-first.de --system file:twice.de --json",
        "compare run --json",
        f"quality {_OWN} --metric chrf --tokenize char --out asked",
        "annotate asked --queue queue.jsonl --queue-size 5 --queue-only",
    ],
    "quality/lab": [f"quality {_BOTH} --tests lab:parallel?n=24&seed=8 --group-by length --beam 2 --json"],
    "errors/own": [
        f"errors {_OWN} --target-language de --json --out run",
        "annotate run --queue queue.jsonl --queue-only",
        "compare run --json",
        "errors --system lab:student --tests lab:pairs?n=3&seed=3 --json",
    ],
    # --- condition, patterns ---
    "condition/gender": [
        "condition --system lab:student --evaluator lab:teacher --tests lab:gender?n=40&seed=1 --json --out run",
        "condition --rejudge run --protocol paper --json --out paper",
        "condition --rejudge run --protocol released --set ties=wrong --likelihood total --json",
        "compare run --json",
    ],
    "condition/senses": [
        "condition --system lab:student --system lab:unsmoothed --evaluator lab:teacher --tests lab:senses?n=40 "
        "--group-by category --json --out records",
        "annotate records --queue queue.jsonl --queue-only",
    ],
    "condition/bad-evaluator": [
        "condition --system lab:teacher --evaluator lab:hard-unsmoothed --tests lab:senses-other?n=24 --set preflight=20 --json",
    ],
    "condition/given": [
        "translate --system lab:student sources.en --to given.de",
        "condition --tests ambiguous.jsonl --system given.de=file:given.de?format=auto --evaluator lab:teacher --json",
        "condition --tests ambiguous.jsonl --system given.de=file:given.de?format=auto --evaluator scores:two.scores --json",
    ],
    "condition/answers": [
        "prompted-choice --tests ambiguous.jsonl --system lab:student --evaluator '"
        + _STUB
        + "' --json --out run",
    ],
    "patterns/winomt": [
        "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system wino.de=file:wino.de?format=auto --target de --json --out run",
        "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system wino.de=file:wino.de?format=auto --target de --protocol paper --json",
        "annotate --sample run --queue sampled.jsonl --queue-size 4",
    ],
    "patterns/mucow": [
        "condition --judge mucow --tests mucow:senses?all=yes --system senses.de=file:senses.de?format=auto --lemmatize de --json --out records",
        "condition --judge mucow --tests mucow:senses?all=yes --system senses.de=file:senses.de?format=auto --set word_matching=conditioning --json",
    ],
    "patterns/flow": [
        "flow --source doctors.en --target doctors.de --words lab:occupations --json --flows flows.json",
    ],
    # --- space ---
    "space/both": [
        f"space {_BOTH} --tests lab:parallel?n=8&seed=1 --k 4 --samples 12 --set mbr_samples=8 --set curves=yes --json --out run "
        "--set segments=segments.jsonl",
        "space --rejudge run --metric bleu --set normalize=ideal --set gains=exponential --set ties=random --json --out records",
        "compare run --json",
    ],
    "space/confidence": [
        "space --system lab:unsmoothed --tests lab:parallel?n=6&seed=2 --k 3 --samples 10 --set confidence=yes --set beams=1,4 --json",
    ],
    "space/budget": [
        "space --system lab:teacher --tests lab:parallel?n=8&seed=4 --k 3 --samples 4 --budget-expansions 20 --json --out run",
        "space --rejudge run --set unresolved=leave-out --json",
    ],
    "space/lists": [
        "space --system 'top=top.moses, beam=beam.moses=lists:?top=top.moses&beam=beam.moses' --tests references:own.de --k 3 --samples 0 --json --out records",
        "space --system lab:student --tests parallel:twice.en,twice.de --k 0 --samples 6 --temperature 0.5 --set top_p=0.8 --json",
    ],
    # --- challenge ---
    "challenge/lab": [
        f"challenge {_BOTH} --tests lab:challenge?n=60&seed=1 --set matched_corpora=20 --distance 1 --distance 3 "
        "--min-sentences 5 --json --out run",
        "compare run --json",
        "challenge --rejudge run --protocol paper --metric bleu --json",
    ],
    "challenge/own": [
        "make challenge --parser udpipe:lab-en --source own.en --reference own.de --to set.jsonl --source-language en --target-language de",
        "challenge --tests set.jsonl --system file:first.de --set controls=all --set matched_corpora=10 --min-sentences 3 --metric chrf --metric ribes --json "
        "--out records",
        "annotate records --queue queue.jsonl --queue-per-group 3 --queue-only",
    ],
    "challenge/verdicts": [
        "challenge --tests lab:challenge?n=24&seed=2 --system lab:student --target-parser udpipe:lab-de --set target_language=de "
        "--set matched_corpora=5 --json --out records",
    ],
    # --- runs ---
    "runs/study": ["run study.toml --out run --json --no-report", "compare run --json"],
    "runs/shards": [
        "run small.toml --out whole --json --no-report",
        "run small.toml --shard 1/2 --out one --json",
        "run small.toml --shard 2/2 --out two --json",
        "run --merge one two --out run --json --no-report",
    ],
    "runs/seeds": [
        "run seeds.toml --out run --json --no-report",
        "compare run --json --on width --on smoothed --figure chrf",
        "compare run --json --seed-group 'teachers=teacher-*' --seed-group 'students=student-*'",
    ],
    "runs/stored": [
        "run stored.toml --out run --json --no-report",
        "compare run --json",
        "compare run --summary --json",
    ],
    "runs/two": [
        "quality --tests parallel:own.en,own.de --system file:first.de --metric chrf --out a --json",
        "quality --tests parallel:own.en,own.de --system file:second.de --metric chrf --out b --json",
        "quality --tests parallel:own.en,own.de --system file:second.de --metric chrf --out c --json",
        "compare a b --json",
    ],
    "runs/signatures": [
        "likelihood --system lab:student --tests lab:parallel?n=4 --json",
        "likelihood --system lab:student --tests lab:parallel?n=4 --json --cache",
        "likelihood --system lab:student --tests lab:parallel?n=4 --json --all",
        "likelihood --system lab:student --tests lab:parallel?n=4&seed=1 --json",
        "likelihood --system lab:student --tests lab:parallel?n=4 --json --seed 1",
        "likelihood --system lab:student --tests lab:parallel?n=4 --json --set references=first",
        "likelihood --system lab:student-2 --tests lab:parallel?n=4 --json",
        "likelihood --system 'lab:student?max_length=40' --tests lab:parallel?n=4 --json",
    ],
    "runs/cached": [
        "quality --system '{http}' --tests parallel:own.en,own.de --metric chrf --cache --json",
        "quality --system '{http}' --tests parallel:own.en,own.de --metric chrf --cache --json",
        "translate --system lab:teacher a.en --cache --json",
        "translate --system lab:teacher a.en --cache --json",
    ],
    "runs/resumed": [
        "run served.toml --out run --json --no-report --trust",
        "run served.toml --out run --json --no-report --trust",
        "run served.toml --out whole --json --no-report --trust",
    ],
    # --- making test sets, people ---
    "make/pairs": [
        "make pairs --type all --language de --source own.en --reference own.de --to pairs.out.jsonl",
        "make pairs --type all --language de --source own.en --reference own.de --all --seed 3 --set kind=machine --to all.out.jsonl",
        "make pairs --audit 4 --type np_agreement --source own.en --reference own.de --to audit.jsonl",
    ],
    "make/machine": [
        "make machine-references --tests lab:pairs?n=4&seed=3 --system lab:control --system lab:unsmoothed --to made.jsonl "
        "--queue queue.jsonl --set score_with=lab:student --set with_human=yes --json",
    ],
    "make/challenge": [
        "make challenge --parses a.conllu --source parsed.de --reference parsed.en --to parsed.jsonl --json",
        "make challenge --parser udpipe:lab-en --source own.en --reference own.de --set min_distance=2 --json",
        "make challenge --source twice.en --reference twice.de --to reordered.jsonl --set min_displacement=2 --json",
    ],
    "make/counts": [
        "make counts --source a.en --target a.de --lexicon lexicon.tsv --json --to senses.json",
        "make counts --source doctors.en --target doctors.de --words lab:occupations --json",
        "make cues --tests lab:senses?n=60 --evaluator lab:teacher --candidates candidates.json --to cued.jsonl",
    ],
    "people/agreement": [
        "agreement --task mucow released.ann.jsonl released.bob.jsonl --json",
        "agreement --task mucow released.ann.jsonl released.bob.jsonl released.cy.jsonl --json",
        "agreement rated.jsonl --human human.jsonl --set field=score --json",
        "agreement translated.jsonl --human human.jsonl --metric chrf --metric ter --json",
    ],
    "people/released": [
        "agreement --task winomt winomt.one.jsonl winomt.two.jsonl earlier.csv --json",
        "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system wino.de=file:wino.de?format=auto --target de --out w --json",
        "agreement --task winomt winomt.one.jsonl winomt.two.jsonl --patterns w --json",
        "agreement --task winomt winomt.one.jsonl winomt.two.jsonl --verdicts w --set weights=annotated --json",
        "condition --judge mucow --tests mucow:senses?all=yes --system senses.de=file:senses.de?format=auto --lemmatize de --out m --json",
        "agreement --task mucow mucow.one.jsonl mucow.two.jsonl --patterns m --json",
        "agreement --task mucow mucow.one.jsonl mucow.two.jsonl --patterns m --set protocol=paper --json",
        "agreement --task mucow mucow.one.jsonl mucow.two.jsonl --verdicts m --json",
    ],
    "people/answers": [
        "agreement queue.jsonl --json",
        "agreement queue.jsonl --verdicts verdicts.jsonl --json",
        "agreement scored.jsonl --json",
        "agreement two.jsonl --human two-human.jsonl --set field=score --json",
    ],
    # --- lab ---
    "lab/corpus": [
        "lab corpus --n 120 --out corpus",
        "lab prepare --source corpus/corpus.en --target corpus/corpus.de --languages en-de --out prepared --json",
        "lab evaluate --system lab:student --n 20 --json",
        "lab evaluate --evaluator lab:teacher --system lab:student --n 24 --json",
        "lab evaluate --evaluator lab:teacher --system lab:student --n 24 --tests senses-other --set protocol=paper --json",
    ],
}
CASES |= {
    "refusals/usage": [
        "contrast",
        "contrast --tests pairs.jsonl",
        "contrast --system lab:student",
        "contrast --tests pairs.jsonl --json",
        "contrast --tests pairs.jsonl --system scores:pairs.scores",
        "contrast --system lab:student --tests pairs.jsonl --set ties=never",
        "contrast --system lab:student --tests pairs.jsonl --beam 0",
        "contrast --system lab:student --tests pairs.jsonl --group-by nothing",
        "contrats --system lab:student",
        "quality --tests parallel:own.en,own.de --system lab:student --metric blue",
        "quality --tests parallel:own.en,own.de --system lab:student --tokenize klingon",
        "condition --tests lab:gender?n=4 --system lab:student",
        "condition --tests lab:gender?n=4 --system items:translations --evaluator lab:teacher",
        "space --system lab:student --tests lab:parallel?n=2 --k 0 --samples 0",
        "space --system lab:student --tests lab:parallel?n=2 --temperature 0",
        "challenge --system lab:student --tests lab:parallel?n=4 --metric comet",
        "likelihood --system lab:student --tests lab:pairs?n=2",
        "translate --decode exact --system lab:student a.en --set length=4..",
        "run study.toml --shard 3/2",
        "make pairs --type nothing --source a.en --reference a.de",
        "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system wino.de=file:wino.de?format=auto --target xx",
        "flow --source doctors.en",
    ],
    "refusals/systems": [
        "translate --system nothing:x a.en",
        "translate --system lab:teachr a.en",
        "translate --system hf:nowhere a.en",
        "translate --system lab:teacher?beams=3 a.en",
        "translate --system lab:teacher nowhere.en",
        "translate --system file:a.de own.en",
        "score --system file:a.de a.en --target a.de",
        "score --system lab:teacher own.en --target a.de",
        "translate --decode sample --system 'cmd:cat' a.en",
        "translate --decode exact --system file:a.de a.en",
        "contrast --system file:own.de --tests pairs.jsonl",
        "contrast --system nan:1 --tests toy-pairs.jsonl",
        "translate --system mute:1 a.en",
        "translate --system 'cmd:false' a.en",
        "translate --system http://127.0.0.1:1/x?retries=0 a.en",
        "translate --system openai:{server} a.en",
        "translate --system ensemble:lab:teacher a.en",
        "translate --system ensemble:lab:teacher,lab:llm a.en",
        "translate --system 'lab:student?dtype=float7' a.en",
    ],
    "refusals/files": [
        "contrast --system lab:student --tests bad.jsonl",
        "contrast --system lab:student --tests torn.jsonl",
        "contrast --system lab:student --tests empty.jsonl",
        "contrast --system lab:student --tests own.en",
        "quality --system file:own.de --tests parallel:own.en,a.de",
        "quality --system file:a.de --tests parallel:own.en,own.de",
        "challenge --system file:own.de --tests pairs.jsonl",
        "space --system lists:?top=own.de --tests references:own.de --samples 0",
        "space --system lists:?top=top.moses --tests references:a.de --samples 0",
        "agreement pairs.jsonl",
        "agreement rated.jsonl --human pairs.jsonl",
        "make challenge --parses own.en --source own.en --reference own.de",
        "condition --tests ambiguous.jsonl --system file:a.de?format=auto --evaluator lab:teacher",
        "condition --judge mucow --tests mucow:nowhere --system file:senses.de?format=auto",
    ],
    "refusals/runs": [
        "compare nowhere",
        "compare .",
        "report nowhere",
        "run bad.toml",
        "run nowhere.toml",
        "quality --tests parallel:own.en,own.de --system file:first.de --metric chrf --out run --json",
        "quality --tests parallel:own.en,own.de --system file:first.de --metric bleu --out run",
        "contrast --rejudge run",
        "quality --rejudge run --metric chrf --seed 3",
        "run --merge run --out merged",
        "compare run --on width",
        "compare run --figure nothing --factors rated.jsonl",
        "quality --tests parallel:own.en,own.de --system file:first.de --out own.en",
        "run --init --system lab:student --tests pairs.jsonl study.toml",
    ],
    "warnings/judging": [
        "contrast --tests pairs.jsonl --system scores:pairs.scores?layout=interleaved --set ties=wrong",
        f"contrast {_BOTH} --tests lab:pairs?n=3&seed=1",
        "contrast --system lab:llm --set prompt=lines --set prompt=question --tests lab:pairs?n=1",
        "condition --system lab:teacher --evaluator lab:hard-unsmoothed --tests lab:senses-other?n=16",
        "condition --tests ambiguous.jsonl --system given.de=file:given.de?format=auto --evaluator lab:student",
        "space --system lab:student --tests lab:parallel?n=4 --k 2 --samples 4 --budget-expansions 3",
        "space --system '" + _STUB + "' --tests parallel:a.en,a.de --k 0 --samples 3",
        "quality --tests parallel:own.en,own.de --system file:own.en --metric bleu",
        "quality --tests parallel:own.en,own.de --system file:second.de --system file:own.de --metric chrf",
        "errors --tests parallel:own.en,own.de --system file:own.en --target-language de",
        "likelihood --system lab:llm --tests parallel:own.en,own.de",
        "challenge --tests lab:challenge?n=20&seed=3 --system lab:student --set matched_corpora=3",
        "translate --system 'lab:student?max_length=4' own.en --to short.de",
        "contrast --system lab:student --tests pairs-twice.jsonl",
        "quality --tests parallel:own.en,own.de --system file:own.en --metric chrf --out run-a",
        "quality --tests parallel:own.en,own.de --system file:first.de --metric chrf --out run-b",
        "compare run-a run-b",
        "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system wino.de=file:wino.de?format=auto --target de",
        "quality --tests parallel:twice.en,twice.de --system file:twice-first.de --metric bleu",
        "make challenge --source own.en --reference own.de --to few.jsonl",
        "make pairs --type polarity_affix_del --source a.en --reference a.de --to none.jsonl",
    ],
}
RAY_CASES: dict[str, list[str]] = {
    "ray/study": ["run stored.toml --out run --json --no-report --ray --set workers=1"],
    "ray/pairs": [
        "make pairs --type all --language de --source own.en --reference own.de --to pairs.out.jsonl --ray"
    ],
}
