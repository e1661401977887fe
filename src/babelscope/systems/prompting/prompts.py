"""Prompts as named things: a template, worked examples and a system message, from a small TOML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from babelscope.core.registry import Options, did_you_mean
from babelscope.core.system import Question
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import parse_lines, parse_toml, read_bytes, shorten

Kind = Literal["auto", "plain", "chat"]
"""auto: with the model's chat template where it has one, else plain."""
NO_PROMPT = "none"
"""The prompt of a model that scores texts by themselves."""
LARGEST = 1 << 16
"""Bytes of a prompt's file, and of its examples: more than any model reads before each source."""
_SHIPPED = Path(__file__).with_name("shipped")
_KEYS = ("name", "kind", "template", "system", "examples", "between")
_FIELDS = ("source", "target", "text", "context")
_FIELD = re.compile(r"\{([A-Za-z_]+)\}")
_TEXTS = re.compile(r"\{text\}|\{context\}")
_NAME = re.compile(r"[\w.-]{1,60}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """How a model is asked to translate; its identity is all but its name."""

    template: str
    """Has `{text}` where the source goes; may have `{source}` and `{target}`, the names of the languages, and
    `{context}`, the sentences before the source."""
    kind: Kind = "auto"
    system: str = ""
    """In a chat the system message; else the text before the examples."""
    examples: tuple[tuple[str, str], ...] = ()
    """Sources and their translations: turns of a chat, or texts before the source."""
    between: str = "\n"
    """What ends an example in a plain prompt."""
    name: str = ""
    context: str = ""
    """The sentences before the source, for `{context}`; not part of its identity."""

    @property
    def digest(self) -> str:
        """SHA-256 of the prompt, whatever it is called and wherever its files lie."""
        return digest_json(
            [self.template, self.kind, self.system, list(map(list, self.examples)), self.between]
        )

    def as_json(self) -> dict[str, Any]:
        """What a fingerprint holds of it."""
        found: dict[str, Any] = {"template": self.template}
        if self.system:
            found["system"] = self.system
        if self.examples:
            found |= {"examples": [list(each) for each in self.examples], "between": self.between}
        return {**found, "digest": self.digest}

    def filled(self, languages: Mapping[str, str], what: str) -> Prompt:
        """The same with its languages; an error, which begins with `what`, if it needs one that nobody named."""

        def fill(text: str) -> str:
            for place in ("source", "target"):
                if f"{{{place}}}" in text and not languages[place]:
                    raise BabelscopeError(f"{what}: set {place}=LANGUAGE, which the prompt needs")
                text = text.replace(f"{{{place}}}", languages[place])
            return text

        return replace(self, template=fill(self.template), system=fill(self.system))

    def about(self, question: Question, what: str) -> Prompt:
        """The prompt for a source with the sentences before it: in `{context}`, else as examples before it."""
        if "{context}" in self.template:
            return replace(self, context=" ".join(question.context_source))
        if not question.context_source:
            return self
        if len(question.context_target) != len(question.context_source):
            raise BabelscopeError(
                f"{what}: the sentences before a source without their translations need a prompt with {{context}}"
            )
        earlier = zip(question.context_source, question.context_target, strict=True)
        return replace(self, examples=(*self.examples, *earlier))

    @property
    def joint(self) -> str:
        """What stands between a plain prompt and its answer: a space, unless the prompt ends in white space."""
        return "" if self.template[-1:].isspace() else " "

    def text(self, source: str) -> str:
        """A plain prompt: system message, examples, then the source, whose braces are no fields."""
        head = f"{self.system}\n" if self.system else ""
        shown = "".join(self._of(each) + self.joint + target + self.between for each, target in self.examples)
        return head + shown + self._of(source)

    def messages(self, source: str) -> list[dict[str, str]]:
        """A chat: system message, each example as two turns, then the source."""
        turns = [("system", self.system)] if self.system else []
        for each, target in self.examples:
            turns += [("user", self._of(each)), ("assistant", target)]
        return [{"role": role, "content": text} for role, text in (*turns, ("user", self._of(source)))]

    def _of(self, source: str) -> str:
        filled = {"{text}": source, "{context}": self.context}
        return _TEXTS.sub(
            lambda place: filled[place[0]], self.template
        )  # once: what is put in is not filled in


def require_context(prompt: Prompt, options: Options) -> None:
    """Refuse a prompt with `{context}` for a system that gets none."""
    if "{context}" in prompt.template and "context" not in options.names:
        raise BabelscopeError(
            f"{options.spec}: the prompt has {{context}}; set context=N, a number of sentences"
        )


def find_prompt(given: str) -> Prompt:
    """The prompt that `given` stands for: a template with {text}, a TOML file, or the name of a shipped prompt."""
    if "{text}" in given:
        return Prompt(given)
    if given.endswith(".toml"):
        return read_prompt(given)
    if given in (known := shipped_names()):
        return read_prompt(_SHIPPED / f"{given}.toml")
    hint = did_you_mean(given, known, f"known: {', '.join(known)}")
    raise BabelscopeError(
        f"the prompt has no {{text}} where the source goes, and names no .toml file and no shipped prompt: "
        f"{shorten(given)}; {hint}"
    )


def shipped_names() -> list[str]:
    """The prompts that come with the package."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def read_prompt(path: str | Path) -> Prompt:
    """The prompt in a TOML file; errors name file and line."""
    data = read_bytes(path, most=LARGEST)
    values = parse_toml(data, path)

    def fault(key: str, reason: str) -> BabelscopeError:
        return BabelscopeError(f"{path}:{_line_of(data, key)}: {reason}")

    for key, value in values.items():
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS, f"known: {', '.join(_KEYS)}")
            raise fault(key, f"a prompt has no key {shorten(key)}; {hint}")
        if not isinstance(value, str):
            raise fault(key, f"{key} must be a text, not {shorten(repr(value))}")
        if "\0" in value:
            raise fault(key, f"{key} has a NUL character")
    name = values.pop("name", Path(path).stem)
    if not _NAME.fullmatch(name):
        raise fault("name", f"a name is 1 to 60 letters, digits, '.', '_' and '-', not {shorten(name)}")
    if (kind := values.get("kind", "auto")) not in get_args(Kind):
        raise fault("kind", f"kind = {shorten(kind)} is not one of {', '.join(get_args(Kind))}")
    if "{text}" not in values.get("template", ""):
        raise fault("template", "a prompt needs a template with {text} where the source goes")
    for key, allowed in (("template", _FIELDS), ("system", _FIELDS[:2])):
        for field in _FIELD.findall(values.get(key, "")):
            if field not in allowed:
                hint = did_you_mean(field, allowed, f"known: {', '.join(allowed)}")
                raise fault(key, f"the {key} has {{{field}}}, which nothing fills in; {hint}")
    examples = values.pop("examples", "")
    if "between" in values and not (examples and kind != "chat"):
        raise fault("between", "between stands after each example of a plain prompt, and there is none")
    pairs = _read_examples(Path(path).parent, examples, fault) if examples else ()
    return Prompt(**values, examples=pairs, name=name)


