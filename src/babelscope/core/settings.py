"""Settings of methods and studies: checked by pydantic, errors explained in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from babelscope.core.registry import did_you_mean

DEFAULT_CHUNK = 128
"""Items asked and stored together: enough to fill batches, few enough that a kill loses little."""

T = TypeVar("T")
_RERUN, _LOWERED, _OPTION = object(), object(), object()
Option = Annotated[T, _OPTION]
"""A setting that is an option of the method's command; the others are given by `--set NAME=VALUE`."""
Rerun = Annotated[T, _RERUN]
"""A setting that the answers depend on; changing it needs a new run."""
Lowered = Annotated[T, _RERUN, _LOWERED]
"""A setting that the answers depend on, but that may be lowered after a run; `judge` ignores the surplus."""


@dataclass(frozen=True, slots=True)
class Metavar:
    """The name of an option's value in help, in an annotation."""

    name: str


Languages = frozenset[tuple[str, str]]
"""The (source, target) languages of items; empty text where none is known."""


class MethodSettings(BaseModel):
    """The settings of a method as the user gave them; unchanged by a round trip through JSON.

    One field is one key of a study, one line of documentation, and one option or `--set` of its command.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    """Field -> its value -> other fields that the value stands for, where they are not given: a protocol by name."""

    @classmethod
    def preset_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that a preset stands for; given values are unchanged."""
        found: dict[str, Any] = {}
        for name, choices in cls.presets.items():
            found |= choices.get(values.get(name, ""), {})
        return {name: value for name, value in found.items() if name not in values}

    @model_validator(mode="before")
    @classmethod
    def _fill_presets(cls, given: Any) -> Any:
        return {**cls.preset_by(given), **given} if isinstance(given, Mapping) else given

    chunk: ClassVar[int] = DEFAULT_CHUNK
    """Most items asked and stored together. A method whose items take seconds each names fewer, so that a kill loses
    about a minute of work."""

    @property
    def is_whole(self) -> bool:
        """Whether all items form one chunk, because `ask` or `judge` needs all of them together: to align
        translations, or to read files parallel to them. Such an `ask` may itself return `unanswered` records."""
        return False

    def identity(self) -> Mapping[str, Any]:
        """What some settings resolved to, by name (versions of analyzers, digests of programs). The signature has
        these in place of the values that the user wrote."""
        return {}

    def identity_on(self, languages: Languages) -> Mapping[str, Any]:  # noqa: ARG002
        """The same for settings that are resolved by the languages of the items, such as tokenizers."""
        return {}


class ErrorSettings(MethodSettings):
    """Settings of a method whose figures are error rates."""

    error_threshold: float = Field(default=0.05, ge=0, lt=1)
    """A rate is called an error if it is significantly above this, corrected for the number of rates (Holm)."""


def rerun_fields(settings: type[MethodSettings], marker: object = _RERUN) -> frozenset[str]:
    """Names of the settings that the answers depend on."""
    fields = settings.model_fields.items()
    return frozenset(name for name, field in fields if any(each is marker for each in field.metadata))


def lowered_fields(settings: type[MethodSettings]) -> frozenset[str]:
    """Those of them that may be lowered after a run."""
    return rerun_fields(settings, _LOWERED)


def option_fields(settings: type[MethodSettings]) -> frozenset[str]:
    """The settings that are options of the command."""
    return rerun_fields(settings, _OPTION)


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """The first error as one sentence: where it is, what is wrong, and a similar known key."""
    fault = error.errors()[0]
    *outer, last = fault["loc"] or ("",)
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] != "extra_forbidden":
        # pydantic puts this prefix before the messages of our own validators.
        message = fault["msg"].removeprefix("Value error, ")
        return f"{where}: {place + ': ' if place else ''}{message[:1].lower()}{message[1:]}"
    known = list(_model_at(model, outer).model_fields)
    hint = did_you_mean(str(last), known, f"known: {', '.join(known) or 'none'}")
    return f"{where}: unknown key {place!r}; {hint}"


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    """The model of a nested table at a path such as ("systems", 0)."""
    for part in path:
        if isinstance(part, str):
            annotation: Any = model.model_fields[part].annotation
            model = next(
                (each for each in getattr(annotation, "__args__", ()) if isinstance(each, type)), annotation
            )
    return model
