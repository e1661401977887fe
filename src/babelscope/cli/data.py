"""`babelscope data`: public test sets, those of registries, models of parsers, environments of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, Registries, option, paragraph, print_json
from babelscope.cli.shell import GO_ON, ShellGroup, telling_what_is_kept
from babelscope.util.errors import BabelscopeError

if TYPE_CHECKING:
    from babelscope.util.published import NamedSet

app = ShellGroup("List, download and publish test sets; get parser models, metrics.")
_MOST_NAMED = 6


@app.command("list")
def list_sets(registry: Registries = None, as_json: AsJson = False) -> None:
    """List the public test sets and releases, parser models, and the sets of registries.

    Their folder is $BABELSCOPE_DATA, else the user's data folder.
    """
    from babelscope.testsets.registry import RELEASES, SETS, registered_sets, sets_of
    from babelscope.util.published import MODELS

    registered = {named.name: named for named in registered_sets(registry or ()).values()}
    models = [_overview(named) for named in MODELS.values()]
    if as_json:
        for named in (*SETS.values(), *RELEASES.values(), *registered.values()):
            print_json(_overview(named))
        for row in models:
            print_json(row)
        return
    in_releases = {name: sets_of(name) for name in RELEASES}
    elsewhere = {name for own in in_releases.values() for name in own}
    alone = [named for name, named in SETS.items() if name not in elsewhere]
    rows = [_overview(named) for named in (*alone, *RELEASES.values(), *registered.values())]
    widest = max(len(row["name"]) for row in rows)
    for row in rows:
        _print_overview(row, in_releases.get(row["name"], ()), widest)
    _print_models(models)


def _print_overview(row: dict[str, Any], sets: Sequence[str], widest: int) -> None:
    """Print what a test set or release is in two lines, and the names of the sets of a release."""
    items, files = row["items"], row["files"]
    figures = f"{items:>6} items" if items else f"{files:>6} file{'s' if files > 1 else ''}"
    languages = "-".join(filter(None, (row["source_language"], row["target_language"] or "*")))
    typer.echo(f"{row['name']:<{widest}}  {languages:<5}  {figures:<12}  {_size(row['bytes']):>8}")
    typer.echo(paragraph(f"    {'here: ' if row['present'] else ''}{row['description']}"))
    if sets:
        rest = f" and {len(sets) - _MOST_NAMED} more (data show {row['name']})"
        named = ", ".join(sets[:_MOST_NAMED]) + (rest if len(sets) > _MOST_NAMED else "")
        typer.echo(paragraph(f"    sets: {named}"))


def _print_models(models: list[dict[str, Any]]) -> None:
    """Print the names of the parser models, several on a line, and of those that are here."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for row in models:
        kind, _, name = row["name"].partition("/")
        kinds.setdefault((kind, row["license"]), []).append(f"{name} (here)" if row["present"] else name)
    for (kind, license), names in kinds.items():
        used = f"{kind}/NAME: a parser, used as --parser {kind}:NAME (license: {license}); NAME is one of"
        typer.echo("\n" + paragraph(used))
        typer.echo(paragraph(f"    {', '.join(names)}", "    "))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A test set, a release or a path in it, or a parser model.")],
    registry: Registries = None,
    as_json: AsJson = False,
) -> None:
    """Show where a test set, release or model comes from, its license, and its files with their digests."""
    from babelscope.testsets.registry import RELEASES, find_download, registered_sets, sets_of
    from babelscope.util.published import data_folder, file_url, read_origin

    named = find_download(name, registered_sets(registry or ()))
    sets = sets_of(name) if name in RELEASES else []
    folder = data_folder()
    files: list[dict[str, Any]] = [
        {
            "path": file.local,
            "url": (file_url(file) or None) if file.digest else None,
            "bytes": file.bytes or None,
            "sha256": file.sha256 or None,
            "git_blob": file.git_blob or None,
            "present": (folder / file.local).exists(),
            "origin": read_origin(folder / file.local) or None,
        }
        for file in named.files
    ]
    if as_json:
        print_json({**_overview(named), "sets": sets, "files": files})
        return
    project = named.project
    for label, value in (
        ("name", named.name),
        ("what", named.description),
        ("languages", " to ".join(language or "any" for language in project.languages)),
        ("items", str(named.items or "none stated")),
        ("sets", ", ".join(sets)),
        ("version", str(named.version)),
        ("project", project.repository),
        ("license", project.license),
        ("citation", project.citation),
        ("folder", str(folder)),
    ):
        if value:
            typer.echo(paragraph(f"{label:<10}{value}", " " * 10))
    for entry in files:
        typer.echo(f"\n{entry['path']}{' (here)' if entry['present'] else ''}")
        kind = "sha256" if entry["sha256"] or not entry["git_blob"] else "git blob"
        if digest := entry["sha256"] or entry["git_blob"]:
            typer.echo(f"  {kind} {digest}")
        else:
            typer.echo("  sha256 unknown, so it is used where present and never downloaded")
        if entry["url"]:
            typer.echo(
                f"  {_size(entry['bytes']) if entry['bytes'] else 'size unknown,'} from\n{entry['url']}"
            )
        if entry["origin"]:
            typer.echo(f"  downloaded from\n{entry['origin'].get('url', '?')}")


