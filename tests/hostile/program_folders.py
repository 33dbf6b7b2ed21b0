"""Hostile published weights and run folders, read by the programs."""

import contextlib
import io
import shutil

from tests import known_models, tiny_bert, tiny_run
from tests.bilm_tf_run import SIZE
from tests.convert.sentence_transformers_fixture import FOLDER
from tests.hostile.folders import folder_format
from tests.hostile.weight_files import forget, write_bilm, write_checkpoint
from tfreps.__main__ import main
from tfreps.models import Tagger
from tfreps.text import WordPieceTokenizer

TEXT = "the the the dog\nAda saw Rome\n"
TRAINING = "--epochs 1 --batch-size 2 --unroll-steps 2 --num-sampled 0".split()


def run_program(case, *arguments):
    """Runs a program that writes `out`, or prints a one-line error and writes nothing."""
    text = case.parent / "text.txt"
    output = case.parent / ("out.npy" if "OUT.npy" in arguments else "out")
    text.write_text(TEXT)
    errors = io.StringIO()
    try:
        paths = {"CASE": case, "OUT": output, "OUT.npy": output, "TEXT": text}
        words = [paths.get(word, word) for word in arguments]
        words = [str(word).replace("CASE/", f"{case}/") for word in words]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = main(words)
        assert code in (0, 2), f"exit code {code}"
        assert output.exists() == (code == 0), f"exit code {code}, output: {output.exists()}"
        if code:
            [line] = errors.getvalue().strip().split("\n")[-1:]
            assert line.startswith(f"tfreps {words[0]}: error: ") and len(line) > 40, line
        return code == 0
    finally:
        text.unlink()
        output.unlink() if output.is_file() else shutil.rmtree(output, ignore_errors=True)
        forget(None)


def write_published(folder):
    """Writes a biLM that can be trained further on the small text."""
    write_bilm(folder)
    tiny_run.VOCABULARY.write(folder / "vocabulary.txt")


def write_trained(folder):
    write_checkpoint(folder)
    tokens = ["<S>", "</S>", "<UNK>", *(f"w{n}" for n in range(SIZE - 3))]
    (folder / "vocabulary.txt").write_text("\n".join(tokens) + "\n")


def write_run(folder):
    tiny_run.make_run(folder)


def write_embedder(folder):
    shutil.copytree(FOLDER / "model", folder)


def write_bert(folder):
    tokenizer = WordPieceTokenizer(tiny_bert.pieces("the", "dog", "ada").vocabulary)
    model = Tagger(tiny_bert.make_encoder(tokenizer), ["O", "B-LOC"], use_crf=False)
    model.save_pretrained(folder)
    tokenizer.write_vocabulary(folder / "vocab.txt")


FILES = "--elmo-config", "CASE/options.json", "--elmo-weights", "CASE/weights.hdf5"
TO = "--output", "OUT"
TO_BILM_TF = *TO, "--output-format", "bilm-tf"
INIT = "--init", "CASE/weights.hdf5", "--vocabulary", "CASE/vocabulary.txt"
TRAINED = "--checkpoint", "CASE", "--vocabulary", "CASE/vocabulary.txt"
# Number of cases, function that writes the folder CASE, and program that reads it.
PROGRAMS = {
    "convert, HDF5": (150, write_published, "convert", *FILES, *TO),
    "convert, folder of bilm-tf": (80, write_trained, "convert", *TRAINED, *TO),
    "convert, BERT": (150, write_bert, "convert", "CASE", "--scheme", "bio", *TO),
    "convert, run folder": (80, write_run, "convert", "CASE", *TO_BILM_TF),
    "embed, HDF5": (150, write_published, "embed", *FILES, "TEXT", *TO),
    "embed, run folder": (150, write_run, "embed", "CASE", "TEXT", *TO),
    "embed, sentence-transformers": (
        40,
        write_embedder,
        "embed",
        "CASE",
        "TEXT",
        "--output",
        "OUT.npy",
    ),
    "tag": (150, known_models.tagger_run, "tag", "CASE", "TEXT", *TO),
    "classify": (100, known_models.classifier_run, "classify", "CASE", "TEXT", *TO),
    "export": (40, write_run, "export", "CASE", *TO),
    "pretrain-elmo --init": (
        *(40, write_published, "pretrain-elmo", *INIT, "--train", "TEXT", *TRAINING),
        *("--run", "OUT"),
    ),
}


def program_format(name, cases, write, *arguments):
    def read(case, random):
        run_program(case, *arguments)

    # TensorFlow retains memory for every traced function: 4 MB per run of `embed`.
    return folder_format(name, cases, write, read, seconds=20.0, megabytes=1024.0)


FORMATS = [program_format(name, *program) for name, program in PROGRAMS.items()]
