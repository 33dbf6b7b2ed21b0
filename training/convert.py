"""Converts between published weights of ELMo or BERT and run folders.

A run folder of a biLM is created from `options.json` and HDF5 weights of bilm-tf or AllenNLP, from
a folder that contains both, or from a model of ELMoForManyLangs; these weights do not include the
softmax. It can also be created from a training folder of bilm-tf (TensorFlow 1), which includes the
softmax. With --output-format bilm-tf, files for bilm-tf and AllenNLP are written: `options.json`,
`weights.hdf5`, a model card (`README.md`) and, if the model has a vocabulary, `vocabulary.txt`.

A run folder can also be created from a published BERT model with a label or tag head; the other
commands can then evaluate, apply and export the model. With --output-format hugging-face, the BERT
model of a run is written, with its head, in the format of Hugging Face transformers. A BERT model
without a head needs no conversion: pass its folder to --bert or to tfreps export.
"""

import pathlib
import shlex
import warnings

from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, as_flag, listed
from tfreps._src.cli.tagged_files import SCHEMES
from tfreps._src.files.atomic_files import is_free, replacing
from tfreps._src.files.json_files import read_json
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.text.tokenizers import TOKENIZERS

# Sets of options that name a model to convert. Checkpoints of bilm-tf, and biLMs that read token
# ids, need a vocabulary.
SOURCES = (
    {"model"},
    {"model", "scheme"},
    {"model", "tokens"},
    {"model", "scheme", "tokens"},
    {"elmo_config", "elmo_weights"},
    {"elmo_config", "elmo_weights", "vocabulary"},
    {"checkpoint", "vocabulary"},
)
COMMAND = Command(
    "convert",
    __doc__,
    {
        "model": Option(
            str, None, "Model to convert: a run folder or a published model, given by path, name "
            "(see 'tfreps presets') or hf:// address. Published models can be BERT models with a "
            "label or tag head, biLMs (options.json and HDF5 weights) or models of "
            "ELMoForManyLangs.", metavar="MODEL",
        )
    },
    [
        Group("from", "Model to convert.", {
            "elmo_config": bilm_options.OPTIONS["elmo_config"],
            "elmo_weights": bilm_options.OPTIONS["elmo_weights"],
            "checkpoint": Option(
                str, None, "Folder in which bilm-tf saved the options and checkpoints of a "
                "training run.", metavar="DIR",
            ),
            "vocabulary": Option(
                str, None, "Vocabulary file of the model. Required with --checkpoint, and with "
                "--elmo-weights if the biLM reads token ids.", metavar="FILE",
            ),
            "scheme": Option(
                str, None, "Tag scheme of a published BERT model for token classification; none "
                "for tags without spans. By default, it is detected from the names of the tags. If "
                "config.json does not name the type of the head, this option is required to read "
                "the head as a tag head.", SCHEMES,
            ),
            "tokens": Option(
                str, None, "How a published BERT tagger splits raw text into words: as its "
                "tokenizer does (bert, the default), or a value of --tokens of 'tfreps "
                "train-tagger'.", [*TOKENIZERS, "bert"],
            ),
        }),
        Group("to", "Folder to write, and its format.", {
            "output": Option(
                str, None, "New folder for the converted model.", required=True, metavar="DIR"
            ),
            "output_format": Option(
                str, "run", "Format of the folder: a run folder (run), or the format of bilm-tf "
                "and AllenNLP (bilm-tf) or of Hugging Face transformers (hugging-face).",
                ["run", "bilm-tf", "hugging-face"],
            ),
        }),
    ],
    (
        "tfreps convert --elmo-config options.json --elmo-weights weights.hdf5 --output runs/elmo",
        "tfreps convert runs/elmo --output published --output-format bilm-tf",
        "tfreps convert published/bert-for-reviews --output runs/reviews",
    ),
    flags=bilm_options.FLAGS,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(convert, argv)


def convert(options):
    check(options)
    {"run": create_run, "bilm-tf": published, "hugging-face": published_bert}[
        options.output_format
    ](options)


def check(options):
    given = {n for n, value in vars(options).items() if value and not n.startswith("output")}
    if given not in (SOURCES if options.output_format == "run" else SOURCES[:1]):
        flags = [as_flag(name) if name != "model" else "MODEL" for name in sorted(given)]
        expected = (
            "MODEL [--scheme NAME] [--tokens NAME], or --elmo-config FILE --elmo-weights FILE "
            "[--vocabulary FILE], or --checkpoint DIR --vocabulary FILE"
        )
        if options.output_format != "run":
            expected = f"only MODEL with --output-format {options.output_format}"
        raise ValueError(f"Expected {expected}; got {listed(flags) or 'no source'}.")
    if not is_free(options.output):
        raise ValueError(
            f"--output must be a new or empty folder; {options.output} is neither. Choose another "
            "folder."
        )


def published(options):
    """Writes the biLM of a run folder in the format of bilm-tf and AllenNLP."""
    from tfreps._src.convert.model_cards import write_model_card
    from tfreps._src.inference.model_loading import load_as
    from tfreps._src.inference.text_bilm import TextBiLM
    from tfreps._src.runs.run_card import run_card

    found, target = load_as(TextBiLM, options.model), options.output
    if found.word_characters is not None:
        raise ValueError(
            f"{options.model} contains {found.kind}, whose words and Unicode characters the format "
            "of bilm-tf cannot represent. To write a run folder, omit --output-format."
        )
    with warnings.catch_warnings(record=True) as noted, replacing(target, parents=True) as folder:
        warnings.simplefilter("always", UserWarning)
        folder.mkdir()
        found.bilm.save_pretrained(folder)
        if found.vocabulary is not None:
            found.vocabulary.write(folder / "vocabulary.txt")
        known = {} if found.run is None else run_card(found.run)
        write_model_card(found.bilm, folder, pathlib.Path(target).name, known)
    files = ", ".join(sorted(path.name for path in pathlib.Path(target).iterdir()))
    print(f"Wrote {target}: {files}. The format does not include a softmax.")
    for note in noted:
        print(f"warning: {note.message}")
    if not noted:
        print(f'Next, in AllenNLP: Elmo("{target}/options.json", "{target}/weights.hdf5", 1)')


def published_bert(options):
    """Writes the BERT model of a run folder, with its head, in the format of transformers."""
    from tfreps._src.runs.bert_publishing import write_published
    from tfreps._src.text.bert.tokenizer_files import OWN

    run = RunFolder.open(options.model)
    with replacing(options.output, parents=True) as folder:
        kind = write_published(run, folder, pathlib.Path(options.output).name)
    folder = options.output
    files = ", ".join(sorted(path.name for path in pathlib.Path(folder).iterdir()))
    print(f'Wrote {folder}: {files}.\nNext, in transformers: {kind}.from_pretrained("{folder}")')
    if OWN in files:
        print(
            f"transformers has no tokenizer for this model: {OWN} is for "
            "tfreps.text.checkpoint_tokenizer, which returns the ids that the model reads."
        )


def create_run(options):
    """Creates a run folder from a published model or a training folder of bilm-tf."""
    from tfreps import load
    from tfreps._src.inference.text_bilm import TextBiLM
    from tfreps._src.inference.text_model import TextModel
    from tfreps.text import Vocabulary

    vocabulary = Vocabulary.read(options.vocabulary) if options.vocabulary else None
    if options.elmo_config:
        # The vocabulary of a biLM that reads characters is only copied.
        reads_words = "char_cnn" not in read_json(pathlib.Path(options.elmo_config))
        own = vocabulary if reads_words else None
        trained = load(options.elmo_config, weights_file=options.elmo_weights, vocabulary=own)
    else:
        source = options.model or options.checkpoint
        how = {"scheme": options.scheme, "tokens": options.tokens}
        trained = load(source, vocabulary=vocabulary, **how)
    if trained.run is not None:
        raise ValueError(
            f"MODEL must be a published model; {options.model} is already a run folder."
        )
    if isinstance(trained, TextBiLM):
        run_from_bilm(options, trained, vocabulary)
    elif isinstance(trained, TextModel) and trained.tokenizer is None:
        raise ValueError(
            f"{options.model} needs no conversion. Pass its name or folder to tfreps tag, tfreps "
            "export or --init."
        )
    elif isinstance(trained, TextModel):
        run_from_bert(options, trained)
    else:
        raise ValueError(
            f"{options.model} has no label or tag head, so it needs no conversion. Pass its "
            "folder to tfreps export or to --bert."
        )


def run_from_bilm(options, trained, vocabulary):
    """Creates a run folder from a `BiLM`, or from the `BiLMPretrainer` of a training folder."""
    from tfreps.models import BiLMPretrainer
    from tfreps.text import Vocabulary

    model, run, vocabulary = trained.model, options.output, vocabulary or trained.vocabulary
    has_softmax = isinstance(model, BiLMPretrainer)
    if options.checkpoint and not has_softmax:
        raise ValueError(
            f"--checkpoint must be a training folder of bilm-tf; got {options.checkpoint}."
        )
    beside = pathlib.Path(options.model or "") / "vocabulary.txt"
    if options.model and vocabulary is None and beside.is_file():
        vocabulary = Vocabulary.read(beside)
    if vocabulary is None and trained.bilm._ids_name == "token_ids":
        raise ValueError(
            f"--vocabulary is missing. The biLM of {options.model or options.elmo_weights} reads "
            "token ids and needs the vocabulary file with which it was trained. Give "
            "--elmo-config, --elmo-weights and --vocabulary, or a folder that contains the file as "
            "vocabulary.txt."
        )
    with replacing(run, parents=True) as folder:
        created = RunFolder.create(folder, COMMAND.name, vars(options))
        if vocabulary is not None:
            created.write_asset(created.vocabulary_path, vocabulary.write)
        if trained.word_characters is not None:
            created.write_asset(created.word_characters_path, trained.word_characters.write)
        created.save_model(model)
    print(f"Wrote {run}: {model.count_params():,} parameters, ", end="")
    name = shlex.quote(str(run))
    if has_softmax:
        print(
            f"softmax over {len(vocabulary):,} tokens included.\n"
            f"Next: tfreps evaluate-lm {name} --text FILE, tfreps embed {name}, or tfreps export "
            f"{name} --output DIR. The run folder does not\ninclude the accumulators of Adagrad. "
            "To continue training with them: tfreps pretrain-elmo --init "
            f"{shlex.quote(str(options.checkpoint))}."
        )
    else:
        print(
            "without the softmax.\n"
            f"Next: tfreps embed {name} FILE --output FILE, tfreps export {name} --output DIR, or "
            + (
                f"tfreps pretrain-elmo --init {name} to train it on your own text."
                if trained.word_characters is None
                else f"tfreps train-tagger --elmo {name}."
            )
        )


def run_from_bert(options, trained):
    """Creates a run folder from a published BERT model with a label or tag head."""
    from tfreps._src.runs.bert_publishing import write_labeling_run
    from tfreps.models import BertEncoder

    model, tokenizer = trained.model, trained.tokenizer
    run, given = options.output, {"bert": options.model, "tokens": options.tokens or "bert"}
    given["scheme"] = getattr(trained, "scheme", None)
    with replacing(run, parents=True) as folder:
        write_labeling_run(model, tokenizer, folder, given)
    ask = "tag" if trained.is_tagger else "classify"
    spare = model.find(BertEncoder).vocabulary_size - len(tokenizer.vocabulary)
    if spare:
        print(f"{spare:,} rows of the embedding table belong to no token of the vocabulary.")
    name = shlex.quote(str(run))
    print(
        f"Wrote {run}: {model.count_params():,} parameters and the tokenizer.\n"
        f"Next: tfreps {ask} {name} FILE, tfreps evaluate {name} --data FILE, or tfreps export "
        f"{name} --output DIR."
    )
