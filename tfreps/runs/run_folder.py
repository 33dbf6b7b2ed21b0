"""RunFolder: the one thing that training, evaluation, embedding and export share."""

import contextlib
import importlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator

from tfreps.files.atomic_files import is_temporary, replacing
from tfreps.files.json_files import as_json, read_json, write_json
from tfreps.runs.model_archive import check_archive, refusal
from tfreps.runs.run_assets import ASSETS, check_assets, record_asset
from tfreps.runs.run_lock import LOCK, RunInUse, locked

FORMAT_VERSION = 2
OPTIONS, RESULTS, MODEL = "options.json", "results.json", "model.keras"
OF_ONE_COMMAND = "resume", "overwrite"  # options that are not stored with the run
VOCABULARY, TAGS, LABELS = "vocabulary.txt", "tags.txt", "labels.txt"
TOKENIZER = "tokenizer.json"
CHECKPOINTS, LOGS, PICTURES = "checkpoints", "logs", "pictures"
CONTENTS = (OPTIONS, RESULTS, MODEL, VOCABULARY, TOKENIZER, TAGS, LABELS)
CONTENTS += (CHECKPOINTS, LOGS, PICTURES, ASSETS)  # removed from the last on

# Options that name files or folders to read, which a run must not be written over.
INPUTS = "train", "dev", "test", "validation", "unlabelled", "vocabulary", "vectors", "init"
INPUTS += ("elmo", "elmo_options", "elmo_weights", "bert", "options")
INPUTS += ("train_vectors", "dev_vectors", "test_vectors")


