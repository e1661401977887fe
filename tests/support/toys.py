"""A toy system whose probabilities are known exactly: what is computed from them can be checked by hand."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Fingerprint, Scored, Target, sources_of
from babelscope.systems.registry import Scheme
from babelscope.util.errors import RefusedText, Side
from babelscope.util.seeds import stream
from babelscope.util.text import check_texts

EOS = "</s>"
LONGEST = 1000


class Canned:
    """A system that has a translation for each source."""

    def __init__(self, known: Mapping[str, str], name: str = "canned") -> None:
        self.name, self.known = name, known
        self.fingerprint = Fingerprint("canned", name)

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        del beam, n_best
        return [[Scored(self.known[source])] for source in sources_of(questions)]


class ToySystem:
    """A bigram model of characters: P(next | previous, source) are fractions made from a hash.

    A character outside its alphabet is impossible (log-probability minus infinity). With `log`, every
    question it is asked is appended to that file, so that a test can see what was asked, and how often.
    """

    def __init__(
        self,
        name: str = "toy",
        *,
        alphabet: str = "abc ",
        salt: str = "",
        limit: int = 12,
        delay: float = 0.0,
        log: Path | None = None,
    ) -> None:
        self.name = name
        self.symbols = (*alphabet, EOS)
        self.salt = salt
        self.limit = limit
        self.delay = delay
        self.log = log

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(
            backend="toy 1", model="".join(self.symbols), settings={"salt": self.salt, "limit": self.limit}
        )

    def next_probabilities(self, source: str, previous: str) -> dict[str, float]:
        """P(next | previous, source) for every symbol; they sum to one."""
        digest = hashlib.sha256(f"{self.salt}\0{source}\0{previous}".encode()).digest()
        weights = [1 + digest[place] % 7 for place in range(len(self.symbols))]
        return {symbol: weight / sum(weights) for symbol, weight in zip(self.symbols, weights, strict=True)}

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        sources = sources_of(asked for asked, _ in pairs)
        self._check(sources, "source")
        self._check([target if isinstance(target, str) else target.text for _, target in pairs], "target")
        answers = []
        for source, (_, target) in zip(sources, pairs, strict=True):
            text = target if isinstance(target, str) else target.text
            self._asked(f"score\t{source}\t{text}")
            tokens = (*text, EOS) if isinstance(target, str) else target.tokens
            answers.append(self._scored(source, text, tokens))
        return answers

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        sources = sources_of(questions)
        self._check(sources, "source")
        answers = []
        for source in sources:
            self._asked(f"translate\t{source}")
            answers.append(self._search(source, beam)[:n_best])
        return answers

    def sample(self, questions: Sequence[Asked], *, n: int, seed: int) -> list[list[Scored]]:
        answers = []
        for source in sources_of(questions):
            self._asked(f"sample\t{source}")
            rng = stream(seed, f"toy/{source}")
            drawn = []
            for _ in range(n):
                tokens: tuple[str, ...] = ()
                while len(tokens) < self.limit and tokens[-1:] != (EOS,):
                    probabilities = self.next_probabilities(source, tokens[-1] if tokens else "")
                    tokens += (str(rng.choice(list(probabilities), p=list(probabilities.values()))),)
                drawn.append(self._finished(source, tokens))
            answers.append(drawn)
        return answers

    def _search(self, source: str, beam: int) -> list[Scored]:
        open_ends: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
        closed: list[tuple[float, tuple[str, ...]]] = []
        for _ in range(self.limit):
            longer = [
                (total + math.log(probability), (*tokens, symbol))
                for total, tokens in open_ends
                for symbol, probability in self.next_probabilities(
                    source, tokens[-1] if tokens else ""
                ).items()
            ]
            best = sorted(longer, reverse=True)[:beam]
            closed += [each for each in best if each[1][-1] == EOS]
            open_ends = [each for each in best if each[1][-1] != EOS]
            if not open_ends:
                break
        return [self._finished(source, tokens) for _, tokens in sorted(closed + open_ends, reverse=True)]

    def _finished(self, source: str, tokens: tuple[str, ...]) -> Scored:
        text = "".join(token for token in tokens if token != EOS)
        scored = self._scored(source, text, tokens)
        return scored if tokens[-1] == EOS else Scored(text, tokens, scored.logprobs, ("unfinished",))

    def _scored(self, source: str, text: str, tokens: tuple[str, ...]) -> Scored:
        logprobs = []
        for previous, token in zip(("", *tokens), tokens, strict=False):
            probability = self.next_probabilities(source, previous).get(token, 0.0)
            logprobs.append(math.log(probability) if probability else -math.inf)
        return Scored(text, tokens, tuple(logprobs))

    def _check(self, texts: Sequence[str], what: Side) -> None:
        check_texts(texts, what=what, allow_empty=what == "target")
        for number, text in enumerate(texts, 1):
            if len(text) > LONGEST:
                raise RefusedText(what, number, f"has {len(text)} tokens, but {self.name} takes {LONGEST}")

    def _asked(self, question: str) -> None:
        if self.delay:
            time.sleep(self.delay)
        if self.log:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(question + "\n")


def open_toy(rest: str, options: Options) -> ToySystem:
    """`toy:SALT?delay=0.01&log=FILE&limit=12&alphabet=abc`."""
    log = options.text("log")
    return ToySystem(
        f"toy:{rest}",
        alphabet=options.text("alphabet", "abc "),
        salt=rest,
        limit=options.integer("limit", 12),
        delay=options.number("delay", 0.0),
        log=Path(log) if log else None,
    )


def open_mute(_rest: str, _options: Options) -> object:
    """A system that answers less than it is asked."""

    class Mute(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return super().score(pairs)[:-1]

        def translate(
            self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1
        ) -> list[list[Scored]]:
            return super().translate(questions, beam=beam, n_best=n_best)[:-1]

    return Mute("mute")


def open_nan(_rest: str, _options: Options) -> object:
    """A system whose arithmetic went wrong."""

    class Nan(ToySystem):
        def _scored(self, _source: str, text: str, tokens: tuple[str, ...]) -> Scored:
            return Scored(text, tokens, tuple(math.nan for _ in tokens))

    return Nan("nan")


TOY = Scheme("toy", f"{__name__}:open_toy", "a toy", "toy:1", frozenset({"translate", "score", "sample"}))
MUTE = Scheme(
    "mute", f"{__name__}:open_mute", "answers too little", "mute:1", frozenset({"translate", "score"})
)
NAN = Scheme("nan", f"{__name__}:open_nan", "gives NaN", "nan:1", frozenset({"translate", "score"}))

_ENTRY_POINTS = f"[babelscope.systems]\ntoy = {__name__}:TOY\nmute = {__name__}:MUTE\nnan = {__name__}:NAN\n"


def install(folder: Path) -> list[str]:
    """Install the toys as a plug-in package would be; returns the folders to put on sys.path."""
    info = folder / "babelscope_toys-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: babelscope-toys\nVersion: 1\n")
    (info / "entry_points.txt").write_text(_ENTRY_POINTS)
    return [str(folder), str(Path(__file__).parents[2])]
