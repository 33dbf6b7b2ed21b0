"""RunFolder: a folder with the options, files, model and results of one training run."""

import contextlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tfreps._src.files.atomic_files import is_temporary, replacing
from tfreps._src.files.json_files import as_json, read_json, write_json
from tfreps._src.runs import run_manifest
from tfreps._src.runs.model_archive import load_archive, save_archive
from tfreps._src.runs.run_lock import LOCK, RunInUse, locked
from tfreps._src.runs.run_manifest import MANIFEST, check_assets, forget_asset, record_asset
from tfreps._src.runs.seed_folders import check_one_seed, is_seed, seed_folders

if TYPE_CHECKING:  # imported for types only, so that a folder can be opened without loading Keras
    import keras

    from tfreps._src.text.vocabulary import Vocabulary
    from tfreps._src.text.word_char_ids import WordCharIndexer

FORMAT_VERSION = 4
OPTIONS, RESULTS, MODEL = "options.json", "results.json", "model.keras"
CONFIG = "config.json"  # file with the config of a model that `save_to_preset` wrote
NO_COMMAND = "save_to_preset"  # in place of the command, for models that no command trained
OF_ONE_COMMAND = "resume", "overwrite", "distribute"  # options that are not stored with the run
VOCABULARY, TAGS, LABELS = "vocabulary.txt", "tags.txt", "labels.txt"
TOKENIZER, WORD_CHARACTERS = "tfreps_tokenizer.json", "word_characters.json"
CHECKPOINTS, LOGS, PLOTS = "checkpoints", "logs", "plots"
CONTENTS = (OPTIONS, RESULTS, MODEL, VOCABULARY, TOKENIZER, WORD_CHARACTERS, TAGS, LABELS)
CONTENTS += (CHECKPOINTS, LOGS, PLOTS, MANIFEST)  # `clear_run` removes these in reverse order

# Options that name input files or folders, which a new run must not overwrite.
INPUTS = "train", "validation", "test", "unlabeled", "vocabulary", "vectors", "init", "bert", "elmo"
INPUTS += ("elmo_config", "elmo_weights", "train_vectors", "validation_vectors", "test_vectors")


