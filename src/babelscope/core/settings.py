"""Settings of methods and studies: checked by pydantic, errors explained in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from babelscope.core.registry import did_you_mean


class Settings(BaseModel):
    """The settings of a method as the user gave them; unchanged by a round trip through JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    """Field -> its value -> other fields that the value stands for, where they are not given: a protocol by name."""

    @classmethod
    def preset_by(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the given values stand for beyond themselves; given values are left as they are."""
        found: dict[str, Any] = {}
        for name, choices in cls.presets.items():
            found |= choices.get(values.get(name, ""), {})
        return {name: value for name, value in found.items() if name not in values}

    @model_validator(mode="before")
    @classmethod
    def _fill_presets(cls, given: Any) -> Any:
        return {**cls.preset_by(given), **given} if isinstance(given, Mapping) else given


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """The first error as one sentence: where it is, what is wrong, and a similar known key."""
    fault = error.errors()[0]
    *outer, last = fault["loc"] or ("",)
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] != "extra_forbidden":
        # pydantic puts this prefix before the messages of our own validators.
        said = fault["msg"].removeprefix("Value error, ")
        return f"{where}: {place + ': ' if place else ''}{said[:1].lower()}{said[1:]}"
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
