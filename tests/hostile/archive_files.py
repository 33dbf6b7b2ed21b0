"""Hostile archives of models, and hostile settings of sentence-transformers."""

import gzip
import io
import os
import shutil
import tarfile
import zipfile
from unittest import mock

from tests.convert.sentence_transformers_fixture import FOLDER
from tests.hostile.folders import folder_format
from tests.hostile.format import Format
from tests.hostile.mutations import mutated
from tfreps._src.convert.sentence_transformers import read_modules, read_settings
from tfreps._src.presets.archives import unpack
from tfreps._src.presets.module_folders import module_folders

FILES = {"m/config.json": b"{}", f"m/{'größe/' * 30}weights": bytes(range(256)) * 8}
FORMS = tarfile.GNU_FORMAT, tarfile.PAX_FORMAT
# What `tarfile` reads from a header before a file, in a form of its own.
LINES = b"1" * 40_000, b"1 hdrcharset=" * 3_000, b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"


def tar_of(form, header=b""):
    found = io.BytesIO()
    if header:
        info = tarfile.TarInfo("header")
        info.type, info.size = tarfile.XHDTYPE, len(header)
        found.write(info.tobuf() + header + bytes(-len(header) % tarfile.BLOCKSIZE))
    with tarfile.open(fileobj=found, mode="w", format=form) as archive:
        for name, content in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return found.getvalue()


def zip_of():
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return found.getvalue()


def with_checksums(data):
    """Returns a tar archive in which the checksum of each header is right."""
    size, blocks = tarfile.BLOCKSIZE, []
    for start in range(0, len(data), size):
        block = data[start : start + size]
        if block[257:262] == b"ustar" and len(block) == size:
            number = sum(block[:148]) + 8 * ord(" ") + sum(block[156:])
            block = block[:148] + b"%06o\0 " % number + block[156:]
        blocks.append(block)
    return b"".join(blocks)


def tars(folder):
    return [tar_of(form, header) for form in FORMS for header in (b"", *LINES)]


def tar(ready, random, folder):
    data = mutated(random.choice(ready), random)
    data = gzip.compress(with_checksums(data) if random.random() < 0.9 else data, 1)
    return extracted(
        folder, "case.tar.gz", mutated(data, random) if random.random() < 0.1 else data
    )


def zipped(ready, random, folder):
    return extracted(folder, "case.zip", mutated(ready, random))


def extracted(folder, name, content):
    """Extracts an archive into an empty cache; an archive that is rejected leaves nothing."""
    cache, path = folder / "keras", folder / name
    path.write_bytes(content)
    before = sorted(folder.iterdir())
    is_whole = False
    try:
        with mock.patch.dict(os.environ, {"KERAS_HOME": str(cache)}):
            unpack(path)
        is_whole = True
    finally:
        left = [item for item in cache.glob("tfreps/zips/*") if item.is_dir()]
        shutil.rmtree(cache, ignore_errors=True)
        assert bool(left) == is_whole and sorted(folder.iterdir()) == before
        path.unlink()
    return True


def write_settings(folder):
    shutil.copytree(FOLDER / "model", folder, ignore=shutil.ignore_patterns("*.safetensors"))


def settings(case, random):
    folders = module_folders((case / "modules.json").read_bytes())
    assert not any(place.startswith("/") or ".." in place.split("/") for place in folders)
    assert {str(m.folder.relative_to(case)) for m in read_modules(case)} <= {".", *folders}
    found = read_settings(case)
    assert found.max_length is None or found.max_length >= 3


FORMATS = [
    Format("tar archives", 6_000, tars, tar, quick=True),
    Format("zip archives", 6_000, lambda folder: zip_of(), zipped),
    folder_format("sentence-transformers", 6_000, write_settings, settings, quick=True),
]
