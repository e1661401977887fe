"""`ct2:` CTranslate2 folders with the tokenizer of the model they were converted from, or files that cut texts."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Diversity, Drawing, Fingerprint, Note, Scored, Target, sources_of
from babelscope.systems.contract import check_targets, no_groups
from babelscope.systems.models.checkpoints import ModelSystem, checked, fetch, read_length_penalty
from babelscope.systems.models.folders import TOKENIZER_FILES, check_ctranslate2
from babelscope.systems.models.pieces import KINDS, PieceTokens
from babelscope.systems.models.tokenizers import Tokens, library_errors
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError, RefusedText, Side
from babelscope.util.seeds import stream
from babelscope.util.text import check_texts, shorten

_FILES = ("model.bin", "*config.json", "*vocabulary*.json", "*vocabulary*.txt", "vmap.txt")

_BATCH = 1024
_BLOCK = 20  # samples drawn together; the first of many are those of few
# CTranslate2 silently cuts inputs at 1,024 tokens by default; we refuse before it can.
_NO_LIMIT = 0
# Nats per token by which scores in another type may differ before it is reported: more than rounding does.
_MOST_APART = 0.1
_MOST_CONFIG = 8_000_000
PROBES = ("The old bridge was closed in 2019.", "Das ist 1 Satz.", "我喜欢看书。", "Она читает письмо.")
"""Texts in several scripts, for comparisons of a model with itself."""


class CTranslate2(ModelSystem):
    """A converted encoder-decoder model; its scores are the converted weights' own, in `compute_type`."""

    def __init__(self, rest: str, options: Options) -> None:
        """`ct2:FOLDER?tokenizer=HF_NAME_OR_FOLDER`; without the option the tokenizer is in the folder itself.

        The option may also name SentencePiece models or BPE codes (`FILE` or `SOURCE,TARGET`), `words` or
        `characters`.
        """
        self.name = options.spec
        self.folder = folder = Path(rest).expanduser()
        if not (folder / "model.bin").is_file():
            raise BabelscopeError(f"{rest}: no CTranslate2 model here (no model.bin)")
        source, target = options.text("source"), options.text("target")
        self._device = options.text("device", "auto")
        self._compute_type = options.text("compute_type", "float32")
        self._batch = options.integer("batch", _BATCH)
        self._limit = options.integer("max_length", 512)
        penalty = read_length_penalty(options)
        named = options.text("tokenizer")
        plain = _cuts_by_files(folder, named)
        tokenizer = fetch(named, tokenizer_only=True) if named and not plain else folder
        options.refuse_unused()
        names = {
            path.name
            for pattern in (_FILES if plain else (*_FILES, *TOKENIZER_FILES))
            for path in folder.glob(pattern)
            if "/" not in pattern
        }
        self.files = SealedFiles(folder, names)
        with library_errors(f"{folder} cannot be opened by CTranslate2"):
            check_ctranslate2(self.files.paths["model.bin"])
        if plain and (source or target):
            raise BabelscopeError(
                f"{self.name}: language tokens need the Hugging Face tokenizer of the model (?tokenizer=NAME)"
            )
        self.tokens: Any = (
            PieceTokens(self.files, named)
            if plain
            else Tokens(tokenizer, source=source, target=target, beside_model=tokenizer == folder)
        )
        self._settings: dict[str, Any] = {"source": source, "target": target, "max_length": self._limit}
        # Batches can change the last bits of scores: a run must not be resumed with other ones.
        self._settings |= {} if self._batch == _BATCH else {"batch": self._batch}
        self.length_penalty = 1.0 if penalty is None else penalty
        self._settings |= {} if self.length_penalty == 1 else {"length_penalty": self.length_penalty}
        self._eos, self._eos_id = self.tokens.end
        language = self.tokens.target_language_id
        self._prefix = [] if language is None else list(self.tokens.tokens([language]))
        self._translator = self._load("default")
        if self._translator.compute_type != self._compute_type:
            own, self._translator = self._translator, self._load(self._compute_type)
            self._compare_with(own)

    def _load(self, compute_type: str) -> Any:
        with (
            library_errors(f"{self.folder} cannot be opened by CTranslate2"),
            self.files.view() as view,
        ):
            return ctranslate2.Translator(str(view), device=self._device, compute_type=compute_type)

    def _compare_with(self, own: Any) -> None:
        """Warn if the model gives other scores in `compute_type` than in its own type: some models break."""
        chosen, self._translator = self._translator, own
        try:
            sources = self._source_tokens(PROBES)
            made = [list(best[0].tokens) for best in self._generate(PROBES, 1, 1, self.length_penalty)]
            scores = [self._forced(sources, made)]
            self._translator = chosen
            scores.append(self._forced(sources, made))
        except BabelscopeError:  # texts that are too long for this model: nothing to compare
            return
        finally:
            self._translator = chosen
        means = [sum(map(sum, rows)) / sum(map(len, rows)) for rows in scores]
        if not abs(means[0] - means[1]) <= _MOST_APART:
            warnings.warn(
                f"{self.name}: compute_type={self._compute_type} gives its own translations {means[1]:.2f} nats per "
                f"token, and the model's own type ({own.compute_type}) {means[0]:.2f}; prefer "
                f"compute_type={own.compute_type}",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def fingerprint(self) -> Fingerprint:
        self.check_files()
        return Fingerprint(
            backend=f"ctranslate2 {ctranslate2.__version__}",
            model=self.files.digest(),
            tokenizer=self.tokens.digest,
            dtype=self._compute_type,
            settings=self._settings,
        )

    @checked
    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log-probabilities of targets, EOS included; a forced language token is given, not scored."""
        sources = self._source_tokens([asked for asked, _ in pairs])
        targets, notes = self._target_tokens([target for _, target in pairs])
        found = self._forced(sources, targets)
        answers = []
        for (_, target), tokens, note, logprobs in zip(pairs, targets, notes, found, strict=True):
            text = target if isinstance(target, str) else target.text
            answers.append(Scored(text, tuple(tokens), logprobs, note))
        return answers

    def _forced(
        self, sources: Sequence[list[str]], targets: Sequence[Sequence[str]]
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of target tokens; CTranslate2 adds EOS itself, which an unfinished target has not."""
        bare = [list(target[:-1] if target[-1] == self._eos else target) for target in targets]
        with library_errors(f"{self.name}: CTranslate2 fails"):
            found = self._translator.score_batch(
                list(sources),
                [self._prefix + target for target in bare],
                max_batch_size=self._batch,
                batch_type="tokens",
                max_input_length=_NO_LIMIT,
            )
        start = len(self._prefix)
        return [
            tuple(answer.log_probs[start : start + len(target)])
            for answer, target in zip(found, targets, strict=True)
        ]

    @checked
    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Ancestral samples in the order drawn, with the model's own log-probabilities by teacher forcing."""
        drawing = drawing or Drawing()
        if n < 1:
            raise BabelscopeError(f"at least one sample must be drawn, not {n}")
        if drawing != Drawing(temperature=drawing.temperature, max_length=drawing.max_length):
            raise BabelscopeError(
                f"{self.name}: CTranslate2 draws with a temperature; its cuts are not those of other systems, so "
                "leave top-k, top-p and epsilon out"
            )
        sources = self._source_tokens(questions)
        blocks = range(math.ceil(n / _BLOCK))
        drawn = {
            source: [row for block in blocks for row in self._draw(source, f"{block}", seed, drawing)][:n]
            for source in dict.fromkeys(map(tuple, sources))
        }
        # Each sample is scored once: equal ones get equal scores whatever the batches.
        pairs = list(dict.fromkeys((source, row) for source, rows in drawn.items() for row in rows))
        scores = self._forced([list(source) for source, _ in pairs], [row for _, row in pairs])
        known = dict(zip(pairs, scores, strict=True))
        return [
            [
                dataclasses.replace(self._generated(list(row)), logprobs=known[source, row])
                for row in drawn[source]
            ]
            for source in map(tuple, sources)
        ]

    def _draw(self, source: Sequence[str], block: str, seed: int, drawing: Drawing) -> list[tuple[str, ...]]:
        """A block of samples. Each is a translation of its own, since several hypotheses of one come sorted.

        CTranslate2 seeds random numbers when a thread first draws, so that a block needs threads of its own.
        """
        limit = min(
            drawing.max_length + len(self._prefix) if drawing.max_length else self._limit, self._limit
        )
        with library_errors(f"{self.name}: CTranslate2 fails"), self.files.view() as view:
            ctranslate2.set_random_seed(int(stream(seed, " ".join([block, *source])).integers(1 << 32)))
            translator = ctranslate2.Translator(
                str(view), device=self._device, compute_type=self._compute_type
            )
            found = translator.translate_batch(
                [list(source)] * _BLOCK,
                target_prefix=[self._prefix] * _BLOCK if self._prefix else None,
                beam_size=1,
                sampling_topk=0,
                sampling_temperature=drawing.temperature,
                max_input_length=_NO_LIMIT,
                max_decoding_length=limit,
                min_decoding_length=0,
                return_end_token=True,
            )
        return [tuple(answer.hypotheses[0][len(self._prefix) :]) for answer in found]

    def _generate(
        self,
        questions: Sequence[Asked],
        beam: int,
        n_best: int,
        length_penalty: float,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        if diversity:
            raise no_groups(self.name)
        # Its own scores are length-normalized, and are left out.
        tokens = self._source_tokens(questions)
        with library_errors(f"{self.name}: CTranslate2 fails"):
            found = self._translator.translate_batch(
                tokens,
                target_prefix=[self._prefix] * len(questions) if self._prefix else None,
                beam_size=beam,
                num_hypotheses=n_best,
                length_penalty=length_penalty,
                max_batch_size=max(1, self._batch // beam),
                batch_type="tokens",
                max_input_length=_NO_LIMIT,
                max_decoding_length=self._limit,
                return_end_token=True,
            )
        start = len(self._prefix)
        return [[self._generated(made[start:]) for made in answer.hypotheses] for answer in found]

    def _generated(self, tokens: list[str]) -> Scored:
        ids = self.tokens.ids_of(Scored("", tuple(tokens), (0.0,) * len(tokens)))
        text = self.tokens.decode([ids])[0]
        notes: tuple[Note, ...] = ()
        if tokens[-1] != self._eos:
            notes = ("unfinished",)
        elif not getattr(self.tokens, "no_targets", "") and (
            self.tokens.encode_targets([text], eos=ids[-1])[0] != ids
        ):
            notes = ("changed",)
        return Scored(text, tuple(tokens), (0.0,) * len(tokens), notes)

    def _source_tokens(self, asked: Sequence[Asked]) -> list[list[str]]:
        sources = sources_of(asked)
        check_texts(sources, what="source")
        rows = self.tokens.encode_sources(sources)
        for number, (row, source) in enumerate(zip(rows, sources, strict=True), 1):
            self._check_length(row, "source", number, source)
        return [self.tokens.source_tokens(row) for row in rows]

    def _target_tokens(self, targets: Sequence[Target]) -> tuple[list[list[str]], list[tuple[Note, ...]]]:
        """Tokens of each target, with EOS unless it was left unfinished, and notes."""
        check_targets(targets)
        rows, notes = [], []
        for number, target in enumerate(targets, 1):
            if isinstance(target, Scored):
                self.tokens.ids_of(target)
                row, note = list(target.tokens), target.notes
            else:
                ids = self.tokens.encode_targets([target], eos=self._eos_id)[0]
                row = list(self.tokens.tokens(ids))
                note = () if self.tokens.decode([ids])[0] == target else ("changed",)
            self._check_length(row, "target", number, target if isinstance(target, str) else target.text)
            rows.append(row)
            notes.append(note)
        return rows, notes

    def _check_length(self, row: Sequence[object], side: Side, number: int, text: str) -> None:
        """Refuse what is over `max_length`: CTranslate2 does not report a model's limit."""
        if len(row) > self._limit:
            reason = (
                f"has {len(row)} tokens, but {self.name} takes {self._limit} (max_length): {shorten(text)}"
            )
            raise RefusedText(side, number, reason)


def _cuts_by_files(folder: Path, named: str) -> bool:
    """Whether texts are cut by SentencePiece models, BPE codes, words or characters: no Hugging Face tokenizer."""
    if named:
        place = Path(named).expanduser()
        files = [[Path(name).expanduser(), folder / name] for name in named.split(",")]
        return named in KINDS or all(any(path.is_file() for path in both) for both in files) or (
            place.is_dir() and not _has_hugging_face(place)
        )  # fmt: skip
    return not _has_hugging_face(folder)


def _has_hugging_face(folder: Path) -> bool:
    if any((folder / name).exists() for name in ("tokenizer.json", "tokenizer_config.json")):
        return True
    path = folder / "config.json"
    return path.is_file() and "model_type" in SealedFiles(folder, ["config.json"]).read_json(
        "config.json", most=_MOST_CONFIG
    )