def _read_examples(
    folder: Path, name: str, fault: Callable[[str, str], BabelscopeError]
) -> tuple[tuple[str, str], ...]:
    """Pairs of source and translation, a line each, a tab between them."""
    path = folder / name
    # Somebody else's prompt must not send any file of ours to a server.
    if Path(name).name != name or path.resolve().parent != folder.resolve():
        raise fault("examples", "the examples must lie in the prompt's own folder: give a plain file name")
    pairs = []
    for number, line in enumerate(parse_lines(read_bytes(path, most=LARGEST), path), 1):
        parts = line.split("\t")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise BabelscopeError(f"{path}:{number}: an example is a source, a tab, and its translation")
        pairs.append((parts[0], parts[1]))
    if not pairs:
        raise BabelscopeError(f"{path} has no examples")
    return tuple(pairs)


def _line_of(data: bytes, key: str) -> int:
    """The line on which a key stands; 1 if the file lacks it or hides it in a table."""
    # Possessive: a key of spaces would take time quadratic in the length of a line.
    plain = re.compile(rf"\s*+\[?[\"']?{re.escape(key)}[\"']?\s*+[=.\]]")
    lines = data.decode("utf-8", "replace").split("\n")
    return next((number for number, line in enumerate(lines, 1) if plain.match(line)), 1)
