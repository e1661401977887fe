"""What is wrong with a system, found before it is used: the checks of `babelscope doctor`.

Those without a forward pass run whenever a system is opened.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.registry import split_options
from babelscope.core.system import Scored, capabilities
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

PROBES = (
    "The old bridge was closed in 2019, and a new one was built beside it.",
    "Der Zug nach Berlin hat heute zwanzig Minuten Verspätung.",
    "Мой брат живёт в маленьком городе у моря.",
    "今天天气很好，我们去公园吧。",
)
"""What a system is asked where no text of its own language is given: those that its tokenizer reads best."""
_PROBES = 2
# How many sources are translated, and how many tokens a translation may have.
_TRANSLATED, _LONGEST = 4, 24
# Nats per token. Order, batch and forward pass change float32 scores by less; other types round more.
_ROUNDING = {"float32": 1e-3, "float64": 1e-3}
_OTHER_ROUNDING = 0.2
_HALF = ("float16", "bfloat16")
_MOST_BY_HALF = 0.1
_SUM = 1e-3
# What the beginning of a text, or a decoder start, must be worth before another one is called better.
_BETTER = 0.3
# A model that predicts text no better than this share of chance knows nothing of it: nothing is concluded from that.
_KNOWN = 0.8
# Rows of an output layer without a token: vocabularies are rounded up to multiples of 128 or so.
_MOST_UNNAMED, _FEW_UNNAMED = 0.05, 256
_MOST_UNKNOWN = 0.2
_STARTS = {
    "marian": "pad", "t5": "pad", "mt5": "pad", "umt5": "pad", "m2m_100": "eos", "mbart": "eos", "bart": "eos",
    "fsmt": "eos", "pegasus": "pad",
}  # fmt: skip
"""The decoder start that a family is trained with."""
_NEUTRAL = {
    "repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0, "min_length": 0, "min_new_tokens": 0, "diversity_penalty": 0.0,
    "suppress_tokens": [], "begin_suppress_tokens": [], "bad_words_ids": [], "sequence_bias": {},
    "exponential_decay_length_penalty": [], "force_words_ids": [], "guidance_scale": 1.0,
}  # fmt: skip
"""Generation settings that change which translation is best, and that we do not apply."""
_LANGUAGE = re.compile(r">>\w+<<|<2\w+>")
_INPUTS = ("embed_tokens.weight", "shared.weight", "wte.weight")
_TURNS = ("<|im_start|>", "[INST]", "<start_of_turn>", "<|start_header_id|>", "<|user|>", "<|assistant|>")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    fault: str = ""
    """What is wrong and what to do; empty if nothing is."""
    detail: str = ""
    """What was measured."""
    skipped: str = ""
    """Why the check does not apply."""

    @property
    def state(self) -> str:
        """fine, fault or skipped."""
        return "fault" if self.fault else "skipped" if self.skipped else "fine"


@dataclass(slots=True)
class Decoded:
    """What a system's greedy translations showed."""

    ids: list[list[int]]
    sums: list[float]
    """Of the next token's probabilities, at every place."""
    likeliest_end: float
    """The highest log-probability of the end token at any place."""


