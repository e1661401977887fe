"""Judges a finished run again under other settings, from its records, without asking any system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.registry import did_you_mean
from babelscope.core.results import Record, Result, signature
from babelscope.methods.base import Languages, Method, Settings, check_settings, find_method, restore_settings
from babelscope.methods.cells import judge_records
from babelscope.metrics.base import allow_only
from babelscope.runs.execute import Methods, finish, summarize_run
from babelscope.runs.folder import RunFolder
from babelscope.runs.manifest import Cost, Manifest, MethodPart
from babelscope.runs.reading import Run, read_records, read_run
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.version import __version__


def rejudge(
    folder: str | Path,
    changed: Mapping[str, Any],
    *,
    method: str = "",
    by: Sequence[str] | None = None,
    out: str | Path | None = None,
) -> Result:
    """The figures of a run under changed settings, in memory or stored in a run folder of its own.

    With `method`, the run must be of that method alone. Settings that the answers depend on cannot be changed.
    Programs that the run names are not started (its author may be a stranger): stored scores are used again.
    """
    folder = Path(folder)
    run = read_run(folder)
    names = [part.name for part in run.manifest.methods.values()]
    if method and names != [method]:
        raise BabelscopeError(f"{folder} is a run of {', '.join(names)}, not of {method} alone")
    methods: dict[str, tuple[Method, Settings]] = {}
    for label, part in run.manifest.methods.items():
        found = find_method(part.name)
        methods[label] = found, _change_settings(found, part.settings, changed)
    known = {name for own, _ in methods.values() for name in own.settings.model_fields}
    if unused := [name for name in changed if name not in known]:
        raise BabelscopeError(f"{', '.join(names)} has no setting {unused[0]!r}")
    with allow_only(_strings_in(changed)):
        return _rejudge_run(run, methods, by, out)


def _strings_in(changed: Mapping[str, Any]) -> list[str]:
    found = [
        each for value in changed.values() for each in (value if isinstance(value, tuple | list) else [value])
    ]
    return [each for each in found if isinstance(each, str)]


def _rejudge_run(run: Run, methods: Methods, by: Sequence[str] | None, out: str | Path | None) -> Result:
    folder = run.path
    lowered = _lowered_settings(run.manifest, methods)
    with explain_damage(str(folder)):
        stored_records = read_records(folder)
        languages = _languages_by_method(run.manifest, stored_records)
    manifest = _updated_manifest(run.manifest, methods, lowered, languages)
    if by is not None:
        manifest = manifest.model_copy(update={"by": list(by)})
    with explain_damage(str(folder)):
        records = _judge_stored(manifest, stored_records, methods, lowered)
    if out is None:
        return summarize_run(manifest, records, methods)
    with RunFolder(Path(out).absolute(), manifest.as_json()) as stored:
        for chunk in stored.missing():
            start = sum(cell.items for cell in manifest.cells[: chunk.cell])
            stored.store(records[start + chunk.start : start + chunk.stop])
        return finish(stored, manifest, methods, Cost())


def _change_settings(method: Method, stored: Mapping[str, Any], changed: Mapping[str, Any]) -> Settings:
    own = {name: value for name, value in changed.items() if name in method.settings.model_fields}
    for name in own:
        if name in method.asks and not (name in method.lowers and own[name] <= stored.get(name, own[name])):
            if name in method.lowers:
                raise BabelscopeError(
                    f"{name} can be lowered after a run, and not raised from {stored[name]} to {own[name]}, since "
                    "answers depend on it"
                )
            free = [each for each in method.settings.model_fields if each not in method.asks]
            hint = did_you_mean(name, free, "")
            raise BabelscopeError(
                f"{name} cannot be changed after a run, since answers depend on it; these can: {', '.join(free)}"
                f"{f'; {hint}' if hint else ''}"
            )
    own |= {name: value for name, value in method.settings.preset_by(own).items() if name not in method.asks}
    # Only changed and required settings are validated: files that the others name need not exist here.
    fields = method.settings.model_fields.items()
    needed = {name: stored[name] for name, field in fields if field.is_required() and name in stored}
    given = check_settings(method, {**needed, **own}).model_dump(include=set(own))
    try:
        return restore_settings(method, stored).model_copy(update=given)
    except ValueError as error:
        raise BabelscopeError(f"the manifest of the run is damaged: {error}") from None


def _lowered_settings(manifest: Manifest, methods: Methods) -> dict[str, dict[str, Any]]:
    """Method label -> settings that were lowered, with what they were when systems were asked."""
    found: dict[str, dict[str, Any]] = {}
    for label, part in manifest.methods.items():
        method, settings = methods[label]
        before = {name: part.settings.get(name) for name in sorted(method.lowers)}
        changed = {
            name: value for name, value in before.items() if value not in (None, getattr(settings, name))
        }
        if changed:
            found[label] = changed
    return found


def _languages_by_method(manifest: Manifest, records: Sequence[Record]) -> dict[str, Languages]:
    """Method label -> the (source, target) languages of the items it judged."""
    found: dict[str, set[tuple[str, str]]] = {label: set() for label in manifest.methods}
    start = 0
    for cell in manifest.cells:
        for record in records[start : start + cell.items]:
            stated = record.get("extra", {})
            if record.get("references", True):
                found[cell.method].add(
                    (str(stated.get("source_language") or ""), str(stated.get("target_language") or ""))
                )
        start += cell.items
    return {label: frozenset(own) for label, own in found.items()}


def _updated_manifest(
    manifest: Manifest,
    methods: Methods,
    lowered: Mapping[str, Mapping[str, Any]],
    languages: Mapping[str, Languages],
) -> Manifest:
    """The manifest that the run has under these settings."""
    parts, entries = {}, []
    for (label, part), entry in zip(manifest.methods.items(), manifest.config["methods"], strict=True):
        method, settings = methods[label]
        parts[label] = part.model_copy(
            update={
                "version": method.version,
                "settings": settings.model_dump(mode="json"),
                "identity": _updated_identity(method, settings, part, languages[label]),
                "comparable": list(method.comparable(settings)),
            }
        )
        # Not the signature of a run that was asked with these settings: it would have figures that this one lacks.
        asked = (
            {"lowered_from": {**lowered[label], **entry.get("lowered_from", {})}} if label in lowered else {}
        )
        signed = {**parts[label].settings, **parts[label].identity}
        entries.append({**entry, "version": method.version, "settings": signed, **asked})
    # The answers are those of the run, but this version judges them.
    config = {**manifest.config, "methods": entries, "version": __version__}
    return manifest.model_copy(
        update={
            "methods": parts,
            "config": config,
            "signature": signature(config),
            "sha256": digest_json(config),
            "software": {**manifest.software, "babelscope": __version__},
            "status": "unfinished",
            "records": None,
            "answers": None,
            "cost": Cost(),
        }
    )


def _updated_identity(
    method: Method, settings: Settings, part: MethodPart, languages: Languages
) -> dict[str, Any]:
    """What settings resolved to: computed for changed settings, taken from the run for the others."""
    now = settings.model_dump(mode="json")
    changed = {name for name in now if now[name] != part.settings.get(name, now[name])}
    if not changed:
        return part.identity
    only = method.settings.model_construct(**{name: getattr(settings, name) for name in changed})
    new = {name: value for name, value in method.identity(only).items() if name in changed}
    kept = {name: value for name, value in part.identity.items() if name not in changed}
    return {**kept, **new, **method.identity_on(settings, languages)}


def _judge_stored(
    manifest: Manifest, records: Sequence[Record], methods: Methods, lowered: Mapping[str, Any]
) -> list[Record]:
    """All records in their order, the answered ones judged again."""
    found: list[Record] = []
    start = 0
    for cell in manifest.cells:
        own = records[start : start + cell.items]
        start += cell.items
        method, settings = methods[cell.method]
        if cell.method in lowered:
            own = [
                record if "unanswered" in record else method.lower([record], settings)[0] for record in own
            ]
        found += judge_records(method, own, settings)
    return found
