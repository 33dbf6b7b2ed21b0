"""Prints the published weights that can be used by name.

Every option that takes a run folder or a published model also accepts one of these names. Nothing
is downloaded by this command. The first use of a name downloads its files, unless they are in a
Python package, which you install.
"""

from tfreps._src.cli.command import Command
from tfreps._src.cli.options import Option

COMMAND = Command(
    "presets",
    __doc__,
    {
        "name": Option(
            str, None, "Name of the published weights to describe. Without NAME, a table of all "
            "published weights is printed.", metavar="NAME",
        )
    },
    [],
    (
        "tfreps presets",
        "tfreps presets elmo_original",
        "tfreps presets elmo_many_et",
    ),
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(show, argv)


def show(options):
    from tfreps._src.presets.preset_table import PresetTable, rows

    found = rows()
    if options.name is None:
        print(PresetTable(found.values()))
        print("\nDetails, with the sources of each fact: tfreps presets NAME")
    elif options.name in found:
        print(as_text(found[options.name]))
    else:
        raise ValueError(
            f"NAME must be a name in the table of 'tfreps presets'; got {options.name}. For other "
            "models, use an address, such as hf://owner/repository."
        )


def as_text(preset):
    """Returns a text with all fields of a `Preset`, one per line."""
    lines = [f"{preset.name}: {preset.description}", f"language: {preset.language}"]
    lines.append(f"tokens: {preset.tokens}")
    count = f"{preset.parameters:,}" if preset.parameters else "unknown"
    lines += [f"parameters: {count}", f"license: {preset.license}", f"citation: {preset.citation}"]
    if preset.package:
        lines.append(f"package: pip install {preset.package}")
    for file in preset.files:
        size = f"{file.size:,} bytes" if file.size else "size unknown"
        colon = ":" if file.urls else ""
        lines.append(f"{file.name} ({size}, checksum {file.checksum or 'unknown'}){colon}")
        lines += [f"  {url}" for url in file.urls]
    lines.append(f"not verified: {'; '.join(preset.unverified) or 'nothing'}")
    lines.append(f"read in: {'; '.join(preset.sources)}")
    return "\n".join(lines)