class Patient:
    """A system, what it is asked, and what it answered; each is computed once."""

    def __init__(
        self,
        system: Any,
        sources: Sequence[str],
        references: Sequence[str],
        reopen: Callable[..., Any] | None,
    ) -> None:
        self.system, self.references = system, list(references)
        self.reopen = reopen
        """Opens the same system with other options."""
        self.can = capabilities(system)
        self.tokens: Any = getattr(system, "tokens", None)
        self.model: Any = getattr(system, "model", None) if "next_tokens" in self.can else None
        self.vocabulary: Any = getattr(self.model, "vocabulary", None)
        network = getattr(system, "network", None) if hasattr(system, "languages") else None
        self.config: Any = getattr(network, "config", None) or getattr(system, "config", None)
        self.generation: Any = getattr(network, "generation_config", None) or getattr(
            system, "generation", None
        )
        self.is_causal = hasattr(system, "languages") and self.model is not None
        self._given = list(sources)

    @functools.cached_property
    def sources(self) -> list[str]:
        """The sources given, else probes that the tokenizer reads; the quick checks need neither."""
        return self._given or self._readable_probes()

    def _readable_probes(self) -> list[str]:
        """Probes with the fewest unknown tokens and, among these, the fewest tokens per byte; all where unknown."""
        if self.tokenizer is None:
            return list(PROBES)
        unknown = getattr(self.tokenizer, "unk_token", None)
        rows = [self.tokens.source_tokens(row) for row in self.tokens.encode_sources(PROBES)]
        fits = [
            (row.count(unknown) / max(1, len(row)), len(row) / len(probe.encode()), probe)
            for probe, row in zip(PROBES, rows, strict=True)
        ]
        return [probe for *_, probe in sorted(fits)[:_PROBES]]

    @property
    def dtype(self) -> str:
        return str(self.system.fingerprint.dtype)

    @property
    def tokenizer(self) -> Any:
        """The Hugging Face tokenizer; None for other systems."""
        return getattr(self.tokens, "tokenizer", None)

    @functools.cached_property
    def decoded(self) -> Decoded:
        """Greedy translations of the first sources, cut at some length."""
        eos, sources = self.vocabulary.eos, self.sources[:_TRANSLATED]
        found = Decoded([[] for _ in sources], [], -math.inf)
        memory, nodes, logs = self._after(self.vocabulary.prefix, sources)
        active = list(range(len(sources)))
        for _ in range(min(self.system._longest(), _LONGEST)):
            found.sums += logs.double().exp().sum(1).tolist()
            found.likeliest_end = max(found.likeliest_end, float(logs[:, eos].max()))
            best = logs.argmax(1).tolist()
            for number, token in zip(active, best, strict=True):
                found.ids[number].append(token)
            going = [place for place, token in enumerate(best) if token != eos]
            if not going:
                break
            active = [active[place] for place in going]
            first = memory.size
            logs = self.system.step(
                memory, [nodes[place] for place in going], [best[place] for place in going]
            )
            nodes = range(first, first + len(going))
        return found

    @functools.cached_property
    def translations(self) -> list[Scored]:
        """Its own greedy translations of the first sources, cut at some length where that can be said."""
        if self.model is None:
            sources = self.sources[:_TRANSLATED]
            return [best[0] for best in self.system.translate(sources, beam=1, n_best=1)]
        answers: list[Scored] = self.system._written([(ids, [0.0] * len(ids)) for ids in self.decoded.ids])
        return answers

    @functools.cached_property
    def pairs(self) -> list[tuple[str, Any]]:
        """Pairs to score: references, or its own translations."""
        targets = self.references or self.translations
        return list(zip(self.sources[: len(targets)], targets, strict=True))

    @functools.cached_property
    def scores(self) -> list[Scored]:
        return list(self.system.score(self.pairs))

    @functools.cached_property
    def unequal(self) -> tuple[list[tuple[str, Any]], list[Scored]]:
        """The pairs with the shortest and the longest target, and their scores among all pairs."""
        order = sorted(range(len(self.pairs)), key=lambda number: len(self.scores[number].tokens))
        ends = sorted({order[0], order[-1]})
        return [self.pairs[number] for number in ends], [self.scores[number] for number in ends]

    def forced(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """For each source its targets' log-probabilities, all ids, in one batch."""
        from babelscope.decoding.model import score_targets

        rows = [tuple(source) for source in sources]
        groups = [[tuple(target) for target in group] for group in targets]
        found = dict(score_targets(self.model, rows, groups, budget=2048))
        return [found[number] for number in range(len(sources))]

    def next_tokens(self, prefix: Sequence[int]) -> Any:
        """Log-probabilities of the token after `prefix`, for each of some sources."""
        return self._after(prefix, self.sources[:_PROBES])[2]

    def _after(self, prefix: Sequence[int], sources: Sequence[str]) -> tuple[Any, Sequence[int], Any]:
        """The memory of sources after `prefix`, their nodes there, and the next token's log-probabilities."""
        memory = self.system.encode(sources)
        nodes: Sequence[int] = range(len(sources))
        for token in prefix:
            first = memory.size
            logs = self.system.step(memory, nodes, [token] * len(sources))
            nodes = range(first, first + len(sources))
        return memory, nodes, logs


Check = Callable[[Patient], Finding]


# --- Checks without a forward pass, made whenever a system is opened -----------------------------------------------


def check_ties(patient: Patient) -> Finding:
    """Output and input embeddings are one matrix where the configuration says so, and in the weights, too."""
    name, files = "weights", getattr(patient.system, "files", None)
    paths = [path for key, path in getattr(files, "paths", {}).items() if key.endswith(".safetensors")]
    if patient.config is None or not paths:
        return Finding(name, skipped="no safetensors file")
    if not getattr(patient.config, "tie_word_embeddings", True):
        return Finding(name, detail="output and input embeddings are apart, as the configuration says")
    import torch
    from safetensors import safe_open

    stored: dict[str, Any] = {}
    for path in paths:
        with safe_open(path, framework="pt") as opened:
            stored |= dict.fromkeys(opened.keys(), path)
    named = [key for key in stored if key.endswith(_INPUTS) and "encoder" not in key]
    if "lm_head.weight" not in stored or not named:
        return Finding(name, detail="all there; output and input embeddings are one matrix")

    def tensor(key: str) -> Any:
        with safe_open(stored[key], framework="pt") as opened:
            return opened.get_tensor(key)

    output = tensor("lm_head.weight")
    if any(each.shape == output.shape and torch.equal(each, output) for each in map(tensor, named)):
        return Finding(name, detail="all there; output and input embeddings are equal")
    return Finding(
        name,
        "the file has an output layer (lm_head.weight) of its own, but the configuration ties it to the embeddings, "
        "so that the stored one is not used: set tie_word_embeddings to false in config.json",
    )


def check_vocabulary(patient: Patient) -> Finding:
    """The tokenizer names nearly all ids of the output layer."""
    name, names = "vocabulary", getattr(patient.tokens, "vocabulary", None)
    if patient.model is None or names is None or patient.vocabulary is None:
        return Finding(name, skipped="the network's output layer is not open")
    size, known = patient.vocabulary.size, len(names)
    unnamed = size - known
    if unnamed > max(_FEW_UNNAMED, _MOST_UNNAMED * size) or known > size + max(
        _FEW_UNNAMED, _MOST_UNNAMED * size
    ):
        return Finding(
            name,
            f"the network has {size:,} output tokens, and the tokenizer {known:,}: it is of another model; take the "
            "tokenizer of the folder that the weights are from",
        )
    return Finding(name, detail=f"{size:,} output tokens, {known:,} in the tokenizer")


def check_start(patient: Patient) -> Finding:
    """The decoder starts with the token that models of its family are trained with."""
    name, config = "decoder start", patient.config
    usual = _STARTS.get(getattr(config, "model_type", ""))
    vocabulary = patient.vocabulary
    if usual is None or vocabulary is None or patient.is_causal:
        return Finding(name, skipped="no encoder-decoder of a family with a known start")
    start, expected = vocabulary.prefix[0], getattr(config, f"{usual}_token_id", None)
    stated = getattr(patient.generation, "decoder_start_token_id", None)
    if expected is not None and start != expected:
        return Finding(
            name,
            f"the decoder starts with the token {start}, but {config.model_type} models are trained to start with "
            f"their {usual} token, {expected}: correct decoder_start_token_id in config.json",
        )
    if stated is not None and stated != start:
        return Finding(
            name,
            f"the decoder starts with {start} by config.json, with {stated} by generation_config.json: correct one",
        )
    return Finding(name, detail=f"{usual} ({start})")


def check_generation(patient: Patient) -> Finding:
    """The folder has no generation settings that change the best translation and that we do not apply."""
    name, generation = "generation settings", patient.generation
    if generation is None:
        return Finding(name, skipped="the folder has none")
    masked = {(token,) for token in getattr(patient.vocabulary, "masked", ())}
    ignored = []
    for key, neutral in _NEUTRAL.items():
        value = getattr(generation, key, None)
        if key == "bad_words_ids" and value:
            value = [row for row in value if tuple(row) not in masked]
        if value and value != neutral:
            ignored.append(f"{key} = {str(value)[:60]}")
    if ignored:
        return Finding(
            name,
            f"generation_config.json sets {', '.join(ignored)}, which is not applied: translations differ from those "
            "of transformers' generate, and scores are those of the model itself",
        )
    beam = getattr(generation, "num_beams", None)
    return Finding(name, detail=f"its own beam has a size of {beam}" if (beam or 1) > 1 else "")


def check_chat(patient: Patient) -> Finding:
    """A language model with a chat template is asked by it; one with tokens of turns has a template."""
    name = "chat template"
    if not patient.is_causal or patient.tokenizer is None:
        return Finding(name, skipped="no language model")
    has_template = bool(patient.tokenizer.chat_template)
    turns = [token for token in _TURNS if token in patient.tokens.vocabulary]
    if has_template and not patient.system._chat:
        return Finding(
            name,
            "the model has a chat template, but is asked without it: leave chat=no out, or use a chat prompt",
        )
    if not has_template and turns:
        return Finding(
            name,
            f"the vocabulary has tokens of a chat ({', '.join(turns)}), but the folder has no chat template: add "
            "chat_template.jinja from the model's repository",
        )
    return Finding(name, detail="used" if has_template else "none, and no tokens of a chat")


def check_language_tokens(patient: Patient) -> Finding:
    """Where a model chooses its target language by a token, the system names one, and it is one token."""
    name, tokens, system = "language tokens", patient.tokens, patient.system
    if patient.model is None or patient.is_causal or not hasattr(tokens, "vocabulary"):
        return Finding(name, skipped="no encoder-decoder with an open network")
    prefix = getattr(system, "prefix", "")
    said = _LANGUAGE.findall(prefix)
    known = [each for each in tokens.vocabulary if _LANGUAGE.fullmatch(each)]
    if tokens.target_language_id is not None:
        (token,) = tokens.tokens([tokens.target_language_id])
        target = system.fingerprint.settings.get("target", "")
        if target not in token:
            return Finding(
                name,
                f"the tokenizer gives {token!r} as the token of the language {target}: it is of another model",
            )
        return Finding(name, detail=f"the target's is {token}")
    if known and (unknown := [each for each in said if each not in known]):
        return Finding(
            name, f"the prefix names {unknown[0]}, which is no token of this model, as {known[0]} is"
        )
    if known and not said:
        return Finding(
            name,
            f"the model has {len(known)} tokens of languages, such as {known[0]}, and none is named: add "
            f"?prefix={known[0]} with the target's",
        )
    return Finding(name, detail=f"prefix {said[0]}" if said else "the model has none")


# --- Checks that ask the model -------------------------------------------------------------------------------------


def check_probabilities(patient: Patient) -> Finding:
    """Probabilities of the next token are numbers that sum to one."""
    name = "probabilities"
    if patient.model is None:
        return Finding(name, skipped="the system gives no next-token distributions")
    worst = max(patient.decoded.sums, key=lambda each: abs(each - 1) if math.isfinite(each) else math.inf)
    if not math.isfinite(worst):
        advice = "open it with dtype=float32" if patient.dtype in _HALF else "the weights are damaged"
        return Finding(
            name, f"probabilities are not finite: numbers overflow in {patient.dtype}, or {advice}"
        )
    if abs(worst - 1) > _SUM:
        return Finding(
            name, f"probabilities of the next token sum to {worst:.6f}: the forward pass is wrong; report it"
        )
    return Finding(name, detail=f"sum to 1 within {abs(worst - 1):.0e}")


def check_forward(patient: Patient) -> Finding:
    """Our forward pass gives the scores of that of transformers."""
    name = "forward pass"
    # A network of transformers; looking at the attribute itself would load it.
    has_network = patient.is_causal or hasattr(type(patient.system), "network")
    if not has_network or patient.model is None or patient.reopen is None:
        return Finding(name, skipped="no network of transformers")
    if "forward" in patient.system.fingerprint.settings:
        return Finding(name, skipped="not a forward pass of our own")
    return _compare(
        patient,
        patient.reopen(forward="transformers"),
        name,
        _tolerance(patient),
        "than transformers' own forward pass: say forward=transformers, and report it",
    )


def check_batches(patient: Patient) -> Finding:
    """A pair has one score, alone and among others."""
    name = "batches"
    if "score" not in patient.can:
        return Finding(name, skipped="the system does not score")
    pairs, scores = patient.unequal
    apart = _apart(scores, [patient.system.score([pair])[0] for pair in pairs])
    if apart <= _tolerance(patient):
        return Finding(name, detail=f"scores alone and in a batch differ by {apart:.0e} nats per token")
    return Finding(
        name,
        f"scores of a pair alone and in a batch differ by {apart:.3f} nats per token: padding is read as text; do "
        "not use them",
    )


def check_round_trip(patient: Patient) -> Finding:
    """Sources have known tokens, and its own translations are cut into the tokens that it wrote."""
    name, tokens = "tokenizer", patient.tokens
    if tokens is None or "translate" not in patient.can:
        return Finding(name, skipped="no tokenizer of ours")
    if not patient.is_causal and patient.tokenizer is not None:
        unknown = getattr(patient.tokenizer, "unk_token", None)
        rows = [tokens.source_tokens(row) for row in tokens.encode_sources(patient.sources)]
        shares = [row.count(unknown) / max(1, len(row)) for row in rows]
        if min(shares) > _MOST_UNKNOWN:
            return Finding(
                name,
                f"{min(shares):.0%} or more of the tokens of every source are unknown: the tokenizer is of another "
                "model or language; give sources of its language with --source",
            )
    ended = [each for each in patient.translations if each.text and "unfinished" not in each.notes]
    changed = [each for each in ended if "changed" in each.notes]
    if len(changed) > max(1, len(ended) / 2):
        return Finding(
            name,
            f"{len(changed)} of its own {len(ended)} translations are cut into other tokens than it wrote, such as "
            f"{shorten(changed[0].text, 80)}: the tokenizer is of another model",
        )
    return Finding(name, detail=f"{len(ended) - len(changed)} of {len(ended)} translations keep their tokens")


def check_likelihood(patient: Patient) -> Finding:
    """References are more probable than by chance, where there are some."""
    name = "references"
    if not patient.references or "score" not in patient.can or patient.model is None:
        return Finding(name, skipped="none given (--source, --target)")
    tokens = list(itertools.chain.from_iterable(each.logprobs for each in patient.scores))
    mean, chance = math.fsum(tokens) / len(tokens), math.log(patient.vocabulary.size)
    if -mean >= chance:
        return Finding(
            name,
            f"references have {-mean:.2f} nats per token, no better than chance ({chance:.2f}): the tokenizer, the "
            "languages or the prompt do not fit the weights",
        )
    return Finding(name, detail=f"{-mean:.2f} nats per token, chance is {chance:.2f}")


def check_end(patient: Patient) -> Finding:
    """Somewhere in its own translations, or at the end of a reference, the end of sentence is likely."""
    name = "end of sentence"
    if patient.model is None:
        return Finding(name, skipped="the network is not open")
    chance = -math.log(patient.vocabulary.size)
    if patient.references:
        best = max(each.logprobs[-1] for each in patient.scores)
        where = "at the end of a reference"
    else:
        ended = [each for each in patient.translations if "unfinished" not in each.notes]
        if ended:
            return Finding(name, detail=f"{len(ended)} of {len(patient.translations)} translations end")
        best, where = patient.decoded.likeliest_end, "in a translation"
    if best < chance:
        return Finding(
            name,
            f"the end of sentence is never likely {where} (at most {best:.1f} nats, chance is {chance:.1f}): "
            "eos_token_id is wrong, or a bias suppresses it",
        )
    return Finding(name, detail=f"up to {best:.2f} nats {where}")


def check_beginning(patient: Patient) -> Finding:
    """A language model that was trained with a token for the beginning of a text is given it."""
    name = "beginning of text"
    tokenizer = patient.tokenizer if patient.is_causal else None
    begin = getattr(tokenizer, "bos_token_id", None)
    if tokenizer is None or begin is None:
        return Finding(name, skipped="no language model with a token for the beginning of texts")
    texts = [
        row
        for row in (patient.tokens.encode_targets([text], eos=0)[0][:-1] for text in patient.sources)
        if len(row) > 3
    ]
    if not texts:
        return Finding(name, skipped="no text of four tokens")
    count = sum(len(row) - 1 for row in texts)
    starts = [(begin, row[0]) for row in texts] + [(row[0],) for row in texts]
    sums = [sum(logprobs) for (logprobs,) in patient.forced(starts, [[row[1:]] for row in texts] * 2)]
    with_it, without = (-sum(own) / count for own in (sums[: len(texts)], sums[len(texts) :]))
    if min(with_it, without) > _KNOWN * math.log(patient.vocabulary.size):
        return Finding(name, skipped="the model predicts these texts hardly better than by chance")
    is_used = begin in patient.system._prompts(patient.sources[:1])[0][:2]
    measured = f"{with_it:.2f} nats per token with {tokenizer.bos_token}, {without:.2f} without"
    if not is_used and without - with_it > _BETTER:
        return Finding(
            name,
            f"prompts begin without {tokenizer.bos_token}, with which the model was trained ({measured}): set "
            "add_bos_token to true in tokenizer_config.json",
        )
    return Finding(name, detail=measured)


def check_language_effect(patient: Patient) -> Finding:
    """Another target language gives other probabilities."""
    name, tokens = "language effect", patient.tokens
    language = getattr(tokens, "target_language_id", None)
    if language is None or patient.model is None:
        return Finding(name, skipped="no token for the target language")
    known = getattr(patient.tokenizer, "lang_code_to_id", None) or patient.tokenizer.get_added_vocab()
    size = patient.vocabulary.size
    others = sorted({int(each) for each in known.values()} - {language})
    prefix = patient.vocabulary.prefix
    own = patient.next_tokens(prefix)
    for other in [each for each in others if each < size][-3:]:
        replaced = [other if token == language else token for token in prefix]
        theirs = patient.next_tokens(replaced)
        if float((own.exp() - theirs.exp()).abs().max()) > 1e-4:
            return Finding(name, detail="another language changes the first token's probabilities")
    return Finding(
        name,
        "the token of the target language changes nothing: its embedding is not trained, or the model has one target "
        "language only",
    )


def check_precision(patient: Patient) -> Finding:
    """Half precision gives the scores of float32."""
    name = "precision"
    if patient.dtype not in _HALF or patient.reopen is None or "score" not in patient.can:
        return Finding(name, skipped="not in half precision")
    try:
        return _compare(
            patient, patient.reopen(dtype="float32"), name, _MOST_BY_HALF,
            f"than in float32: {patient.dtype} overflows or rounds too much; say dtype=float32",
        )  # fmt: skip
    except BabelscopeError as error:
        return Finding(name, f"{patient.dtype} fails ({error}): say dtype=float32")


def _compare(patient: Patient, other: Any, name: str, most: float, what: str) -> Finding:
    pairs, scores = patient.unequal
    apart = _apart(scores, other.score(pairs))
    if apart <= most:
        return Finding(name, detail=f"scores differ by at most {apart:.0e} nats per token")
    return Finding(name, f"scores are {apart:.3f} nats per token other {what}")


def _apart(some: Sequence[Scored], others: Sequence[Scored]) -> float:
    """The largest difference of mean log-probabilities; infinite where one is and the other is not."""
    pairs = [(one.mean, other.mean) for one, other in zip(some, others, strict=True)]
    return max(0.0 if one == other else abs(one - other) for one, other in pairs)


def _tolerance(patient: Patient) -> float:
    return _ROUNDING.get(patient.dtype, _OTHER_ROUNDING)


QUICK: tuple[Check, ...] = (
    check_ties, check_vocabulary, check_start, check_generation, check_language_tokens,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    *QUICK, check_chat, check_probabilities, check_precision, check_forward, check_batches, check_round_trip,
    check_end, check_beginning, check_language_effect, check_likelihood,
)  # fmt: skip


def examine(
    system: Any,
    sources: Sequence[str] = (),
    references: Sequence[str] = (),
    reopen: Callable[..., Any] | None = None,
    checks: Sequence[Check] = CHECKS,
) -> Iterator[Finding]:
    """What each check finds; one that fails is a fault, too."""
    patient = Patient(system, sources, references, reopen)
    for check in checks:
        try:
            yield check(patient)
        except Exception as error:  # whatever a model or a plug-in raises
            name = check.__name__.removeprefix("check_").replace("_", " ")
            yield Finding(name, f"the model fails: {error}")


def doctor(spec: str, sources: Sequence[str] = (), references: Sequence[str] = ()) -> Iterator[Finding]:
    """Open a system by name and examine it; that it cannot be opened is a finding."""
    from babelscope.systems.registry import open_system

    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", RuntimeWarning)
            system = open_system(spec, check=False)
    except BabelscopeError as error:
        yield Finding("opens", str(error))
        return
    ours = [str(each.message) for each in told if str(each.message).startswith(spec)]
    yield Finding("opens", "; ".join(ours))
    path, query = split_options(spec.partition(":")[2])

    def reopen(**options: str) -> Any:
        kept = [each for each in query.split("&") if each and each.partition("=")[0] not in options]
        changed = "&".join([*kept, *(f"{key}={value}" for key, value in options.items())])
        return open_system(f"{spec.partition(':')[0]}:{path}?{changed}", check=False)

    yield from examine(system, sources, references, reopen)
