"""`llm:` decoder-only models that translate by a prompt template or by their chat template."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from babelscope.core.answers import Capability, Fingerprint, Note, Scored, Target
from babelscope.core.question import Asked, sources_of
from babelscope.core.specs import Options
from babelscope.decoding.causal import Causal
from babelscope.decoding.families.decoder import Decoder
from babelscope.decoding.families.description import Weights, weights_of, why_not_lean
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.systems.asking import check_targets
from babelscope.systems.chatter import Chatter
from babelscope.systems.checkpoints import (
    check_ids,
    fetch,
    fingerprint,
    load_model,
    position_limit,
    read_length_penalty,
    stated_penalty,
    token_id,
)
from babelscope.systems.model_folders import ModelFolder
from babelscope.systems.open_model import OpenSystem
from babelscope.systems.opened import SourceIds
from babelscope.systems.prompts import NO_PROMPT, Prompt, find_prompt
from babelscope.systems.tokenizers import Tokens, library_errors
from babelscope.systems.weights import one_line
from babelscope.util.errors import BabelscopeError, RefusedText, SystemFailure
from babelscope.util.text import check_texts, shorten

PLAIN = Prompt("{source}: {text}\n{target}:")
_INSTRUCTION = Prompt(
    "Translate the following sentence from {source} to {target}. Answer with the translation only.\n\n{text}"
)
_BUDGET = 2048
_UNWATCHED = Chatter()
_Answer = TypeVar("_Answer")


class _Loaded:
    """A network in memory, shared by all systems that ask it, such as one model under several prompts."""

    def __init__(self, folder: Path, *, device: str, dtype: str, remote_code: bool) -> None:
        model = ModelFolder(folder, remote_code=remote_code)
        self.files = model.files
        self.network = load_model(
            "AutoModelForCausalLM", model, device=device, dtype=dtype, remote_code=remote_code
        )

    @functools.cached_property
    def weights(self) -> Weights:
        """As the lean forward pass reads them: joined matrices are copies."""
        return weights_of(self.network)


_IN_MEMORY: weakref.WeakValueDictionary[tuple[Path, str, str, bool], _Loaded] = weakref.WeakValueDictionary()


def _load(folder: Path, *, device: str, dtype: str, remote_code: bool) -> _Loaded:
    """The network of a folder: the one that another system holds, if its files are unchanged."""
    key = (folder.resolve(), device, dtype, remote_code)
    if (held := _IN_MEMORY.get(key)) is not None:
        with contextlib.suppress(SystemFailure):
            held.files.check()
            return held
    loaded = _IN_MEMORY[key] = _Loaded(folder, device=device, dtype=dtype, remote_code=remote_code)
    return loaded


class Prompted(OpenSystem):
    """A language model asked to translate; only the target's tokens and its end are scored.

    With the prompt `none` it is asked for nothing: texts are scored from their beginning on, and sources not read.
    """

    watches_itself = True
    """It looks for chatter in its answers, as the option `clean` says."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        source: str,
        target: str,
        prompt: Prompt | None = None,
        reads_source: bool = True,
        chat: str = "auto",
        end: str = "",
        device: str = "auto",
        dtype: str = "float32",
        budget: int = _BUDGET,
        max_length: int = 256,
        length_penalty: float | None = None,
        remote_code: bool = False,
        lean: bool = True,
        chatter: Chatter = _UNWATCHED,
    ) -> None:
        self.name = name
        self._chatter = chatter
        self.folder = folder
        self._loaded = _load(folder, device=device, dtype=dtype, remote_code=remote_code)
        self.files, self.network = self._loaded.files, self._loaded.network
        self.tokens = Tokens(folder, remote_code=remote_code, beside_model=True)
        self._positions = position_limit(self.network.config, folder)
        self._size = self.network.get_input_embeddings().weight.shape[0]
        self.languages = {"source": source, "target": target}
        self.reads_source = reads_source
        has_template = bool(self.tokens.tokenizer.chat_template) and self.reads_source
        if prompt is not None and prompt.kind != "auto":
            chat = _agreed_kind(name, prompt, chat)
        self._chat = has_template if chat == "auto" else chat == "yes"
        if self._chat and not self.reads_source:
            raise BabelscopeError(f"{name}: prompt=none asks nothing, so that chat=yes has no effect")
        if self._chat and not self.tokens.tokenizer.chat_template:
            raise BabelscopeError(f"{name}: this model has no chat template, so it can be asked plainly only")
        self.prompt = prompt or (_INSTRUCTION if self._chat else PLAIN)
        self._filled = self.prompt.filled(self.languages, name) if self.reads_source else self.prompt
        self.end = end or ("eos" if self._chat or not self.reads_source else "newline")
        self._end_id = self._find_end()
        self._ends = self._other_ends()
        self._dtype = dtype
        self._stated_budget = self._budget = budget
        self._limit = max_length
        self._stated_penalty = length_penalty
        self.length_penalty = stated_penalty(length_penalty, self.network.generation_config, folder)
        self._lean = lean
        self.model = self._open_model(lean=lean)
        self.vocabulary = self.model.vocabulary

    def _find_end(self) -> int:
        tokenizer = self.tokens.tokenizer
        if self.end == "eos":
            if tokenizer.eos_token_id is None:
                raise BabelscopeError(
                    f"{self.name}: its tokenizer has no end-of-sentence token; say end=newline"
                )
            return int(tokenizer.eos_token_id)
        # What follows a word at a line's end; tokenised alone, "\n" may get a different piece.
        with library_errors(f"{self.folder}: its tokenizer fails"):
            ids = tokenizer("a\n", add_special_tokens=False)["input_ids"]
            return int(ids[-1])

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Without a prompt there is nothing to translate."""
        if not self.reads_source:
            return frozenset({"score"})
        if not self._decodes:
            return frozenset({"score", "translate"})
        return frozenset({"score", "translate", "sample", "top_k", "next_tokens"})

    @property
    def _decodes(self) -> bool:
        """Whether prefixes can be continued here; otherwise transformers generates."""
        return not isinstance(self.model, Causal) or self.model.decodes

    def _other_ends(self) -> list[int]:
        """Further tokens that end an answer, where the model has several (of the text, of its turn)."""
        said = self.network.generation_config.eos_token_id
        if self.end != "eos" or not isinstance(said, list):
            return []
        ids = [token_id(each, self._size, "eos_token_id", self.folder) for each in said]
        return sorted({each for each in ids if each is not None} - {self._end_id})

    def _open_model(self, *, lean: bool) -> OpenModel:
        # No token begins an answer: what is fed first stands for the prompt's last token.
        vocabulary = Vocabulary(self._size, (0,), self._end_id, (), None, self._limit)
        if lean and not why_not_lean(self.network):
            return Decoder(self._loaded.weights, vocabulary, self._ends)
        return Causal(self.network, vocabulary, self._ends)

    def _start(self) -> list[int]:
        """What stands before the first token of a text that nothing precedes."""
        tokenizer = self.tokens.tokenizer
        first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if first is None:
            raise BabelscopeError(
                f"{self.name}: its tokenizer has no token for the beginning or end of a text, so that the first "
                "token of a text has no probability"
            )
        return [int(first)]

    @property
    def fingerprint(self) -> Fingerprint:
        self.check_files()
        settings = {
            **self.languages,
            "prompt": self.prompt.as_json() if self.reads_source else NO_PROMPT,
            "template": self.tokens.tokenizer.chat_template if self._chat else None,
            "end": self.end,
            "max_length": self._limit,
            # Batches can change the last bits of scores: a run must not go on with others than it began with.
            **({} if self._stated_budget == _BUDGET else {"budget": self._stated_budget}),
            **({} if self._stated_penalty is None else {"length_penalty": self._stated_penalty}),
            **({"ends": self._ends} if self._ends else {}),
            **({} if self._lean else {"forward": "transformers"}),
            **self._chatter.settings,
        }
        return fingerprint(self.files, self.tokens, dtype=self._dtype, settings=settings)

    def _watched(self, questions: Sequence[Asked], answers: list[_Answer]) -> list[_Answer]:
        return self._chatter.watch(questions, answers)

    def _generate(
        self, questions: Sequence[Asked], beam: int, n_best: int, length_penalty: float
    ) -> list[list[Scored]]:
        if self._decodes:
            return super()._generate(questions, beam, n_best, length_penalty)
        # transformers warns of a penalty where there is no beam.
        how = {"length_penalty": length_penalty} if beam > 1 else {}
        return [self._continue(prompt, beam, n_best, how) for prompt in self._prompts(questions)]

    @torch.inference_mode()
    def _continue(self, prompt: list[int], beam: int, n_best: int, how: Mapping[str, float]) -> list[Scored]:
        """What beam search puts after a prompt, up to the end token."""
        ids = torch.tensor([prompt], device=self.network.device)
        try:
            output = self.network.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=beam,
                num_return_sequences=n_best,
                do_sample=False,
                max_new_tokens=self._limit,
                eos_token_id=[self._end_id, *self._ends],
                pad_token_id=self._end_id,
                **how,
            )
        except (
            ValueError,
            TypeError,
            AttributeError,
        ) as error:  # as transformers refuses its generation settings
            raise BabelscopeError(
                f"{self.name} cannot generate as it is configured: {one_line(error)}"
            ) from error
        rows = output[:, len(prompt) :].tolist()
        kept = [self._cut_at_end(row) for row in rows]
        return self._written([(row, [0.0] * len(row)) for row in kept])

    def _cut_at_end(self, row: list[int]) -> list[int]:
        """Generated ids up to the first end, whichever it is."""
        ends = {self._end_id, *self._ends}
        place = next((place for place, each in enumerate(row) if each in ends), None)
        return row if place is None else [*row[:place], self._end_id]

    def _written(
        self, rows: Sequence[tuple[list[int], list[float]]], noted: tuple[Note, ...] = ()
    ) -> list[Scored]:
        """Generated ids and their log-probabilities as answers."""
        answers = []
        for ids, logprobs in rows:
            finished = ids[-1] == self._end_id
            text = self.tokens.decode([ids[:-1] if finished else ids])[0].strip()
            notes: set[Note] = {*noted, *(() if finished else ("unfinished",))}
            if finished and self._text_ids([text])[0] != ids:
                notes.add("changed")
            answers.append(Scored(text, self.tokens.tokens(ids), tuple(logprobs), tuple(sorted(notes))))
        return answers

    def _longest(self, asked: int = 0) -> int:
        return min(asked or self._limit, self._limit)

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        rows = self._prompts(asked)
        return [tuple(row) for row in rows], [()] * len(rows)

    def _prompts(self, asked: Sequence[Asked]) -> list[list[int]]:
        sources = sources_of(asked)
        if not self.reads_source:
            return [self._start() for _ in sources]
        check_texts(sources, what="source")
        tokenizer = self.tokens.tokenizer
        rows = []
        for number, source in enumerate(sources, 1):
            text = self._chat_text(source) if self._chat else self._filled.text(source)
            with library_errors(f"{self.folder}: its tokenizer fails"):
                ids = tokenizer(text, add_special_tokens=not self._chat)["input_ids"]
            if not self._chat and ids and ids[-1] == tokenizer.eos_token_id:
                ids = ids[:-1]  # some tokenizers end every text, but this one goes on
            limit = self._positions
            if limit is not None and len(ids) + self._limit > limit:
                reason = (
                    f"makes a prompt of {len(ids)} tokens, which with {self._limit} for the answer is more"
                )
                raise RefusedText(
                    "source", number, f"{reason} than the {limit} that {self.name} takes: {shorten(source)}"
                )
            rows.append([int(number) for number in ids])
        check_ids(rows, self._size, self.name)
        return rows

    def _chat_text(self, source: str) -> str:
        """The chat as the model's template writes it, up to where the model answers."""
        with library_errors(f"{self.folder}: its chat template fails"):
            text = str(
                self.tokens.tokenizer.apply_chat_template(
                    self._filled.messages(source), tokenize=False, add_generation_prompt=True
                )
            )
        # Some templates leave out a role that they do not know.
        if self._filled.system.strip() not in text:
            raise BabelscopeError(f"{self.name}: its chat template drops the system message; leave it out")
        return text

    def _text_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of target texts as they follow the prompt, ending in the end token."""
        joint = self.prompt.joint if self.reads_source and not self._chat else ""
        rows = [f"{joint}{text}" if text else text for text in texts]
        return self.tokens.encode_targets(rows, eos=self._end_id)

    def _target_ids(self, targets: Sequence[Target]) -> SourceIds:
        check_targets(targets)
        rows: list[list[int]] = []
        notes: list[tuple[Note, ...]] = []
        for number, target in enumerate(targets, 1):
            if isinstance(target, Scored):
                rows.append(self.tokens.ids_of(target))
                notes.append(target.notes)
            else:
                ids = self._text_ids([target])[0]
                rows.append(ids)
                same = self.tokens.decode([ids[:-1]])[0].strip() == target
                notes.append(() if same else ("changed",))
            if len(rows[-1]) > self._limit:
                text = target if isinstance(target, str) else target.text
                reason = f"has {len(rows[-1])} tokens, but {self.name} takes {self._limit} (say a larger max_length)"
                raise RefusedText("target", number, f"{reason}: {shorten(text)}")
        check_ids(rows, self._size, self.name)
        return [tuple(row) for row in rows], notes


def _agreed_kind(name: str, prompt: Prompt, chat: str) -> str:
    """Whether the chat template is used, as the prompt's file says; an error if the spec says otherwise."""
    own = "yes" if prompt.kind == "chat" else "no"
    if chat not in ("auto", own):
        raise BabelscopeError(
            f"{name}: the prompt {prompt.name} is of the kind {prompt.kind}; leave chat={chat} out"
        )
    return own