class RunFolder:
    """A folder with everything about one training run.

        options.json     program, format version, and the options that were used
        vocabulary.txt   the vocabulary of the model
        tokenizer.json   the tokenizer of a BERT, its vocabulary in it
        tags.txt         the tags of a tagger
        labels.txt       the labels of a classifier
        assets.json      sizes and hashes of these four, which `open` compares
        model.keras      the best model so far
        checkpoints/     to resume from (`tfreps.callbacks.checkpoint_file`)
        logs/            for TensorBoard
        pictures/        PNG files
        results.json     what was measured
        run.lock         while a process writes there (`tfreps.runs.run_lock`)

    Made by `RunFolder.create` and `RunFolder.open`. The paths of all of these are attributes;
    `options`, `program` are what options.json says.

    Example:
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/run"
    >>> run = RunFolder.create(path, "pretrain-elmo", {"batch_size": 128})
    >>> RunFolder.open(path, "pretrain-elmo").options
    {'batch_size': 128}
    """

    def __init__(self, path: str | os.PathLike, program: str, options: dict):
        self.path = pathlib.Path(path)
        self.program = program
        self.options = options
        self.options_path = self.path / OPTIONS
        self.results_path = self.path / RESULTS
        self.model_path = self.path / MODEL
        self.vocabulary_path = self.path / VOCABULARY
        self.tokenizer_path = self.path / TOKENIZER
        self.tags_path = self.path / TAGS
        self.labels_path = self.path / LABELS
        self.checkpoints_path = self.path / CHECKPOINTS
        self.logs_path = self.path / LOGS
        self.pictures_path = self.path / PICTURES

    @classmethod
    def create(
        cls, path: str | os.PathLike, program: str, options: dict, overwrite: bool = False
    ) -> "RunFolder":
        """Makes the folder and writes options.json.

        Args:
            path: a folder that does not exist yet, or an empty one.
            program: name of the program, as in `tfreps <program>`.
            options: what the program was given, defaults included; JSON types and paths. All but
                `resume` and `overwrite` are stored.
            overwrite: whether an earlier run in that folder may be removed. Folders that hold
                anything other than a run are never touched.

        Raises:
            ValueError: the folder holds something, or an option cannot be written as JSON.
        """
        stored = {name: options[name] for name in options if name not in OF_ONE_COMMAND}
        run = cls(path, program, as_json(stored))
        run.check_free(run.path, overwrite)
        check_inputs(run.path, options)
        clear_run(run.path)
        run.path.mkdir(parents=True, exist_ok=True)
        head = {"program": program, "format_version": FORMAT_VERSION}
        write_json(run.options_path, {**head, "options": run.options})  # from here on it is a run
        run._make_folders()
        return run

    @classmethod
    @contextlib.contextmanager
    def begin(
        cls,
        path: str | os.PathLike,
        program: str,
        options: dict,
        free: Iterable[str] = (),
        defaults: dict | None = None,
    ) -> Iterator["RunFolder | None"]:
        """Keeps other processes from writing into the folder, while inside; checks it before.

        Args:
            path: the folder.
            program: whose run it has to be.
            options: what the program was given, `resume` and `overwrite` (bool) among it.
            free: names of options that may have changed since.
            defaults: what an option stands at that the program did not have when the run began.

        Returns:
            Context manager; gives the run to resume, or None if `create` has to make one.

        Raises:
            ValueError: the folder is not free, another option has changed, another process writes
                there, or what `open` raises.
        """
        earlier = path, program, options, free, defaults
        cls._earlier(*earlier)  # raises before anything is written
        with locked(path, program):
            run = cls._earlier(*earlier)
            if run is not None:
                run._make_folders()
            yield run

    @classmethod
    def _earlier(cls, path, program, options, free, defaults):
        """Returns the run to resume, or None."""
        if not options["resume"] or not (pathlib.Path(path) / OPTIONS).exists():
            cls.check_free(path, options["overwrite"])
            check_inputs(path, options)
            return None
        run, now = cls.open(path, program), as_json(options)
        before = {**as_json(defaults or {}), **run.options}
        fixed = sorted(set(now) - {"run", *OF_ONE_COMMAND, *free})
        changed = [name for name in fixed if before.get(name) != now[name]]
        if changed:
            raise ValueError(
                f"{path} was begun with other options: {', '.join(changed)}. Leave them out: "
                "a resumed run uses the original ones. Or begin a new run in another folder."
            )
        return run

    @staticmethod
    def check_free(path: str | os.PathLike, overwrite: bool = False) -> None:
        """Raises what `create` would raise about the folder, and changes nothing."""
        path = pathlib.Path(path)
        if path.exists() and not path.is_dir():
            raise ValueError(f"Expected a folder for the run, but {path} is a file.")
        names = (item.name for item in path.glob("*"))
        found = sorted(name for name in names if name != LOCK and not is_temporary(name))
        if found and OPTIONS not in found:
            raise ValueError(
                f"{path} is neither empty nor a run folder (it holds {found[0]!r}): "
                "choose another folder for the run."
            )
        if found:
            head = read_head(path / OPTIONS)
            if not overwrite:
                raise ValueError(
                    f"{path} already holds a run of `tfreps {head['program']}`: resume it, remove "
                    "it, or choose another folder."
                )

    @classmethod
    def open(
        cls, path: str | os.PathLike, program: str | Iterable[str] | None = None
    ) -> "RunFolder":
        """Opens the folder of an earlier run.

        Args:
            path: the folder.
            program: the program, or programs, whose runs will do; None for any.

        Raises:
            ValueError: not a folder, no options.json, torn or foreign JSON, a run of another
                program or of another format version; a vocabulary or list that is not the one
                that the run was made with.
        """
        path = pathlib.Path(path)
        if not path.is_dir():
            raise ValueError(f"Expected a run folder, but {path} is not a folder.")
        head = read_head(path / OPTIONS)
        check_version(path, head["format_version"])
        wanted = (program,) if isinstance(program, str) else tuple(program or ())
        if wanted and head["program"] not in wanted:
            raise ValueError(
                f"{path} is a run of `tfreps {head['program']}`; expected one of "
                + " or ".join(f"`tfreps {name}`" for name in wanted)
                + "."
            )
        check_assets(path)
        return cls(path, head["program"], head["options"])

    def keep(self, path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
        """Has a file of the run written; one that is there since before has to be the same.

        Args:
            path: the file, such as `vocabulary_path`.
            write: function that writes it to the path that it is given.

        Raises:
            ValueError: a resumed run would get another.
        """
        with replacing(path) as temporary:
            write(temporary)
            if path.exists() and path.read_bytes() != temporary.read_bytes():
                raise ValueError(
                    f"{path} would be another one now: the training data have changed since the "
                    "run was begun. Resume with the original ones, or begin a new run."
                )
        record_asset(path)

    def _make_folders(self) -> None:
        self.logs_path.mkdir(exist_ok=True)
        self.checkpoints_path.mkdir(exist_ok=True)

    def write_results(self, results: dict) -> None:
        """Writes results.json anew."""
        write_json(self.results_path, as_json(results))

    def add_evaluation(self, program: str, figures: dict) -> str:
        """Adds what another program has measured to results.json, as `evaluation`.

        While a process writes into the folder, it is left alone.

        Returns:
            A sentence about what was done.
        """
        try:
            with locked(self.path, program):
                self.write_results({**self.results(), "evaluation": figures})
        except RunInUse as error:
            return f"{self.results_path} was not written: {error}"
        return f"Wrote {self.results_path}."

    def results(self) -> dict:
        """What results.json says; empty before anything was written."""
        return read_json(self.results_path) if self.results_path.exists() else {}

    def save_model(self, model) -> None:
        """Saves the model whole or not at all: the previous file stays until the end."""
        with replacing(self.model_path, durable=True) as temporary:
            model.save(temporary)

    def load_model(self, compile: bool = False):
        """The saved model. Nothing in the file is run as code.

        Args:
            compile: whether to restore optimizer, loss and metrics too.

        Raises:
            ValueError: no model was saved yet, or the file is torn or foreign, or holds code.
        """
        if not self.model_path.is_file():
            raise ValueError(f"{self.path} holds no {MODEL}: its run has not saved a model yet.")
        check_archive(self.model_path)
        register_classes()
        keras = importlib.import_module("keras")
        try:
            return keras.models.load_model(self.model_path, compile=compile, safe_mode=True)
        except Exception as error:  # zip, HDF5, JSON and Keras each have their own
            raise ValueError(refusal(self.model_path, error)) from error

    def vocabulary(self):
        """The run's vocabulary, a `tfreps.text.Vocabulary`."""
        from tfreps.text import Vocabulary

        return Vocabulary.read(self.vocabulary_path)


def read_head(path: pathlib.Path) -> dict:
    """What options.json of a run says, with its three keys in place."""
    if not path.is_file():
        raise ValueError(
            f"{path.parent} is not a run folder: it holds no {OPTIONS}. "
            "Expected the folder of a run of a tfreps program."
        )
    head = read_json(path)
    if set(head) != {"program", "format_version", "options"} or type(head["options"]) is not dict:
        raise ValueError(f"{path} was not written by a tfreps program; it holds {sorted(head)}.")
    return head


def check_version(path: pathlib.Path, version) -> None:
    """Raises a ValueError for a run folder of another version of tfreps."""
    if version != FORMAT_VERSION:
        is_older = type(version) is int and version < FORMAT_VERSION
        raise ValueError(
            f"{path} was written by {'an earlier' if is_older else 'another'} version of tfreps "
            f"(format {version!r}; this one reads {FORMAT_VERSION}): train it again, or use the "
            "version that wrote it."
        )


def run_files(path: str | os.PathLike) -> list[pathlib.Path]:
    """The files that a run has in its folder, which no program may take for its output."""
    return [item for name in CONTENTS if (item := pathlib.Path(path, name)).is_file()]


def check_inputs(path: str | os.PathLike, options: dict) -> None:
    """Raises a ValueError if an option names an input that is a part of the run in the folder."""
    run = pathlib.Path(path).resolve()
    parts = {run, *(run / name for name in CONTENTS)}
    for name in INPUTS:
        given = options.get(name) or ()
        for each in given if isinstance(given, list | tuple) else [given]:
            found = pathlib.Path(each).resolve()
            if run.exists() and (found in parts or parts & set(found.parents) - {run}):
                raise ValueError(
                    f"`{name}` {each} is in the folder {path}, whose run would be removed: choose "
                    "another folder for the new run."
                )


def clear_run(path: pathlib.Path) -> None:
    """Removes what a run has in its folder, and nothing else."""
    temporary = [item.name for item in path.glob(".*") if is_temporary(item.name)]
    for name in (*temporary, *reversed(CONTENTS)):  # options.json last: until then it is a run
        item = path / name
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink(missing_ok=True)


def register_classes() -> None:
    """Imports what registers every name that the file of a model may hold."""
    importlib.import_module("tfreps.models")
