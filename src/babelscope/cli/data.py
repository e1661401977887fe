"""`babelscope data`: public test sets, parser models, and environments of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import AsJson, option, paragraph, print_json
from babelscope.cli.shell import GO_ON, ShellGroup, telling_what_is_kept

if TYPE_CHECKING:
    from babelscope.util.published import NamedSet

app = ShellGroup("List and download public test sets, parser models and metrics.")


@app.command("list")
def list_sets(
    name: Annotated[
        str | None,
        typer.Argument(help="Show its origin, license, and files with digests."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List public test sets and parser models that can be used by name.

    They are stored in $BABELSCOPE_DATA or the user's data folder.
    """
    from babelscope.util.published import MODELS, SETS

    if name is not None:
        _show(name, as_json=as_json)
        return
    rows = [_overview(named) for named in SETS.values()]
    models = [_overview(named) for named in MODELS.values()]
    if as_json:
        for row in (*rows, *models):
            print_json(row)
        return
    widest = max(len(row["name"]) for row in rows)
    for row in rows:
        languages = f"{row['source_language']}-{row['target_language'] or '*'}"
        here = "here: " if row["present"] else ""
        figures = f"{row['items']:>6} items  {_size(row['bytes']):>7}"
        typer.echo(f"{row['name']:<{widest}}  {languages:<5}  {figures}")
        typer.echo(paragraph(f"    {here}{row['description']}"))
    _print_models(models)


def _print_models(models: list[dict[str, Any]]) -> None:
    """Print the names of parser models, several on a line, marking those present."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for row in models:
        kind, _, name = row["name"].partition("/")
        kinds.setdefault((kind, row["license"]), []).append(f"{name} (here)" if row["present"] else name)
    for (kind, license), names in kinds.items():
        used = f"{kind}/NAME: a parser, used as --parser {kind}:NAME (license: {license}); NAME is one of"
        typer.echo("\n" + paragraph(used))
        typer.echo(paragraph(f"    {', '.join(names)}", "    "))


def _show(name: str, *, as_json: bool) -> None:
    """Print origin, license and files (with digests) of a test set or model."""
    from babelscope.testsets.registry import find_download
    from babelscope.util.published import data_folder, file_url, read_origin

    named = find_download(name)
    folder = data_folder()
    files: list[dict[str, Any]] = [
        {
            "path": file.local,
            "url": file_url(file) if file.digest else None,
            "bytes": file.bytes or None,
            "sha256": file.sha256 or None,
            "git_blob": file.git_blob or None,
            "present": (folder / file.local).exists(),
            "origin": read_origin(folder / file.local) or None,
        }
        for file in named.files
    ]
    if as_json:
        print_json({**_overview(named), "files": files})
        return
    project = named.project
    for label, value in (
        ("name", named.name),
        ("what", named.description),
        ("languages", " to ".join(language or "any" for language in project.languages)),
        ("items", str(named.items or "none")),
        ("version", str(named.version)),
        ("project", project.repository),
        ("license", project.license),
        ("citation", project.citation),
        ("folder", str(folder)),
    ):
        typer.echo(paragraph(f"{label:<10}{value}", " " * 10))
    for entry in files:
        typer.echo(f"\n{entry['path']}{' (here)' if entry['present'] else ''}")
        if entry["url"]:
            kind = "sha256" if entry["sha256"] else "git blob"
            typer.echo(f"  {kind} {entry['sha256'] or entry['git_blob']}")
            typer.echo(
                f"  {_size(entry['bytes']) if entry['bytes'] else 'size unknown,'} from\n{entry['url']}"
            )
        else:
            typer.echo("  sha256 unknown: used if present, never downloaded")
        if entry["origin"]:
            typer.echo(f"  downloaded from\n{entry['origin'].get('url', '?')}")


@app.command("get")
def get_sets(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Test sets, parser models, or metrics (comet...).")
    ],
    as_json: AsJson = False,
    refresh: Annotated[bool, option("Replace files with a wrong checksum.", "--refresh")] = False,
    yes: Annotated[bool, option("Install a metric's environment without asking.", "--yes")] = False,
) -> None:
    """Download test sets and models, or set up metrics; existing files are verified and kept.

    A metric such as comet gets its own Python environment and downloads its model.
    """
    from babelscope.metrics.base import METRICS
    from babelscope.metrics.corpus import prepare_metrics
    from babelscope.testsets.registry import find_download
    from babelscope.util.published import fetch

    metrics = [name for name in names if name in METRICS.names() or name.startswith("comet:")]
    # A wrong name is an error before anything is downloaded.
    chosen = [find_download(name) for name in names if name not in metrics]
    with telling_what_is_kept(f"files downloaded whole are kept; {GO_ON}"):
        for named in chosen:
            for fetched in fetch(named, refresh=refresh):
                row = {"name": named.name, "path": str(fetched.path), "status": fetched.status}
                if as_json:
                    known = {"sha256": fetched.file.sha256 or None, "git_blob": fetched.file.git_blob or None}
                    print_json({**row, **known, "license": named.project.license})
                else:
                    missing = fetched.status == "missing"
                    why = " (not downloadable: its checksum is unknown)" if missing else ""
                    typer.echo(f"{fetched.status:<11}{fetched.path}{why}")
    with telling_what_is_kept(f"what is unfinished will be made again; {GO_ON}"):
        for metric in prepare_metrics(metrics, yes=yes):
            if as_json:
                print_json({"name": metric.name, "status": "ready", "scale": metric.scale.describe()})
            else:
                typer.echo(paragraph(f"{metric.name}: ready; {metric.scale.describe()}"))


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
        "bytes": sum(file.bytes for file in named.files),
        "license": named.project.license,
        "citation": named.project.citation,
        "project": named.project.repository,
        "present": all((folder / file.local).exists() for file in named.files),
    }


def _size(count: Any) -> str:
    return f"{count / 1e6:.1f} MB" if count else "?"
