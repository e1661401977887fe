"""A small language model behind the OpenAI protocol, with known probabilities, for servers on loopback."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.serving import Request

EOS = "<|end|>"
WORDS: dict[str, list[tuple[str, float]]] = {
    "": [("das", 0.5), ("ein", 0.3), (EOS, 0.2)],
    "das": [(" Haus", 0.6), (" Boot", 0.4)],
    "ein": [(" Haus", 0.25), (" Boot", 0.75)],
    " Haus": [(EOS, 0.7), (".", 0.3)],
    " Boot": [(EOS, 0.9), (".", 0.1)],
    ".": [(EOS, 1.0)],
}
"""Token -> what may follow it, with probabilities; "" is the beginning."""


def probability(tokens: tuple[str, ...]) -> float:
    """Of a whole answer, its end included."""
    steps = zip(("", *tokens[:-1]), tokens, strict=True)
    return math.prod(dict(WORDS[before])[after] for before, after in steps)


def answers() -> dict[str, float]:
    """Every answer that can be drawn, by its text, with its probability."""
    found: dict[str, float] = {}
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        prefix = waiting.pop()
        for token, _ in WORDS[prefix[-1] if prefix else ""]:
            if token == EOS:
                found["".join(prefix)] = probability((*prefix, EOS))
            else:
                waiting.append((*prefix, token))
    return found


@dataclass
class ChatModel:
    """Draws from `WORDS`, answers questions of two by `choose`, and tells prompt log-probabilities as vLLM does."""

    tells_logprobs: bool = True
    tells_eos: bool = True
    choose: Callable[[str], str] = lambda _prompt: "A"
    greedy: str = "das Haus"
    spoil: Callable[[dict[str, Any]], object] = lambda _choice: None
    """Changes every sampled choice."""
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    def __call__(self, request: Request) -> Any:
        body = request.body
        if request.path.endswith("/chat/completions"):
            prompt = body["messages"][0]["content"]
            if "n" in body:
                drawn = [self._choice(body) for _ in range(body["n"])]
                for choice in drawn:
                    self.spoil(choice)
                return {"choices": drawn}
            text = self.choose(prompt) if "A or B" in prompt else self.greedy
            return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        return self._prompt_logprobs(body["prompt"])

    def _choice(self, body: dict[str, Any]) -> dict[str, Any]:
        tokens: list[str] = []
        while tokens[-1:] != [EOS] and len(tokens) < body.get("max_tokens", 100):
            options = WORDS[tokens[-1] if tokens else ""]
            tokens += self.rng.choices([token for token, _ in options], [p for _, p in options])
        ended = tokens[-1] == EOS
        text = "".join(tokens[:-1] if ended else tokens)
        choice: dict[str, Any] = {
            "message": {"content": text},
            "finish_reason": "stop" if ended else "length",
        }
        if body.get("logprobs") and self.tells_logprobs:
            shown = tokens if self.tells_eos or not ended else tokens[:-1]
            before = ("", *tokens)
            content = [
                {
                    "token": token,
                    "logprob": math.log(dict(WORDS[before[n]])[token]),
                    "bytes": list(token.encode()),
                }
                for n, token in enumerate(shown)
            ]
            choice["logprobs"] = {"content": content}
        return choice

    def _prompt_logprobs(self, prompt: str) -> Any:
        """Prefers targets with an even number of letters a: arbitrary, but known."""
        rows: list[Any] = []
        for token in re.findall(r"\w+|(?s:.)", prompt):
            logprob = -1.0 if token.count("a") % 2 == 0 else -3.0
            rows.append({str(hash(token)): {"logprob": logprob, "decoded_token": token}} if rows else None)
        return {"choices": [{"text": "", "prompt_logprobs": rows}]}
