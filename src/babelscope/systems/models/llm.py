"""`llm:` decoder-only models that translate by a prompt template or by their chat template."""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Capability,
    Diversity,
    Fingerprint,
    Note,
    Reply,
    Scored,
    Target,
    as_question,
    sources_of,
)
from babelscope.decoding.beam import beam_search
from babelscope.decoding.causal import Causal, Closing
from babelscope.decoding.families.decoder import Decoder, Weights, weights_of, why_not_lean
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.systems.contract import no_groups
from babelscope.systems.models.base import LocalModel, SourceIds, in_parts
from babelscope.systems.models.checkpoints import (
    check_ids,
    checked,
    fetch,
    fingerprint,
    load_model,
    position_limit,
    read_length_penalty,
    stated_penalty,
    token_id,
)
from babelscope.systems.models.folders import ModelFolder, one_line
from babelscope.systems.models.gguf import find_gguf
from babelscope.systems.models.tokenizers import Tokens, library_errors
from babelscope.systems.prompting.chatter import Chatter
from babelscope.systems.prompting.prompts import NO_PROMPT, Prompt, find_prompt, require_context
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, RefusedText, SystemFailure
from babelscope.util.text import check_texts, shorten


class LoadedNetwork:
    """A network in memory, shared by all systems that ask it, such as one model under several prompts."""

    def __init__(self, place: Path, *, device: str, dtype: str, remote_code: bool) -> None:
        """`place` is a folder, or a GGUF file."""
        model = find_gguf(str(place)) or ModelFolder(place, remote_code=remote_code)
        self.files = model.files
        self.network = load_model(
            "AutoModelForCausalLM", model, device=device, dtype=dtype, remote_code=remote_code
        )

    @functools.cached_property
    def weights(self) -> Weights:
        """As the lean forward pass reads them: joined matrices are copies."""
        return weights_of(self.network)

    @torch.inference_mode()
    def generate(
        self,
        prompt: Sequence[int],
        name: str,
        ends: Sequence[int],
        *,
        beam: int,
        n_best: int,
        longest: int,
        how: Mapping[str, float],
    ) -> list[list[int]]:
        """What transformers' own beam search puts after a prompt, and what it fills rows with after their ends."""
        ids = torch.tensor([list(prompt)], device=self.network.device)
        try:
            output = self.network.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=beam,
                num_return_sequences=n_best,
                do_sample=False,
                max_new_tokens=longest,
                eos_token_id=list(ends),
                pad_token_id=ends[0],
                **how,
            )
        except (ValueError, TypeError, AttributeError) as error:  # as it refuses its generation settings
            raise BabelscopeError(f"{name} cannot generate as it is configured: {one_line(error)}") from error
        rows: list[list[int]] = output[:, len(prompt) :].tolist()
        return rows


_IN_MEMORY: weakref.WeakValueDictionary[tuple[Path, str, str, bool], LoadedNetwork] = (
    weakref.WeakValueDictionary()
)


def load_network(folder: Path, *, device: str, dtype: str, remote_code: bool) -> LoadedNetwork:
    """The network of a folder: the one that another system holds, if its files are unchanged."""
    key = (folder.resolve(), device, dtype, remote_code)
    if (held := _IN_MEMORY.get(key)) is not None:
        with contextlib.suppress(SystemFailure):
            held.files.check()
            return held
    loaded = _IN_MEMORY[key] = LoadedNetwork(folder, device=device, dtype=dtype, remote_code=remote_code)
    return loaded


# --- Tokens with a line break: those that end a line, and those that have the end of its text with them ------------