def open_prompted(rest: str, options: Options) -> Prompted:
    """Open `llm:NAME_OR_FOLDER?source=English&target=German`."""
    remote_code = options.flag("remote_code")
    said = options.text("prompt")
    arguments: dict[str, Any] = {
        "source": options.text("source"),
        "target": options.text("target"),
        "prompt": find_prompt(said) if said not in ("", NO_PROMPT) else None,
        "reads_source": said != NO_PROMPT,
        "chat": options.choice("chat", ("auto", "yes", "no"), "auto"),
        "end": options.choice("end", ("", "eos", "newline"), ""),
        "device": options.text("device", "auto"),
        "dtype": options.choice("dtype", ("float32", "float16", "bfloat16", "float64"), "float32"),
        "budget": options.integer("budget", _BUDGET),
        "max_length": options.integer("max_length", 256),
        "length_penalty": read_length_penalty(options),
        "chatter": Chatter.of(options, "count", options.text("target")),
        "lean": options.choice("forward", ("lean", "transformers"), "lean") == "lean",
    }
    if not said and not (arguments["source"] and arguments["target"]):
        raise BabelscopeError(
            f"{options.spec}: say ?source=LANGUAGE&target=LANGUAGE, or a prompt of your own"
        )
    folder = fetch(rest, revision=options.text("revision"), remote_code=remote_code)
    options.refuse_unused()
    return Prompted(options.spec, folder, remote_code=remote_code, **arguments)
