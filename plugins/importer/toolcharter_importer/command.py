"""`toolcharter import`: turn files of other systems into profiles, and report what a profile cannot express."""

import json
from pathlib import Path

import click

from toolcharter import ConfigurationError, Fault
from toolcharter_importer.draft import Draft, find_installed, to_name
from toolcharter_importer.formats import FORMATS, detect_format, import_file
from toolcharter_importer.writing import check_drafts, profile_text

_LEFT_OUT = 1


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--from", "kind", type=click.Choice(list(FORMATS)), help="The files' format; default: detected.")
@click.option("--name", metavar="NAME", help="The profile's name, for a single file; default: the source's name.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", help="Write DIR/NAME.yaml, not standard output."
)
@click.option("--force", is_flag=True, help="With --output: overwrite existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the profiles' text, and the notes about each.")
def command(
    files: tuple[Path, ...],
    kind: str | None,
    name: str | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn files of Duragent, HDN, linggen, llm_agent and GoClaw into profiles.

    FILE is a policy.yaml, agent.yaml, tools_bootstrap.json, config.json, a file of custom tools, an agent of linggen
    (.md) or a profile of llm_agent. Each key without an equal in a profile is reported with its place. A profile never
    permits more than its source. Exit status 1 if something was left out, 2 if nothing was imported.
    """
    if name and len(files) > 1:
        raise click.UsageError("--name is for a single file.")
    if name and to_name(name) != name:
        raise click.UsageError("--name may only have letters, digits, `_` and `-`, at most 64.")
    installed = find_installed()
    drafts = [import_file(file, kind or _detect_kind(file), installed, name) for file in files]
    texts = [(draft.name, profile_text(draft)) for draft in drafts]
    _require_distinct_names(drafts)
    check_drafts(drafts)
    if output is not None:
        _write(output, texts, force=force)
    if as_json:
        click.echo(json.dumps(_describe(drafts, texts), indent=2, ensure_ascii=False))
    elif output is None:
        click.echo("---\n".join(text for _, text in texts), nl=False)
    notes = [note for draft in drafts for note in draft.notes]
    for note in notes:
        click.echo(str(note), err=True)
    click.get_current_context().exit(_LEFT_OUT if any(note.kind == "left out" for note in notes) else 0)


def _detect_kind(file: Path) -> str:
    kind = detect_format(file)
    if kind is None:
        what = "the format cannot be recognised by the content."
        raise ConfigurationError([Fault(str(file), "", what, f"Give --from with one of: {', '.join(FORMATS)}.")])
    return kind


def _require_distinct_names(drafts: list[Draft]) -> None:
    names = [draft.name for draft in drafts]
    for draft in drafts:
        if names.count(draft.name) > 1:
            what = f"several of the files would become a profile named {draft.name!r}."
            raise ConfigurationError([Fault(str(draft.source.file), "", what, "Import them one by one, with --name.")])


def _write(folder: Path, texts: list[tuple[str, str]], *, force: bool) -> None:
    """Write all files; none if one of them exists already and *force* is not given."""
    places = [(folder / f"{name}.yaml", text) for name, text in texts]
    faults = [
        Fault(str(place), "", "the file exists already.", "Use --force to overwrite it.")
        for place, _ in places
        if place.exists()
    ]
    if faults and not force:
        raise ConfigurationError(faults)
    folder.mkdir(parents=True, exist_ok=True)
    for place, text in places:
        with place.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
        click.echo(f"{place}: written.", err=True)


def _describe(drafts: list[Draft], texts: list[tuple[str, str]]) -> list[dict[str, object]]:
    return [
        {
            "profile": name,
            "source": str(draft.source.file),
            "yaml": text,
            "notes": [note._asdict() for note in draft.notes],
        }
        for draft, (name, text) in zip(drafts, texts, strict=True)
    ]
