"""How a system is opened by name: `scheme:rest?option=value`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, cast
from urllib.parse import quote

from babelscope.core.registry import (
    Options,
    Registry,
    did_you_mean,
    parse_options,
    resolve,
    split_options,
    split_spec,
)
from babelscope.core.results import grouped
from babelscope.core.system import CAPABILITIES, Capability, Fingerprint, System, capabilities, properties
from babelscope.systems.context import Context, with_context
from babelscope.util.errors import BabelscopeError, explain_missing
from babelscope.util.progress import working
from babelscope.util.text import check_name


@dataclass(frozen=True, slots=True)
class Scheme:
    """One kind of system: the word before the colon, and the function that opens the rest."""

    name: str
    opener: str
    """`module:function`, imported only when used; takes (rest, options) and returns a system."""
    summary: str
    example: str
    capabilities: frozenset[Capability] = frozenset()
    extra: str = ""
    """The optional dependency it needs, an extra of Babelscope, such as `ct2`."""
    runs: bool = False
    """True if its name says what program is started: a study that has one is asked about before it is run."""
    contacts: Literal["", "server", "hub"] = ""
    """Who is asked over a network: the server of the URL in its name, which a study is asked about, or the hub if its
    name is no local folder."""
    stored: bool = False
    """True if its answers stand in files, so that it is opened where the study runs, never in other processes."""
    prompted: tuple[str, ...] = ()
    """Names, with * for any text, of those of its systems that take `?prompt=`."""
    beam: bool = True
    """False if it has no beam whose size could be set."""
    needs: Mapping[Capability, str] = field(default_factory=dict)
    """Capability -> the option that it requires, in words for the user."""


_PLAIN_IN_OPTIONS = "/:;,.()'!@$*+ {}[]\"<>|^`~"
"""Marks that stay as they are in the value of an option; percent signs, &, ?, # and line breaks do not."""
_SCHEME = re.compile(r"[a-z][a-z0-9]*")
_PATH = re.compile(r"/|\w\.\w")
"""A path has folders or a suffix; other words are names, such as those of the lab's models."""
_NAMED = re.compile(r"([^:?]+?)=([a-z][a-z0-9]*:.*)", re.DOTALL)
_PROGRAM = re.compile(r"(\S*/\S*)(.*)", re.DOTALL)
_EVERYTHING: frozenset[Capability] = frozenset({"translate", "score", "sample", "top_k", "next_tokens"})
_BUILT_IN = (
    Scheme(
        "hf",
        "babelscope.systems.models.hf:open_huggingface",
        "an encoder-decoder of transformers: OPUS-MT, WMT19 (FSMT), M2M100, NLLB, mBART50, T5, MADLAD",
        "hf:facebook/nllb-200-distilled-600M?source=eng_Latn&target=deu_Latn",
        _EVERYTHING,
        "models",
        contacts="hub",
    ),
    Scheme(
        "llm",
        "babelscope.systems.models.llm:CausalModel",
        "a decoder-only model, folder or GGUF file, that translates by a prompt or its chat template",
        "llm:Qwen/Qwen3-0.6B?source=English&target=German",
        _EVERYTHING | {"reply"},
        "models",
        contacts="hub",
        prompted=("*",),
    ),
    Scheme(
        "ct2",
        "babelscope.systems.models.ct2:CTranslate2",
        "a CTranslate2 folder, with the tokenizer that it was converted with or files that cut texts",
        "ct2:opus-mt-en-de-ct2?tokenizer=Helsinki-NLP/opus-mt-en-de",
        frozenset({"translate", "score", "sample"}),
        "ct2",
        contacts="hub",
    ),
    Scheme(
        "file",
        "babelscope.systems.stored.translations:open_file",
        "translations in a file, one line per source (n-best: tab-separated)",
        "file:output.de?source=input.en",
        frozenset({"translate"}),
        stored=True,
        beam=False,
    ),
    Scheme(
        "lists",
        "babelscope.systems.stored.translations:open_lists",
        "n-best lists in a file, with or without log-probabilities",
        "lists:output.nbest?source=input.en",
        frozenset({"translate", "regions"}),
        stored=True,
        beam=False,
    ),
    Scheme(
        "scores",
        "babelscope.systems.stored.scores:open_scores",
        "scores of a test set's items in a file, parallel to it",
        "scores:output.scores?layout=blocks",
        frozenset({"item_scores"}),
        stored=True,
        beam=False,
    ),
    Scheme(
        "items",
        "babelscope.systems.stored.translations:open_items",
        "the translations that the items themselves have",
        "items:translations",
        frozenset({"translate"}),
        stored=True,
        beam=False,
    ),
    Scheme(
        "cmd",
        "babelscope.systems.command:Command",
        "a command that reads source lines and writes translation lines",
        "cmd:marian-decoder -c model.yml",
        frozenset({"translate"}),
        runs=True,
        beam=False,
    ),
    Scheme(
        "http",
        "babelscope.systems.servers.rest:open_endpoint",
        "an HTTP endpoint: POST a JSON object with sources, get one with translations",
        "http://localhost:8080/translate",
        frozenset({"translate"}),
        contacts="server",
    ),
    Scheme(
        "https",
        "babelscope.systems.servers.rest:open_endpoint",
        "the same over TLS",
        "https://mt.example.org/translate",
        frozenset({"translate"}),
        contacts="server",
    ),
    Scheme(
        "rest",
        "babelscope.systems.servers.rest:open_template",
        "a translation service (DeepL, Google, Azure...) by a template of its requests, in TOML",
        "rest:deepl.toml?source=EN&target=DE&token_env=DEEPL_KEY",
        frozenset({"translate"}),
        contacts="server",
        beam=False,
    ),
    Scheme(
        "openai",
        "babelscope.systems.servers.openai:OpenAIServer",
        "an OpenAI-compatible server; scores where it returns prompt log-probabilities (vLLM...)",
        "openai:http://localhost:8000/v1#model-name?source=English&target=German",
        frozenset({"translate", "score", "sample", "reply"}),
        contacts="server",
        prompted=("*",),
        beam=False,
        needs={"score": "with logprobs=vllm or logprobs=echo"},
    ),
    Scheme(
        "ensemble",
        "babelscope.systems.models.ensemble:open_ensemble",
        "several models with one vocabulary as one: token probabilities averaged, then the log",
        "ensemble:hf:model-1,hf:model-2",
        frozenset({"translate", "score", "sample", "top_k"}),
        "models",
    ),
)