class RunFolder:
    """Folder with all files of one training run.

        options.json           command, format version, and the options of the run
        vocabulary.txt         the vocabulary of the model
        tfreps_tokenizer.json  the tokenizer of a BERT model, with its vocabulary
        word_characters.json   the words and characters of a biLM of ELMoForManyLangs
        tags.txt               the tags of a tagger
        labels.txt             the labels of a classifier
        manifest.json          sizes and hashes of the six files above, which `open` checks, and of
                               the training data
        model.keras            the best model so far
        checkpoints/           checkpoints to resume from, until training ends
        logs/                  event files for TensorBoard
        plots/                 PNG files
        results.json           results of evaluations
        run.lock               exists while a process writes here

    Use `RunFolder.create` or `RunFolder.open` to get an instance.

    Args:
        path: str or path-like. Path of the folder.
        command: str. Name of the command, as in `tfreps COMMAND`.
        options: dict. Options of the run.
        unused: iterable of str. Names of the options that have no effect or no value, which model
            cards leave out. If `None` (the default), these options are not known.

    Attributes:
        options_path, results_path, model_path, vocabulary_path, tokenizer_path,
            word_characters_path, tags_path, labels_path, checkpoints_path, logs_path, plots_path:
            `pathlib.Path` of the file or folder.
        is_writer: bool. Whether this process writes into the folder.

    Example:
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/run"
    >>> run = RunFolder.create(path, "pretrain-elmo", {"batch_size": 128})
    >>> RunFolder.open(path, "pretrain-elmo").options
    {'batch_size': 128}
    """

    is_writer: bool = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        command: str,
        options: Mapping[str, Any],
        unused: Iterable[str] | None = None,
    ):
        self.path: pathlib.Path = pathlib.Path(path)
        self.command: str = command
        self.options: dict[str, Any] = dict(options)
        self.unused: list[str] | None = None if unused is None else sorted(unused)
        self.options_path: pathlib.Path = self.path / OPTIONS
        self.results_path: pathlib.Path = self.path / RESULTS
        self.model_path: pathlib.Path = self.path / MODEL
        self.vocabulary_path: pathlib.Path = self.path / VOCABULARY
        self.tokenizer_path: pathlib.Path = self.path / TOKENIZER
        self.word_characters_path: pathlib.Path = self.path / WORD_CHARACTERS
        self.tags_path: pathlib.Path = self.path / TAGS
        self.labels_path: pathlib.Path = self.path / LABELS
        self.checkpoints_path: pathlib.Path = self.path / CHECKPOINTS
        self.logs_path: pathlib.Path = self.path / LOGS
        self.plots_path: pathlib.Path = self.path / PLOTS

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        command: str,
        options: Mapping[str, Any],
        overwrite: bool = False,
        unused: Iterable[str] | None = None,
    ) -> "RunFolder":
        """Creates the folder and writes options.json.

        Args:
            path: str or path-like. A folder that does not exist yet or is empty, or, if `overwrite`
                is `True`, the folder of an earlier run.
            command: str. Name of the command that trains the run, such as `"pretrain-elmo"`.
            options: dict. Options of the run, including defaults. The values must be
                JSON-serializable or paths. All options except `resume`, `overwrite` and
                `distribute` are stored.
            overwrite: bool. Whether an earlier run in the folder may be removed. A folder with
                files but without a run is never changed. Defaults to `False`.
            unused: iterable of str. Names of the options that have no effect or no value, which
                model cards leave out. If `None`, these options are not known. Defaults to `None`.

        Returns:
            `RunFolder`. The new run.

        Raises:
            ValueError: If `check_can_create` raises an error, an option names an input that would
                be removed, or an option cannot be written as JSON.
        """
        run = cls(path, command, _stored(options), unused)
        run.check_can_create(run.path, overwrite)
        check_inputs(run.path, options)
        clear_run(run.path)
        run.path.mkdir(parents=True, exist_ok=True)
        run.write_options()  # a folder with options.json counts as a run folder
        run.logs_path.mkdir(exist_ok=True)
        return run

    def set_options(self, options: Mapping[str, Any], unused: Iterable[str] | None = None) -> None:
        """Updates the options of a resumed run. `write_options` writes them to options.json.

        Args:
            options: dict. Options of the command. Earlier options that this dict does not contain
                are kept.
            unused: iterable of str. Names of the options that have no effect or no value. If
                `None`, these options are not known. Defaults to `None`.
        """
        self.options = {**self.options, **_stored(options)}
        self.unused = None if unused is None else sorted(unused)

    def write_options(self) -> None:
        """Writes options.json, unless it already contains the options, and records its hash."""
        head = {"command": self.command, "format_version": FORMAT_VERSION, "options": self.options}
        if self.unused is not None:
            head["unused"] = self.unused
        if not self.options_path.exists() or read_json(self.options_path) != head:
            forget_asset(self.options_path)  # keeps the run readable if the process ends here
            write_json(self.options_path, head)
        record_asset(self.options_path)

    @classmethod
    @contextlib.contextmanager
    def open_for_training(
        cls,
        path: str | os.PathLike[str],
        command: str,
        options: Mapping[str, Any],
        may_change: Iterable[str] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> Iterator["RunFolder | None"]:
        """Context manager that checks the folder and prevents other processes from writing into it.

        Args:
            path: str or path-like. Path of the folder.
            command: str. Name of the command that an existing run must have.
            options: dict. Options of the command, including `resume` and `overwrite` (bool).
            may_change: iterable of str. Options that may differ from those of the resumed run.
                Defaults to `()`.
            defaults: dict. Values of options that were added to the command after the run was
                started. Defaults to `None`.

        Yields:
            The `RunFolder` to resume, or `None` if there is none and the caller must call `create`.

        Raises:
            ValueError: If `check_can_create` or `open` raises an error, an option differs from that
                of the resumed run or names an input that would be removed, or another process
                writes into the folder.
        """
        earlier = path, command, options, may_change, defaults
        cls.find_run_to_resume(*earlier)  # raises errors before anything is written
        with locked(path, command):
            run = cls.find_run_to_resume(*earlier)
            if run is not None:
                run.logs_path.mkdir(exist_ok=True)
            yield run

    @classmethod
    def find_run_to_resume(
        cls,
        path: str | os.PathLike[str],
        command: str,
        options: Mapping[str, Any],
        may_change: Iterable[str] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> "RunFolder | None":
        """Returns the run to resume, or `None`, after the checks that `open_for_training` lists."""
        if not options["resume"] or not (pathlib.Path(path) / OPTIONS).exists():
            cls.check_can_create(path, options["overwrite"])
            check_inputs(path, options)
            return None
        run = cls.open(path, command)
        now = as_json(options)
        before = {**as_json(defaults or {}), **run.options}
        fixed = sorted(set(now) - {"run", *OF_ONE_COMMAND, *may_change})
        changed = [name for name in fixed if before.get(name) != now[name]]
        if changed:
            raise ValueError(
                f"{path} was started with different options: {', '.join(changed)}. Omit them, "
                "since a resumed run uses the original options, or start a new run in another "
                "folder."
            )
        return run

    @staticmethod
    def check_can_create(path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Checks that `create` can use a folder, without changing it.

        Args:
            path: str or path-like. Path of the folder.
            overwrite: bool. Whether an earlier run in the folder may be removed. Defaults to
                `False`.

        Raises:
            ValueError: If the path is a file, if the folder contains files but no run, if its
                options.json is not valid, if `save_to_preset` wrote it, or if it contains a run and
                `overwrite` is `False`.
        """
        path = pathlib.Path(path)
        if path.exists() and not path.is_dir():
            raise ValueError(
                f"Expected a folder for the run, but {path} is a file. Choose another path."
            )
        names = (item.name for item in path.glob("*"))
        found = sorted(x for x in names if x != LOCK and not is_temporary(x) and not is_seed(x))
        if found and OPTIONS not in found:
            raise ValueError(
                f"{path} is neither empty nor a run folder (it contains {found[0]!r}). "
                "Choose another folder for the run."
            )
        if CONFIG in found and MODEL not in found:
            raise ValueError(
                f"{path} was written by `save_to_preset`; a run cannot replace it. Choose another "
                "folder for the run."
            )
        if found:
            head = read_head(path / OPTIONS)
            if not overwrite:
                raise ValueError(
                    f"{path} already contains a run of `tfreps {head['command']}`. Resume or "
                    "overwrite it, or choose another folder."
                )

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], command: str | Iterable[str] | None = None
    ) -> "RunFolder":
        """Opens the folder of an earlier run.

        Args:
            path: str or path-like. Path of the folder.
            command: str or iterable of str. Commands whose runs are accepted. If `None`, runs of
                all commands are accepted. Defaults to `None`.

        Returns:
            `RunFolder`. The run.

        Raises:
            ValueError: If the path is not a run folder, its options.json or manifest.json is not
                valid, it is a run of another command or format version, or the options.json, a
                vocabulary, tokenizer, tag or label file or word_characters.json is missing or
                differs from the original.
        """
        path = pathlib.Path(path)
        if not path.is_dir():
            raise ValueError(
                f"{path} is not a folder; expected the run folder of a tfreps command."
            )
        head = read_head(path / OPTIONS)
        version = head["format_version"]
        if version != FORMAT_VERSION:
            is_older = type(version) is int and version < FORMAT_VERSION
            raise ValueError(
                f"{path} was written by {'an earlier' if is_older else 'another'} version of "
                f"tfreps (format {version!r}; this version reads {FORMAT_VERSION}). Train the "
                "model again, or use the version that wrote the run."
            )
        run = cls(path, head["command"], head["options"], head.get("unused"))
        if command is not None:
            run.check_command(*([command] if isinstance(command, str) else command))
        check_assets(path)
        return run

    def check_command(self, *commands: str) -> "RunFolder":
        """Returns the run itself; raises a ValueError if another command trained it."""
        if self.command not in commands:
            raise ValueError(
                f"{self.path} is a run of `tfreps {self.command}`; expected a run of "
                + " or ".join(f"`tfreps {name}`" for name in commands)
                + "."
            )
        return self

    def write_asset(self, path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
        """Writes a file of the run and records its size and hash in manifest.json.

        Args:
            path: `pathlib.Path`. Path of the file, such as `vocabulary_path`. An existing file must
                have the same content.
            write: callable. It takes a temporary path and writes the file to it.

        Raises:
            ValueError: If the file exists with different content.
        """
        with replacing(path) as temporary:
            write(temporary)
            if path.exists() and path.read_bytes() != temporary.read_bytes():
                raise ValueError(
                    f"{path} would change: the training data have changed since the run was "
                    "started. Resume with the original data, or start a new run."
                )
        record_asset(path)

    @property
    def is_trained(self) -> bool:
        """`True` if model.keras is saved and training has ended as planned.

        It is `False` if `save_to_preset` wrote the folder; see `is_preset`.
        """
        return self.model_path.is_file() and "unfinished" not in self.results()

    @property
    def is_preset(self) -> bool:
        """`True` if `save_to_preset` wrote the folder, which contains model.safetensors."""
        return not self.model_path.exists() and (self.path / CONFIG).is_file()

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Writes results.json with a checksum of its content, replacing an existing file."""
        write_json(self.results_path, run_manifest.with_checksum(as_json(results)))

    def add_evaluation(self, command: str, figures: Mapping[str, Any]) -> str:
        """Replaces the entry `evaluation` of results.json with the metrics of another command.

        The file is not changed if another process is writing into the folder, or if
        `save_to_preset` wrote the folder.

        Args:
            command: str. Name of the command.
            figures: dict. The metrics.

        Returns:
            str. A message that says whether the file was written.
        """
        if self.is_preset:
            return f"The folder {self.path} was written by `save_to_preset` and was not changed."
        try:
            with locked(self.path, command):
                self.write_results({**self.results(), "evaluation": figures})
        except RunInUse as error:
            return f"{self.results_path} was not written: {error}"
        return f"Wrote {self.results_path}."

    def results(self) -> dict[str, Any]:
        """Returns the content of results.json, or an empty dict if there is no such file.

        Raises a ValueError if the file is damaged.
        """
        if not self.results_path.exists():
            return {}
        return run_manifest.without_checksum(self.results_path, read_json(self.results_path))

    def save_model(self, model: "keras.Model") -> None:
        """Saves the model atomically; the previous file stays until the new one is complete."""
        with replacing(self.model_path, durable=True) as temporary:
            save_archive(model, temporary)

    def load_model(self) -> Any:
        """Loads the saved model, which is not compiled, without running any code from the file.

        Returns:
            `keras.Model`. The saved model.

        Raises:
            ValueError: If no model was saved yet, or the file is damaged, was not written by
                tfreps or contains code.
        """
        if self.is_preset:
            from tfreps._src.convert.preset_model import read_preset_model

            return read_preset_model(self.path)
        check_one_seed(self.path, self.options)
        if not self.model_path.is_file():
            raise ValueError(
                f"{self.path} contains no {MODEL}: its run has not saved a model yet. Resume the "
                "run."
            )
        return load_archive(self.model_path)

    def vocabulary(self) -> "Vocabulary":
        """Reads vocabulary.txt and returns it as a `tfreps.text.Vocabulary`."""
        from tfreps._src.text.vocabulary import Vocabulary

        return Vocabulary.read(self.vocabulary_path)

    def word_characters(self) -> "WordCharIndexer":
        """Reads word_characters.json and returns it as a `tfreps.text.WordCharIndexer`."""
        from tfreps._src.text.word_char_ids import WordCharIndexer

        return WordCharIndexer.read(self.word_characters_path)


def is_run_folder(path: pathlib.Path) -> bool:
    """Returns True if a folder contains an options.json of tfreps.

    Returns False for the options.json of bilm-tf.
    """
    options = path / OPTIONS
    try:
        return options.is_file() and "lstm" not in read_json(options)
    except ValueError:  # the file is damaged; `open` raises a detailed error
        return True


def read_head(path: pathlib.Path) -> dict[str, Any]:
    """Returns the content of the options.json of a run as a dict.

    Raises a ValueError if the file does not exist or was not written by a tfreps command.
    """
    if not path.is_file():
        raise ValueError(
            f"{path.parent} is not a run folder: it contains no {OPTIONS}. "
            "Expected the run folder of a tfreps command."
        )
    head = read_json(path)
    unused, keys = head.get("unused", []), {"command", "format_version", "options"}
    is_valid = set(head) - {"unused"} == keys and type(head["options"]) is dict
    if not is_valid or type(unused) is not list or any(type(name) is not str for name in unused):
        raise ValueError(
            f"{path} was not written by a tfreps command: expected the keys command, "
            "format_version, options (an object) and optionally unused (a list of strings); got "
            f"the keys {sorted(head)}. Choose the run folder of a tfreps command."
        )
    return head


def _stored(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that are stored with a run, as JSON values."""
    return as_json({name: options[name] for name in options if name not in OF_ONE_COMMAND})


def run_files(path: str | os.PathLike[str]) -> list[pathlib.Path]:
    """Returns the files of the run in a folder, which no output file may replace."""
    return [item for name in CONTENTS if (item := pathlib.Path(path, name)).is_file()]


def check_inputs(path: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Raises a ValueError if an option names an input file that `clear_run(path)` would remove."""
    run = pathlib.Path(path).resolve()
    parts = {run, *(run / name for name in CONTENTS), *seed_folders(run)}
    for name in INPUTS:
        given = options.get(name) or ()
        for each in given if isinstance(given, list | tuple) else [given]:
            found = pathlib.Path(each).resolve()
            if run.exists() and (found in parts or parts & set(found.parents) - {run}):
                raise ValueError(
                    f"`{name}` is {each}, which belongs to the run in the folder {path}. That run "
                    "would be removed before the new run starts. Choose another folder for the "
                    "new run."
                )


def clear_run(path: pathlib.Path) -> None:
    """Removes the files of the run in a folder, and of its runs of seeds, and nothing else."""
    for each in filter(is_run_folder, seed_folders(path)):
        clear_run(each)
        with contextlib.suppress(OSError):  # the folder contains other files, such as a lock
            each.rmdir()
    temporary = [item.name for item in path.glob(".*") if is_temporary(item.name)]
    for name in (*temporary, *reversed(CONTENTS)):  # options.json, which marks a run, is last
        item = path / name
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink(missing_ok=True)
