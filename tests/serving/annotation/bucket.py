"""File system `bucket://` of Beam without folders, like an object store; its files are on disk."""

import os
import pathlib

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem


class BucketFileSystem(FileSystem):
    """File system that stores `bucket://a/b` in the file `a%b` of `BucketFileSystem.folder`."""

    folder: pathlib.Path

    @classmethod
    def scheme(cls):
        return "bucket"

    def place(self, path):
        return self.folder / path.removeprefix("bucket://").replace("/", "%")

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path):
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path):
        pass

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        for name in sorted(os.listdir(self.folder)):
            path = "bucket://" + name.replace("%", "/")
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, (self.folder / name).stat().st_size, 0)

    def create(self, path, mime_type="", compression_type="auto"):
        return open(self.place(path), "wb")

    def open(self, path, mime_type="", compression_type="auto"):
        return open(self.place(path), "rb")

    def copy(self, source_file_names, destination_file_names):
        raise NotImplementedError

    def rename(self, source_file_names, destination_file_names):
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            if not self.place(source).is_file():
                raise BeamIOError(f"no file {source}")
            os.replace(self.place(source), self.place(target))

    def exists(self, path):
        return self.place(path).is_file()

    def size(self, path):
        return self.place(path).stat().st_size

    def last_updated(self, path):
        return 0

    def checksum(self, path):
        return "0"

    def metadata(self, path):
        return FileMetadata(path, self.size(path), 0)

    def delete(self, paths):
        for path in paths:
            for file in list(self._list(path)):
                self.place(file.path).unlink()
