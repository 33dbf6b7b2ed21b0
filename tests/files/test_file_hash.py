import hashlib

from tfreps._src.files.file_hash import file_hash


def test_a_file_of_several_blocks(tmp_path):
    content = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(content)
    for algorithm in "sha256", "sha1":
        expected = hashlib.new(algorithm, content).hexdigest()
        assert file_hash(tmp_path / "file", algorithm) == expected