SCHEMES: Registry[Scheme] = Registry(
    "scheme",
    "babelscope.systems.registry:Scheme",
    "babelscope.systems",
    {scheme.name: scheme for scheme in _BUILT_IN},
)


def load_schemes() -> tuple[dict[str, Scheme], list[BabelscopeError]]:
    """All schemes by name, ours and those of plug-ins, and why each plug-in that is missing cannot be used."""
    return SCHEMES.load_all()


def open_system(spec: str, *, check: bool = True) -> Any:
    """Open a system by name: `scheme:rest?option=value&option=value` (see `babelscope systems`).

    `check`: warn of what is wrong with it as far as that is seen without asking it.
    """
    spec = split_name(spec)[1]
    scheme = find_scheme(spec)
    name, _, rest = spec.partition(":")
    path, options = split_spec(spec, rest)
    clean = options.text("clean")  # of every system; some read it themselves
    context = Context.of(options)
    with explain_missing(f"{name}:", scheme.extra), working(f"loading {spec}"):
        opener = cast(Callable[[str, Options], Any], resolve(scheme.opener))
        system = with_context(opener(path, options), context)
    options.refuse_unused()
    if check:
        _warn_of_faults(system)
    if clean and not getattr(system, "cleans_output", False):
        from babelscope.systems.prompting.chatter import Chatter, with_clean_output

        return with_clean_output(
            system, Chatter.of(options, "no", getattr(system, "languages", {}).get("target", ""))
        )
    return system


def _warn_of_faults(system: Any) -> None:
    """Warn of what the checks of `babelscope doctor` find without asking the model."""
    if not hasattr(system, "tokens"):
        return
    from babelscope.systems.doctor import QUICK, examine

    for found in examine(system, checks=QUICK):
        if found.fault:
            warnings.warn(f"{system.name}: {found.check}: {found.fault}", RuntimeWarning, stacklevel=3)


def find_scheme(spec: str) -> Scheme:
    """The scheme that a system's name begins with; nothing is opened."""
    name, colon, rest = check_name(split_name(spec)[1]).partition(":")
    known = SCHEMES.names()
    if not colon or name not in known:
        otherwise = "" if colon else f"did you mean hf:{spec}?"
        hint = did_you_mean(name, [f"{each}:" for each in known], otherwise, cutoff=0.5)
        raise BabelscopeError(
            f"{spec!r} names no system: it must begin with one of "
            f"{', '.join(f'{each}:' for each in known)}{f'; {hint}' if hint else ''}"
        )
    scheme = SCHEMES.find(name)
    if not rest:
        raise BabelscopeError(f"{spec!r} says nothing after the colon; example: {scheme.example}")
    return scheme


