"""Judges a finished run again under other settings, from its records, without asking any system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.registry import did_you_mean
from babelscope.core.results import Record, Result, signature
from babelscope.core.settings import Languages, MethodSettings, lowered_fields, rerun_fields
from babelscope.methods.base import Method, check_settings, restore_settings
from babelscope.methods.jobs import judge_records
from babelscope.methods.registry import find_method
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
    methods: dict[str, Method] = {}
    for label, part in run.manifest.methods.items():
        found = find_method(part.name)
        settings, asked = _change_settings(found, part.settings, changed)
        methods[label] = found(settings, asked=asked, label=label)
    known = {name for own in methods.values() for name in own.Settings.model_fields}
    if unused := [name for name in changed if name not in known]:
        raise BabelscopeError(f"{', '.join(names)} has no setting {unused[0]!r}")
    values = [value if isinstance(value, tuple | list) else [value] for value in changed.values()]
    with allow_only([each for own in values for each in own if isinstance(each, str)]):
        return _rejudge_run(run, methods, by, out)


def _rejudge_run(run: Run, methods: Methods, by: Sequence[str] | None, out: str | Path | None) -> Result:
    folder = run.path
    with explain_damage(str(folder)):
        stored_records = read_records(folder)
        languages = _languages_by_method(run.manifest, stored_records)
    manifest = _updated_manifest(run.manifest, methods, languages)
    if by is not None:
        manifest = manifest.model_copy(update={"by": list(by)})
    with explain_damage(str(folder)):
        records = [
            record
            for job, own in manifest.by_job(stored_records)
            for record in judge_records(methods[job.method], own)
        ]
    if out is None:
        return summarize_run(manifest, records, methods)
    with RunFolder(Path(out).absolute(), manifest.as_json()) as stored:
        for chunk in stored.missing():
            start = sum(job.items for job in manifest.jobs[: chunk.job])
            stored.store(records[start + chunk.start : start + chunk.stop])
        return finish(stored, manifest, methods, Cost())


def _change_settings(
    method: type[Method], stored: Mapping[str, Any], changed: Mapping[str, Any]
) -> tuple[MethodSettings, MethodSettings]:
    """The settings of a run with some of them changed, and as they were when systems were asked."""
    fields, rerun, lowered = (
        method.Settings.model_fields,
        rerun_fields(method.Settings),
        lowered_fields(method.Settings),
    )
    own = {name: value for name, value in changed.items() if name in fields}
    for name in own:
        if name in rerun and not (name in lowered and own[name] <= stored.get(name, own[name])):
            if name in lowered:
                raise BabelscopeError(
                    f"{name} can be lowered after a run, and not raised from {stored[name]} to {own[name]}, since "
                    "answers depend on it"
                )
            free = [each for each in fields if each not in rerun]
            hint = did_you_mean(name, free, "")
            raise BabelscopeError(
                f"{name} cannot be changed after a run, because answers depend on it; these can: {', '.join(free)}"
                f"{f'; {hint}' if hint else ''}"
            )
    own |= {name: value for name, value in method.Settings.preset_by(own).items() if name not in rerun}
    # Only changed and required settings are validated, and protocols, which may rule a change out: files that the
    # others name need not exist here.
    needed = {
        name: stored[name]
        for name, field in fields.items()
        if name in stored and (field.is_required() or name in method.Settings.presets)
    }
    given = check_settings(method, {**needed, **own}).model_dump(include=set(own))
    try:
        asked = restore_settings(method, stored)
    except ValueError as error:
        raise BabelscopeError(f"the manifest of the run is damaged: {error}") from None
    return asked.model_copy(update=given), asked


def _lowered_from(method: Method) -> dict[str, Any]:
    """Settings that were lowered, with what they were when systems were asked."""
    before = {name: getattr(method.asked, name, None) for name in sorted(lowered_fields(method.Settings))}
    return {
        name: value for name, value in before.items() if value not in (None, getattr(method.settings, name))
    }


def _languages_by_method(manifest: Manifest, records: Sequence[Record]) -> dict[str, Languages]:
    """Method label -> the (source, target) languages of the items it judged."""
    found: dict[str, set[tuple[str, str]]] = {label: set() for label in manifest.methods}
    for job, own in manifest.by_job(records):
        for record in own:
            stated = record.get("extra", {})
            if record.get("references", True):
                found[job.method].add(
                    (str(stated.get("source_language") or ""), str(stated.get("target_language") or ""))
                )
    return {label: frozenset(own) for label, own in found.items()}


def _updated_manifest(manifest: Manifest, methods: Methods, languages: Mapping[str, Languages]) -> Manifest:
    """The manifest that the run has under these settings."""
    parts, entries = {}, []
    for (label, part), entry in zip(manifest.methods.items(), manifest.config["methods"], strict=True):
        method = methods[label]
        parts[label] = part.model_copy(
            update={
                "version": method.version,
                "settings": method.settings.model_dump(mode="json"),
                "identity": _updated_identity(method.settings, part, languages[label]),
                "paired": list(method.paired()),
            }
        )
        # Not the signature of a run that was asked with these settings: it would have figures that this one lacks.
        lowered = _lowered_from(method)
        asked = {"lowered_from": {**lowered, **entry.get("lowered_from", {})}} if lowered else {}
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


def _updated_identity(settings: MethodSettings, part: MethodPart, languages: Languages) -> dict[str, Any]:
    """What settings resolved to: computed for changed settings, taken from the run for the others."""
    now = settings.model_dump(mode="json")
    changed = {name for name in now if now[name] != part.settings.get(name, now[name])}
    if not changed:
        return part.identity
    only = type(settings).model_construct(**{name: getattr(settings, name) for name in changed})
    new = {name: value for name, value in only.identity().items() if name in changed}
    kept = {name: value for name, value in part.identity.items() if name not in changed}
    return {**kept, **new, **settings.identity_on(languages)}
