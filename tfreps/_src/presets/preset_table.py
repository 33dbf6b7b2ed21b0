"""The table of published weights, with their properties and URLs, and their download."""

import functools
import importlib.resources
import importlib.util
import json
import pathlib
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from huggingface_hub import constants

from tfreps._src.presets.archives import is_archive
from tfreps._src.presets.cache_folder import cache_folder
from tfreps._src.presets.web_files import download_file

TABLE, SERIES = "table.json", "series.json"  # a series has one row per language
HUB = "https://huggingface.co/"  # address that the value of HF_ENDPOINT replaces


class PresetFile(NamedTuple):
    """File of a published model.

    Args:
        name: str. Name of the local copy.
        urls: list of str. URLs, tried in this order. `HF_ENDPOINT` applies to files on the
            Hugging Face Hub.
        size: int or None. Size in bytes, or `None` (the default) if it is not known.
        checksum: str or None. SHA-256, SHA-1 or MD5 in hexadecimal digits, or `None` (the default)
            if it is not known.
    """

    name: str
    urls: list[str]
    size: int | None = None
    checksum: str | None = None


class Preset(NamedTuple):
    """Row of the table of published weights.

    Args:
        name: str. Name that `from_preset` and `tfreps.load` accept.
        kind: str. Kind of model, such as "elmo".
        description: str. Description in one sentence.
        language: str. English name of the language, such as "Estonian".
        tokens: str. Tokens of the training text, which the model expects.
        parameters: int or None. Number of parameters, or `None` if it is not known.
        license: str. License as the publisher states it, or "not stated".
        citation: str. The paper, or the place of publication.
        files: list of `PresetFile`.
        unverified: list of str. Facts of the row that could not be verified.
        sources: list of str. Sources of the facts.
        package: str or None. Python package on PyPI that contains the files and must be installed.
            If `None` (the default), the files are downloaded.
    """

    name: str
    kind: str
    description: str
    language: str
    tokens: str
    parameters: int | None
    license: str
    citation: str
    files: list[PresetFile]
    unverified: list[str]
    sources: list[str]
    package: str | None = None

    @property
    def size(self) -> int | None:
        """Size in bytes of the last file, which contains the weights; `None` if it is not known."""
        return self.files[-1].size

    @property
    def host(self) -> str:
        """Host of the first URL, or the package that contains the files."""
        return self.package or self.files[0].urls[0].split("/")[2]


class PresetTable(list[Preset]):
    """List of presets that prints as a table."""

    def __repr__(self) -> str:
        head = ("name", "kind", "language", "parameters", "size", "source", "license", "checksum")
        lines = [head, *map(_cells, self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ([c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines)
        return "\n".join("  ".join(cells).rstrip() for cells in padded)


def list_presets() -> PresetTable:
    """Returns the table of published weights that can be loaded by name.

    Returns:
        `PresetTable`. A list of presets that prints as a table.

    Example:
    >>> list_presets()[0].name
    'elmo_small'
    """
    return PresetTable(rows().values())


@functools.cache
def rows() -> dict[str, Preset]:
    """Returns the table of published weights, as a dict from names to `Preset`."""
    found = {}
    for name, row in _read(TABLE).items():
        files = [PresetFile(file, **facts) for file, facts in row["files"].items()]
        found[name] = Preset(**{**row, "name": name, "files": files})
    return found | {preset.name: preset for preset in _series()}


def _series() -> Iterator[Preset]:
    """Yields a `Preset` for each language of each series of models.

    A series is a group of models that differ only in their language. Each model is one archive.
    """
    for series in _read(SERIES):
        *texts, file, urls, languages = map(
            series.pop, ("name", "description", "file", "urls", "rows")
        )
        for code, language, key in languages:
            names = {"code": code, "language": language, "key": key}
            name, description = (text.format(**names) for text in texts)
            archive = PresetFile(file.format(**names), [url.format(**names) for url in urls])
            yield Preset(
                name, description=description, language=language, files=[archive], **series
            )


def _read(name: str) -> Any:
    text = importlib.resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
    return json.loads(text)


def download_preset(name: str) -> pathlib.Path:
    """Downloads the files of a preset to the cache once, and returns the folder of the files.

    For a preset in a Python package, the folder of the package is returned. If the preset consists
    of one archive, the path of the archive is returned. If the table has facts about the preset
    that could not be verified, a UserWarning lists these facts before the download.
    """
    preset = rows()[name]
    if preset.package is not None:
        return _package_folder(preset, preset.package)
    folder = cache_folder() / "presets" / name
    if preset.unverified and cached_preset(name) is None:
        warnings.warn(
            f"{name}: these facts of the table could not be verified: "
            f"{'; '.join(preset.unverified)}.",
            stacklevel=4,
        )
    for file in preset.files:
        _download_file(preset, file, folder)
    only = folder / preset.files[0].name
    return only if len(preset.files) == 1 and is_archive(only) else folder


def cached_preset(name: str) -> pathlib.Path | None:
    """Returns the folder of a preset if all of its files have been downloaded to the cache."""
    preset, folder = rows().get(name), cache_folder() / "presets" / name
    if preset is None or preset.package is not None:
        return None
    return folder if all((folder / file.name).is_file() for file in preset.files) else None


def _package_folder(preset: Preset, package: str) -> pathlib.Path:
    """Returns the folder of an installed Python package, which is not imported."""
    found = importlib.util.find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        raise ValueError(
            f"{preset.name} is in the package {package}, which is not installed. Run: pip install "
            f"{package}"
        )
    return pathlib.Path(found.submodule_search_locations[0])


def _download_file(preset: Preset, file: PresetFile, folder: pathlib.Path) -> None:
    reasons = []
    for url in file.urls:
        try:
            address = url.replace(HUB, constants.ENDPOINT + "/", 1)
            download_file(address, file.checksum, file.size, folder / file.name)
            return
        except ValueError as error:
            reasons.append(str(error))
    names = " and ".join(each.name for each in preset.files)
    raise ValueError(
        f"{file.name} of {preset.name} cannot be downloaded. {' '.join(reasons)} Get {names} by "
        "other means and pass their folder instead."
    )


def _cells(preset: Preset) -> tuple[str, ...]:
    weights = preset.files[-1].checksum
    return (
        preset.name,
        preset.kind,
        preset.language,
        f"{preset.parameters / 1e6:.1f}M" if preset.parameters else "unknown",
        f"{preset.size / 1e6:.1f} MB" if preset.size else "unknown",
        preset.host,
        preset.license,
        f"{weights[:12]}..." if weights else "none",
    )
