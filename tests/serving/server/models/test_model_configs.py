"""Tests the models of a command line and of TensorFlow Serving's config file."""

import contextlib

import pytest

from tfreps.serving.server.models.model_configs import (
    ModelConfig,
    VersionPolicy,
    from_folders,
    read_config_file,
    read_policy,
)


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ner/1", "other/ner/1", "a=b/1"):
        (tmp_path / name).mkdir(parents=True)


def test_names(tmp_path):
    found = from_folders(["ner/", "second=other/ner"])
    assert [(c.name, c.base_path) for c in found] == [("ner", "ner/"), ("second", "other/ner")]
    assert from_folders(["x=a=b"])[0].base_path == "a=b"


def test_labels_and_policies():
    (config,) = from_folders(["ner"], ["ner:stable=1", "ner:canary=2"], ["ner:latest:2"])
    assert config.labels == {"stable": 1, "canary": 2}
    assert config.policy == VersionPolicy(latest=2)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([["nowhere"]], "nowhere is not a folder"),
        ([["ner", "other/ner"]], "Two models are called 'ner'.*other=other/ner"),
        ([["a=b"]], "must not be empty .*; got 'a=b'"),
        ([["x:y=ner"]], "must not be empty .*; got 'x:y'"),
        ([["ner"], ["stable=1"]], "`labels` must have the form NAME:LABEL=VERSION"),
        ([["ner"], ["tok:stable=1"]], "`labels` must start with the name of a model .ner. and"),
        ([["ner"], ["ner:stable"]], "`labels` must have the form NAME:LABEL=VERSION"),
        ([["ner"], [], ["all"]], "`versions` must have the form NAME:POLICY; got 'all'"),
        ([["ner"], ["ner:a/b=1"]], "name of a label must not be empty"),
        ([["ner"], [], ["ner:newest"]], "version policy must be"),
    ],
)
def test_mistakes(arguments, words):
    with pytest.raises(ValueError, match=words):
        from_folders(*arguments)


def test_a_version_instead_of_a_base_path(tmp_path):
    (tmp_path / "ner/1/saved_model.pb").touch()
    with pytest.raises(ValueError, match="is a single version of a model.*ner"):
        from_folders(["ner/1"])


def test_config_files(tmp_path):
    (tmp_path / "models.config").write_text(
        """
        model_config_list {
          config { name: "ner" base_path: "ner" model_platform: "tensorflow"
            model_version_policy { specific { versions: 3 versions: 4 } }
            version_labels { key: "stable" value: 3 } }
          config { name: "b" base_path: "other/ner" model_platform: "tensorflow"
            model_version_policy { all {} } }
          config { name: "c" base_path: "other/ner" }
        }
        """,
        encoding="utf-8-sig",
    )
    assert read_config_file("models.config") == [
        ModelConfig("ner", "ner", VersionPolicy(specific=(3, 4)), {"stable": 3}),
        ModelConfig("b", "other/ner", VersionPolicy(latest=0)),
        ModelConfig("c", "other/ner", VersionPolicy(latest=1)),
    ]


NESTED = "[type.googleapis.com/google.protobuf.Any] {"


def config(text):
    return f'model_config_list {{ config {{ base_path: "ner" {text} }} }}'


@pytest.mark.parametrize(
    "text, words",
    [
        ("config {", "not a model config"),
        ("", "contains no models. Add at least one `config`"),
        ('model_config_list { config { name: "x" base_path: "no" } }', "no is not a folder"),
        ('model_config_list { config { name: "x" } }', "`base_path` must name the folder"),
        (config('name: "x\\001"'), "contain '/', ':', '=', whitespace or unprintable characters"),
        (config(f'name: "{"x" * 256}"'), "at most 255 characters"),
        (
            config('name: "x" model_version_policy { specific { versions: -1 } }'),
            "must not be negative",
        ),
        (config('name: "x" version_labels { key: "y" value: -1 }'), "must not be negative"),
        (config('name: "x" model_version_policy { latest { num_versions: 1e99 } }'), "not a model"),
        ("custom_model_config {" + NESTED * 5_000, "not a model config.*recursion"),
        ("custom_model_config {" + NESTED * 2_000 + "}" * 2_001, "not a model config.*recursion"),
        (config('name: "x"') * 6_000, "at most 262144 bytes"),
        ("model_config_list { config " + "[" * 200_000, "^broken is not a model config.{200,300}$"),
        ("\udcff", "not a model config.*utf-8"),
    ],
    ids=range(14),
)
def test_broken_config_files(text, words):
    with open("broken", "w", errors="surrogateescape") as file:
        file.write(text)
    with pytest.raises(ValueError, match=words):
        read_config_file("broken")


def test_a_warning_of_the_parser_does_not_come_through():
    with open("odd", "w") as file:
        file.write(config(r'name: "x\l"'))  # an invalid escape
    with contextlib.suppress(ValueError):  # a warning, which pytest makes an error, would fail
        read_config_file("odd")


@pytest.mark.parametrize(
    "text, chosen",
    [("latest", [9]), ("latest:2", [3, 9]), ("all", [1, 3, 9]), ("3,4,1", [1, 3]), ("4", [])],
)
def test_policies(text, chosen):
    assert read_policy(text).choose([3, 9, 1]) == chosen


@pytest.mark.parametrize("text", ["", "newest", "latest:0", "latest:x", "1;2", "1,", "-1", "²"])
def test_misspelt_policies(text):
    with pytest.raises(ValueError, match="version policy must be all, latest"):
        read_policy(text)


def test_none_found():
    assert VersionPolicy().choose([]) == []