@app.command("get")
def get_sets(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Test sets, parser models, or metrics (comet...).")
    ],
    registry: Registries = None,
    as_json: AsJson = False,
    refresh: Annotated[bool, option("Replace files whose checksum is wrong.", "--refresh")] = False,
    yes: Annotated[bool, option("Make a metric's environment without asking.", "--yes")] = False,
) -> None:
    """Download test sets and models, or make metrics ready; what is there is checked and kept.

    A metric such as comet runs in a Python environment of its own, which is made here, and downloads its model.
    """
    from babelscope.metrics.base import METRICS
    from babelscope.metrics.corpus import prepare_metrics
    from babelscope.testsets.registry import find_download, registered_sets
    from babelscope.util.published import fetch

    metrics = [name for name in names if name in METRICS.names() or name.startswith("comet:")]
    # A wrong name is told before anything is downloaded.
    more = registered_sets(registry or ())
    chosen = [find_download(name, more) for name in names if name not in metrics]
    with telling_what_is_kept(f"files downloaded whole are kept; {GO_ON}"):
        for named in chosen:
            for fetched in fetch(named, refresh=refresh):
                row = {"name": named.name, "path": str(fetched.path), "status": fetched.status}
                if as_json:
                    known = {"sha256": fetched.file.sha256 or None, "git_blob": fetched.file.git_blob or None}
                    print_json({**row, **known, "license": named.project.license})
                else:
                    missing = fetched.status == "missing"
                    why = " (never downloaded, since its checksum is not known)" if missing else ""
                    typer.echo(f"{fetched.status:<11}{fetched.path}{why}")
    with telling_what_is_kept(f"what is unfinished will be made again; {GO_ON}"):
        for metric in prepare_metrics(metrics, yes=yes):
            if as_json:
                print_json({"name": metric.name, "status": "ready", "scale": metric.scale.describe()})
            else:
                typer.echo(paragraph(f"{metric.name}: ready; {metric.scale.describe()}"))


@app.command("echo")
def echo(
    tests: Annotated[str, typer.Argument(metavar="TESTS", help="A test set: a name, a file or FORMAT:FILE.")],
    side: Annotated[Literal["source", "reference"], typer.Argument(help="Which lines to print.")],
    registry: Registries = None,
) -> None:
    """Print the sources or references of a test set, one per line, for a translation program to read.

    Its output, one translation per line, is then the system `file:OUTPUT`. An item's reference is its first, or its
    correct translation.
    """
    from babelscope.testsets import load
    from babelscope.testsets.items import NO_SOURCE
    from babelscope.util.terminal import write_data

    loaded = load(tests, registries=registry or ())
    for item in loaded:
        if side == "source":
            line = None if NO_SOURCE in item.extra else getattr(item, "source", None)
        else:
            line = getattr(item, "correct", None) or next(iter(getattr(item, "references", ())), None)
        if line is None:
            raise BabelscopeError(f"item {item.id!r} of {loaded.name} has no {side}")
        write_data(line, is_json=False)


@app.command("publish")
def publish(
    folder: Annotated[Path, typer.Argument(help="Folder of the registry; it may have other sets.")],
    name: Annotated[str, option("What it is loaded by, such as fr-pronouns.", "--name")],
    license: Annotated[str, option("License of the items, such as CC-BY-4.0.", "--license")],
    about: Annotated[str, option("What it tests, in one line.", "--about")],
    made: Annotated[str, option("How it was made, in one line.", "--made")],
    tests: Annotated[
        str | None, option("The items: a file or FORMAT:FILE; FOLDER/items.jsonl unless given.", "--tests")
    ] = None,
    version: Annotated[int, option("A change of the items needs a new version.", "--version", min=1)] = 1,
    citation: Annotated[str, option("Who is to be cited.", "--citation")] = "none stated",
) -> None:
    """Publish a test set: write its items, a card, checksums and a registry, by which others load it.

    Put the folder on a web server. Others name its registry.json as `--registry`, and the test set as `--tests`.
    """
    from babelscope.testsets import load
    from babelscope.testsets.publishing import REGISTRY
    from babelscope.testsets.publishing import publish as write_set

    entry = write_set(
        load(tests or str(folder / "items.jsonl")),
        folder,
        name=name,
        version=version,
        license=license,
        about=about,
        made=made,
        citation=citation,
    )
    typer.echo(f"{entry.key}: {entry.items} items, SHA-256 {entry.sha256}")
    typer.echo(f"{folder / entry.file}")
    typer.echo(paragraph(f"load it with: --registry {folder / REGISTRY} --tests {entry.name}"))


def _overview(named: NamedSet) -> dict[str, Any]:
    from babelscope.util.published import data_folder

    folder = data_folder()
    source, target = named.project.languages
    return {
        "name": named.name,
        "description": named.description,
        "source_language": source,
        "target_language": target or None,
        "items": named.items,
        "version": named.version,
        "files": len(named.files),
        "bytes": sum(file.bytes for file in named.files),
        "license": named.project.license,
        "citation": named.project.citation,
        "project": named.project.repository,
        "present": all((folder / file.local).exists() for file in named.files),
    }


def _size(count: Any) -> str:
    return f"{count / 1e6:.1f} MB" if count else "?"