# As byte-level vocabularies write line breaks, and as others do.
_LINE_BREAK = re.compile("[\u010a\u010d\n\r]")
_BEFORE = "a"
"""Stands before a token that is read: some tokenizers drop the space of a text's first token."""


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How a line may end in a vocabulary."""

    end: int
    """The token that stands for all of those with nothing but white space before their line break."""
    others: Sequence[int] = ()
    """The others of those."""
    closing: Sequence[Sequence[int]] = ()
    """Tokens with text before their line break (a full stop, say), those with the same text together."""
    first: Mapping[int, int] = field(default_factory=dict)
    """For each token of `closing`, the first of its group."""


def find_line_ends(tokenizer: Any, size: int, name: str) -> LineEnds:
    """The tokens below `size` that have a line break; errors begin with `name`."""
    with library_errors(f"{name}: its tokenizer fails"):
        usual = tokenizer(f"{_BEFORE}\n", add_special_tokens=False)["input_ids"]
        texts = _texts(tokenizer, min(size, len(tokenizer)))
    check_ids([usual], size, name)
    ends = []
    closing: dict[tuple[str, int], list[int]] = {}
    for token, text in enumerate(texts):
        before, line_break, _ = text.partition("\n")
        if line_break and not before.strip():
            ends.append(token)
        elif line_break:
            # Bytes that are no character look alike as text, whatever they are.
            apart = token if "\N{REPLACEMENT CHARACTER}" in before else -1
            closing.setdefault((before.rstrip(), apart), []).append(token)
    if not ends:
        raise BabelscopeError(
            f"{name}: its tokenizer has no token for a line break, so that a line break ends nothing; set end=eos"
        )
    end = int(usual[-1]) if usual and usual[-1] in ends else ends[0]
    groups = list(closing.values())
    return LineEnds(
        end,
        [each for each in ends if each != end],
        groups,
        {token: group[0] for group in groups for token in group},
    )


def _texts(tokenizer: Any, size: int) -> list[str]:
    """What each token adds to a text."""
    first = list(tokenizer(_BEFORE, add_special_tokens=False)["input_ids"])
    rows = [[*first, token] for token in range(size)]
    if tokenizer.is_fast:
        found = tokenizer.backend_tokenizer.decode_batch(rows, skip_special_tokens=False)
    else:
        found = [tokenizer.decode(row, clean_up_tokenization_spaces=False) for row in rows]
    return [text.removeprefix(_BEFORE) for text in found]


PLAIN = Prompt("{source}: {text}\n{target}:")
_INSTRUCTION = Prompt(
    "Translate the following sentence from {source} to {target}. Answer with the translation only.\n\n{text}"
)
_BUDGET = 2048
_ASKED_PLAINLY = "{question}\nAnswer:"
"""A question to a model without a chat template."""
_Answer = TypeVar("_Answer")


class CausalModel(LocalModel):
    """A language model asked to translate; only the target's tokens and its end are scored.

    With the prompt `none` it is asked for nothing: texts are scored from their beginning on, and sources not read.
    """

    cleans_output = True
    """It looks for chatter in its answers, as the option `clean` says."""
    reads_context = False
    """Set by `?context=`: the sentences before a source are then in its prompt."""

    def __init__(self, rest: str, options: Options, *, trained: Sequence[Prompt] = ()) -> None:
        """`llm:NAME_OR_FOLDER?source=English&target=German`; a GGUF file may take the place of a folder.

        `trained`: the only prompts that the model was trained with, with its languages, where they are known.
        """
        self.name = name = options.spec
        remote_code = options.flag("remote_code")
        given = options.text("prompt")
        self.languages = {"source": options.text("source"), "target": options.text("target")}
        prompt = find_prompt(given) if given not in ("", NO_PROMPT) else None
        self.reads_source = self.takes_context = given != NO_PROMPT
        chat = options.choice("chat", ("auto", "yes", "no"), "auto")
        end = options.choice("end", ("", "eos", "newline"), "")
        device = options.text("device", "auto")
        self._dtype = options.choice("dtype", ("float32", "float16", "bfloat16", "float64"), "float32")
        self._budget = options.integer("budget", _BUDGET)
        self._limit = options.integer("max_length", 256)
        self._stated_penalty = read_length_penalty(options)
        self._chatter = Chatter.of(options, "count", options.text("target"))
        self._lean = options.choice("forward", ("lean", "transformers"), "lean") == "lean"
        if not given and not all(self.languages.values()):
            raise BabelscopeError(
                f"{name}: set ?source=LANGUAGE&target=LANGUAGE, or give a prompt of your own"
            )
        revision = options.text("revision")
        options.refuse_unused()
        gguf = find_gguf(rest)
        folder = gguf.folder if gguf else fetch(rest, revision=revision, remote_code=remote_code)
        self.folder = folder
        place = folder / gguf.name if gguf else folder
        self._loaded = load_network(place, device=device, dtype=self._dtype, remote_code=remote_code)
        self.files, self.network = self._loaded.files, self._loaded.network
        self.tokens = Tokens(place, remote_code=remote_code, beside_model=True)
        self._positions = position_limit(self.network.config, folder)
        self._size = self.network.get_input_embeddings().weight.shape[0]
        has_template = bool(self.tokens.tokenizer.chat_template) and self.reads_source
        if prompt is not None and prompt.kind != "auto":
            chat = _agreed_kind(name, prompt, chat)
        self._chat = has_template if chat == "auto" else chat == "yes"
        if self._chat and not self.reads_source:
            raise BabelscopeError(f"{name}: prompt=none asks nothing, so that chat=yes has no effect")
        if self._chat and not self.tokens.tokenizer.chat_template:
            raise BabelscopeError(f"{name}: this model has no chat template, so it can be asked plainly only")
        self.prompt = prompt or (_INSTRUCTION if self._chat else PLAIN)
        require_context(self.prompt, options)
        self._filled = self.prompt.filled(self.languages, name) if self.reads_source else self.prompt
        self.end = end or ("eos" if self._chat or not self.reads_source else "newline")
        self._find_ends()
        asked = self._filled.text("{text}") if self.reads_source and not self._chat else ""
        unknown = trained and asked not in {each.text("{text}") for each in trained}
        self._said: tuple[Note, ...] = ("other_prompt",) if unknown else ()
        self.length_penalty = stated_penalty(self._stated_penalty, self.network.generation_config, folder)
        self.model = self._open_model()
        self.vocabulary = self.model.vocabulary

    def _find_ends(self) -> None:
        """Find the tokens that end an answer: `_end_id` stands for all of them, and `_ends` are the others."""
        eos = self.tokens.tokenizer.eos_token_id
        stated = self.network.generation_config.eos_token_id
        # Of the text, of its turn...
        several = stated if isinstance(stated, list) else [] if self.end == "eos" else [stated]
        known = {token_id(each, self._size, "eos_token_id", self.folder) for each in several}
        if self.end == "eos":
            if eos is None:
                raise BabelscopeError(
                    f"{self.name}: its tokenizer has no end-of-sentence token; set end=newline"
                )
            self._end_id, self._lines = int(eos), None
        else:
            self._lines = find_line_ends(self.tokens.tokenizer, self._size, self.name)
            self._end_id = self._lines.end
            known |= {eos, *self._lines.others}
        self._ends = sorted({int(each) for each in known if each is not None} - {self._end_id})
        self._closing = self._lines.first if self._lines else {}

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Without a prompt there is nothing to translate."""
        if not self.reads_source:
            return frozenset({"score"})
        if not self.model.decodes:  # prefixes cannot be continued here: transformers generates
            return frozenset({"score", "translate", "reply"})
        return frozenset({"score", "translate", "reply", "sample", "top_k", "next_tokens"})

    def _open_model(self) -> OpenModel:
        # No token begins an answer: what is fed first stands for the prompt's last token.
        vocabulary = Vocabulary(self._size, (0,), self._end_id, (), None, self._limit)
        groups = self._lines.closing if self._lines else ()
        model: OpenModel = (
            Decoder(self._loaded.weights, vocabulary, self._ends, groups)
            if self._lean and not why_not_lean(self.network)
            else Causal(self.network, vocabulary, self._ends, groups)
        )
        return Closing(model, set(self._closing.values())) if self._closing else model

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
            # Batches can change the last bits of scores: a run must not be resumed with other ones.
            **({} if self._budget == _BUDGET else {"budget": self._budget}),
            **({} if self._stated_penalty is None else {"length_penalty": self._stated_penalty}),
            **({"ends": self._ends} if self._ends else {}),
            **({"closing": digest_json(sorted(self._closing.items()))} if self._closing else {}),
            **({"noted": list(self._said)} if self._said else {}),
            **({} if self._lean else {"forward": "transformers"}),
            **self._chatter.settings,
        }
        return fingerprint(self.files, self.tokens, dtype=self._dtype, settings=settings)

    def _watched(self, questions: Sequence[Asked], answers: list[_Answer]) -> list[_Answer]:
        return self._chatter.clean_output(questions, answers)

    def _generate(
        self,
        questions: Sequence[Asked],
        beam: int,
        n_best: int,
        length_penalty: float,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        if self.model.decodes:
            return super()._generate(questions, beam, n_best, length_penalty, diversity)
        if diversity:
            raise no_groups(self.name)
        # transformers warns of a penalty where there is no beam.
        how = {"length_penalty": length_penalty} if beam > 1 else {}
        found = [self._generated(prompt, beam, n_best, how) for prompt in self._prompts(questions)]
        return [self._written([(ids, [0.0] * len(ids)) for ids in group]) for group in found]

    def _generated(
        self, prompt: list[int], beam: int, n_best: int, how: Mapping[str, float]
    ) -> list[list[int]]:
        """What transformers puts after a prompt, up to the end token."""
        ends = [self._end_id, *self._ends, *self._closing]
        rows = self._loaded.generate(
            prompt, self.name, ends, beam=beam, n_best=n_best, longest=self._limit, how=how
        )
        return [self._cut_at_end(row) for row in rows]

    def _cut_at_end(self, row: list[int]) -> list[int]:
        """Generated ids up to the first end, whichever it is."""
        ends = {self._end_id, *self._ends}
        for place, token in enumerate(row):
            if token in self._closing:
                return [*row[:place], self._closing[token], self._end_id]
            if token in ends:
                return [*row[:place], self._end_id]
        return row

    def _text_of(self, ids: Sequence[int]) -> str:
        """The text of an answer's tokens without its end; of a token with a line break, what stands before that."""
        text = self.tokens.decode([ids])[0]
        return (text.partition("\n")[0] if self._closing else text).strip()

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [self._text_of(row[:-1] if row[-1] == self._end_id else row) for row in rows]

    def _longest(self, asked: int = 0) -> int:
        return min(asked or self._limit, self._limit)

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        rows = self._prompts(asked)
        return [tuple(row) for row in rows], [self._said] * len(rows)

    def _prompts(self, asked: Sequence[Asked]) -> list[list[int]]:
        sources = sources_of(asked)
        if not self.reads_source:
            return [self._start() for _ in sources]
        check_texts(sources, what="source")
        rows = []
        for number, (each, source) in enumerate(zip(asked, sources, strict=True), 1):
            prompt = self._filled.about(as_question(each), self.name) if self.reads_context else self._filled
            chat = prompt.messages(source) if self._chat else None
            ids = self._prompt_ids(self._chat_text(chat) if chat else prompt.text(source))
            if self._too_long(ids):
                reason = (
                    f"makes a prompt of {len(ids)} tokens, which with {self._limit} for the answer is more than the "
                    f"{self._positions} that {self.name} takes"
                )
                raise RefusedText("source", number, f"{reason}: {shorten(source)}")
            rows.append(ids)
        check_ids(rows, self._size, self.name)
        return rows

    def _too_long(self, prompt: Sequence[int]) -> bool:
        return self._positions is not None and len(prompt) + self._limit > self._positions

    def _prompt_ids(self, text: str) -> list[int]:
        tokenizer = self.tokens.tokenizer
        with library_errors(f"{self.folder}: its tokenizer fails"):
            ids = tokenizer(text, add_special_tokens=not self._chat)["input_ids"]
        if not self._chat and ids and ids[-1] == tokenizer.eos_token_id:
            ids = ids[:-1]  # some tokenizers end every text, but here the answer follows
        return [int(number) for number in ids]

    def _chat_text(self, messages: list[dict[str, str]]) -> str:
        """The chat as the model's template writes it, up to where the model answers."""
        with library_errors(f"{self.folder}: its chat template fails"):
            text = str(
                self.tokens.tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True
                )
            )
        # Some templates leave out a role that they do not know.
        if messages[0]["role"] == "system" and messages[0]["content"].strip() not in text:
            raise BabelscopeError(f"{self.name}: its chat template drops the system message; leave it out")
        return text

    @checked
    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        """Greedy answers: to the prompt as a chat, or after `Answer:`; a prompt that is too long gets none."""
        rows = [
            self._prompt_ids(
                self._chat_text([{"role": "user", "content": prompt}])
                if self._chat
                else _ASKED_PLAINLY.replace("{question}", prompt)
            )
            for prompt in prompts
        ]
        check_ids(rows, self._size, self.name)
        asked = list(dict.fromkeys(tuple(row) for row in rows if row and not self._too_long(row)))
        if self.model.decodes:
            search = functools.partial(beam_search, self.model, beam=1, max_length=self._limit)
            found = [group[0] for group in in_parts(self.name, search, asked)]
        else:
            found = [self._generated(list(row), 1, 1, {})[0] for row in asked]
        answers = dict(zip(asked, found, strict=True))
        return [self._reply(answers.get(tuple(row))) for row in rows]

    def _reply(self, ids: Sequence[int] | None) -> Reply:
        if ids is None:
            return Reply("", "refused")
        whole = ids[-1] == self._end_id
        return Reply(self._text_of(ids[:-1] if whole else ids), "whole" if whole else "cut")

    def _text_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of target texts as they follow the prompt, ending in the end token."""
        joint = self.prompt.joint if self.reads_source and not self._chat else ""
        rows = [f"{joint}{text}" if text else text for text in texts]
        if not self._closing:
            return self.tokens.encode_targets(rows, eos=self._end_id)
        # A line's last characters may be one token with its break, which is then the likely one.
        lines = self.tokens.encode_targets([f"{row}\n" if row else row for row in rows], eos=self._end_id)
        return [self._cut_at_end(line) for line in lines]

    def _surfaces(self) -> dict[int, bytes]:
        """A token that closes a text stands for what is before its line break."""
        found = super()._surfaces()
        for token, name in zip(self._closing, self.tokens.tokens(list(self._closing)), strict=True):
            found[token] = _LINE_BREAK.split(name)[0].encode()
        return found

    def _limited(self, rows: list[list[int]], targets: Sequence[Target]) -> SourceIds:
        for number, (row, target) in enumerate(zip(rows, targets, strict=True), 1):
            if len(row) > self._limit:
                text = target if isinstance(target, str) else target.text
                reason = (
                    f"has {len(row)} tokens, but {self.name} takes {self._limit} (set a larger max_length)"
                )
                raise RefusedText("target", number, f"{reason}: {shorten(text)}")
        return [tuple(row) for row in rows], [()] * len(rows)


def _agreed_kind(name: str, prompt: Prompt, chat: str) -> str:
    """Whether the chat template is used, as the prompt's file says; an error if the spec says otherwise."""
    own = "yes" if prompt.kind == "chat" else "no"
    if chat not in ("auto", own):
        raise BabelscopeError(
            f"{name}: the prompt {prompt.name} is of the kind {prompt.kind}; leave chat={chat} out"
        )
    return own