def split_name(text: str) -> tuple[str, str]:
    """The name and the spec of `NAME=SPEC`; the name is empty where there is only a spec."""
    found = _NAMED.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def names_of(specs: Iterable[str]) -> dict[str, str]:
    """Spec -> what the system is called: the end of its path, or the whole spec where it has none.

    Paths are as long as it takes to tell systems apart, and options are left out unless they do. A text that is no
    spec stays as it is.
    """
    known = list(dict.fromkeys(specs))
    ends = {spec: _places(spec) for spec in known}
    names = {spec: own[0] for spec, own in ends.items()}
    for short, own in grouped((name, spec) for spec, name in names.items()).items():
        if len(own) > 1:
            longer = zip(*(ends[spec] for spec in own), strict=False)
            distinct = (each for each in longer if len(set(each)) == len(own))
            found = next(distinct, None)
            names |= dict(zip(own, found, strict=True)) if found else _with_options(short, own)
    uses = Counter(names.values())
    return {spec: name if uses[name] == 1 else spec for spec, name in names.items()}


def _places(spec: str) -> list[str]:
    """What a spec may be called without its options, the shortest first."""
    scheme, colon, rest = spec.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme) or not rest or rest[0].isspace():
        return [spec]
    whole = split_options(rest)[0]
    if not whole:  # all is said by options
        return [spec]
    _, _, model = whole.partition("#")
    if "://" in spec:
        return [model or spec]
    # Of a command only the program has a folder; the others name one thing.
    words = _PROGRAM.fullmatch(whole) if scheme == "cmd" else None
    path, more = words.groups() if words else (whole.rstrip("/"), "")
    if model or "," in path or (words is None and scheme == "cmd") or not _PATH.search(path):
        return [model or f"{scheme}:{whole}"]
    parts = path.split("/")
    return ["/".join(parts[-count:]) + more for count in range(1, 1 + len(parts)) if parts[-count]]


def _with_options(name: str, specs: Sequence[str]) -> dict[str, str]:
    """The name with the options that not all of these specs have."""
    options = {spec: split_options(spec)[1].split("&") for spec in specs}
    shared = set.intersection(*map(set, options.values()))
    own = {spec: [each for each in given if each and each not in shared] for spec, given in options.items()}
    return {spec: "?".join([name, *filter(None, ["&".join(given)])]) for spec, given in own.items()}


def takes_prompts(spec: str) -> bool:
    """Whether a system is asked by a prompt that its spec may name; nothing is opened."""
    name = split_options(spec.partition(":")[2])[0]
    return any(fnmatchcase(name, pattern) for pattern in find_scheme(spec).prompted)


def with_prompt(spec: str, prompt: str) -> str:
    """The spec with the option `prompt`."""
    path, query = split_options(spec.partition(":")[2])
    if "prompt" in parse_options(query):
        raise BabelscopeError(f"{spec} names its prompt: leave that out, or do not give another")
    if not takes_prompts(spec):
        raise BabelscopeError(f"{spec} is not asked by a prompt; leave the prompt out")
    scheme, options = spec.partition(":")[0], f"{query}&" if query else ""
    return f"{scheme}:{path}?{options}prompt={quote(prompt, safe=_PLAIN_IN_OPTIONS)}"


def require(system: System, *needed: Capability, what_for: str) -> None:
    """Raise before any work if `system` lacks a capability, and name the kinds of system that have it."""
    missing = [name for name in needed if name not in capabilities(system)]
    if missing:
        known, _ = load_schemes()
        have = []
        for scheme in known.values():
            if set(missing) <= scheme.capabilities:
                how = ", ".join(scheme.needs[name] for name in missing if name in scheme.needs)
                have.append(f"{scheme.name}: {how}".rstrip())
        raise BabelscopeError(
            f"{what_for} needs a system that {' and '.join(CAPABILITIES[name] for name in missing)}, "
            f"which {system.name} does not; these do: {', '.join(have)}"
        )


class ByTests:
    """One system for each test set, by the test set's name; it answers no other test set."""

    def __init__(self, name: str, parts: Mapping[str, System], tests: Iterable[str]) -> None:
        self.name = name
        self.parts = dict(parts)
        known = list(tests)
        if strange := [each for each in parts if each not in known]:
            raise BabelscopeError(f"there is no test set {strange[0]!r}, only {', '.join(known)}")
        # By the places of the test sets, whatever these are called.
        own = [self.parts[each].fingerprint.as_json() if each in parts else None for each in known]
        self.fingerprint = Fingerprint("parts", settings={"parts": own})
        stated = [properties(each) for each in self.parts.values()]
        self.asked_as_a_whole = any(each.asked_as_a_whole for each in stated)
        self.stored = all(each.stored for each in stated)
        self.at_once = min(each.at_once for each in stated)


def part_for(system: System, tests: str) -> System | None:
    """The part of a system that is asked about a test set: itself unless it has parts, None if it has none for it."""
    return system.parts.get(tests) if isinstance(system, ByTests) else system
