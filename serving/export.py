"""Exports a model as a SavedModel that takes raw strings, or for ONNX Runtime or LiteRT.

A SavedModel needs only TensorFlow. With --format onnx or litert, the export needs no TensorFlow: a
small program, run.py, reads raw text.

The export becomes the next version in the folder: exports/elmo/1, exports/elmo/2 and so on. A
SavedModel includes warm-up requests for TensorFlow Serving (if the package tensorflow-serving-api
is installed). A README.md describes all inputs and outputs.

The signatures of a biLM are `default` (sentences), `tokens`, `vectors` (only one vector per
sentence), one named after the ids that the model reads (`character_ids`, `token_ids`, or
`word_character_ids` for a model of ELMoForManyLangs) and, if the model includes a softmax,
`initial_states` and `score`, which computes the losses of the language model. Published weights
that read token ids need --vocabulary FILE to export signatures that read text. The signatures of
taggers, classifiers and text embedders are `default` (raw text) and `tokens`; a BERT model has
`vectors`, too. Models with a biLM of ELMoForManyLangs can only be exported as a SavedModel.

--explain adds the signature `explain`. Depending on the model, it returns the 5 best tag sequences
and the marginal probabilities of the tags, attention weights, or the surprisal of each token (of a
biLM with a softmax). With --wordpiece, the texts of a BERT model are tokenized by TensorFlow Text,
which TensorFlow Serving includes.
"""

import shlex

from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.progress import say_progress
from tfreps._src.cli.tagged_files import SCHEMES
from tfreps._src.cli.text_streams import read_texts
from tfreps._src.text.tokenizers import TOKENIZERS

PORTABLE = {"onnx": "ONNX Runtime", "litert": "LiteRT"}
NOT_PORTABLE = "format=onnx|litert"
IN_INT8 = "format=onnx", "weight_dtype=int8"
ALIAS = "serving_default"  # name under which servers look up the signature `default`
COMMAND = Command(
    "export",
    __doc__,
    {
        "model": bilm_options.MODEL._replace(
            about="Model to export: a run folder of any model of tfreps, or a published model, "
            "given by path, name (see 'tfreps presets') or hf:// address.",
        )
    },
    [
        Group("model", "Published model, instead of a run folder.", {
            **bilm_options.OPTIONS,
            "scheme": Option(
                str, None, "Tag scheme of a published tagger; none for tags without spans. By "
                "default, it is detected from the names of the tags.", SCHEMES,
            ),
            "tokens": Option(
                str, None, "How a published BERT tagger splits raw text into words: as its "
                "tokenizer does (bert, the default), or a value of --tokens of 'tfreps "
                "train-tagger'.", [*TOKENIZERS, "bert"],
            ),
        }),
        Group("export", "Folder and contents of the export.", {
            "output": Option(
                str, None, "Folder to export to. Each export is written as the next version in "
                "this folder: DIR/1, DIR/2 and so on.", required=True, metavar="DIR",
            ),
            "format": Option(
                str, "saved_model", "Format of the export: a SavedModel for TensorFlow Serving and "
                "tfreps serve, ONNX for ONNX Runtime, or LiteRT, formerly TensorFlow Lite. ONNX "
                "and LiteRT need the extras onnx and litert of tfreps.", ["saved_model", *PORTABLE],
            ),
            "overwrite": Option(
                bool, False, "Replace README.md, models.config and batching.config in DIR even if "
                "tfreps export did not write them.", excludes=NOT_PORTABLE,
            ),
            "explain": Option(
                bool, False, "Add the signature explain. Depending on the model, it returns the "
                "best tag sequences and the marginal probabilities of the tags, the attention "
                "weights, or the surprisal (negative log probability in nats) of each token. "
                "Surprisal requires a biLM with a softmax.", excludes=NOT_PORTABLE,
            ),
            "wordpiece": Option(
                bool, False, "Tokenize the texts of a BERT model with an operation of TensorFlow "
                "Text. This is faster, but the export then also needs TensorFlow Text.",
                excludes=NOT_PORTABLE,
            ),
            "weight_dtype": Option(
                str, "float32", "Data type of the stored weights. Smaller types give smaller "
                "files, but slower calls of a SavedModel. With --format onnx, int8 gives faster "
                "calls, and bfloat16 is not available. The command prints how much the outputs "
                "change.",
                ["float32", "bfloat16", "int8"], excludes="format=litert",
            ),
        }),
        Group("check", "Test of the export.", {
            "check": Option(
                bool, False, "Load the export in a new process without tfreps and compare its "
                "outputs with those of the model. The version folder is created only if the "
                "outputs agree.", excludes=NOT_PORTABLE,
            ),
            "check_python": Option(
                str, None, "Python interpreter that loads the export for --check. Defaults to the "
                "interpreter that runs this command.", needs="check", metavar="FILE",
            ),
            "check_texts": Option(
                str, None, "UTF-8 text file with one text per line, for which the outputs of an "
                "ONNX model with int8 weights are compared with those in float32. Defaults to a "
                "few English and Chinese sentences.", needs=IN_INT8, metavar="FILE",
            ),
            "max_change": Option(
                float, 0.05, "Largest change of the outputs by int8 weights in an ONNX model: the "
                "share of tokens whose tags change, the share of texts whose labels change, or 1 "
                "minus the mean cosine similarity of the vectors. If the change is larger, no "
                "version is written.", at_least=0.0, needs=IN_INT8,
            ),
        }),
    ],
    (
        "tfreps export runs/ner --output exports/ner --explain --check",
        "tfreps export runs/ner --output exports/ner-onnx --format onnx",
        "tfreps export --elmo-config options.json --elmo-weights weights.hdf5 \\\n"
        "    --output exports/elmo",
    ),
    flags={**bilm_options.FLAGS, "core_ops=False": "--wordpiece"},
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(export, argv)


def export(options):
    path, how = bilm_options.chosen_model(options)
    given = {"scheme": options.scheme, "tokens": options.tokens}
    how |= {name: value for name, value in given.items() if value is not None}
    if options.format in PORTABLE:
        return export_portable(options, path, how)
    from tfreps._src.export.notes import check_notes
    from tfreps.export import open_for_export, weight_changes, write_export

    check_notes(options.output, options.overwrite)
    signatures = open_for_export(path, options.explain, not options.wordpiece, **how)
    say_progress("Writing the SavedModel, which can take a minute.", final=True)
    changes = weight_changes(signatures, options.weight_dtype)
    check = options.check_python or options.check
    written = write_export(signatures, options.output, check, options.overwrite)
    notes = [f"Note: {notice}" for notice in signatures.notices]
    say(options, written, [*([changes] if changes else []), *notes])


def export_portable(options, path, how):
    from tfreps.export import open_for_export, write_portable_export

    runtime = PORTABLE[options.format]
    texts = {}
    if options.check_texts is not None:
        blocks = read_texts(options.check_texts, at_once=1000)
        texts["check_texts"] = [text for block in blocks for text in block]
    signatures = open_for_export(path, **how)
    say_progress(f"Converting it for {runtime}, which can take a minute.", final=True)
    kind = options.weight_dtype
    form = {"format": options.format, "weight_dtype": kind, "max_change": options.max_change}
    written = write_portable_export(signatures, options.output, **form, **texts)
    print(f"Wrote {written.folder} ({written.size / 1e6:.1f} MB) for {runtime}.")
    wide = " in float32" if written.changes else ""
    print(f"Its outputs{wide} differ from the model's by at most {written.difference:.1e}.")
    if written.changes:
        print(written.changes)
    print(f"Its inputs and outputs are described in {written.folder / 'README.md'}.")
    print(f"Next: python {shlex.quote(str(written.folder / 'run.py'))} TEXT")


def say(options, written, remarks):
    size = sum(path.stat().st_size for path in written.folder.rglob("*"))
    names = ", ".join(name for name in written.functions if name != ALIAS)
    also = f" ({ALIAS} is the same as default)" if ALIAS in written.functions else ""
    print(f"Wrote {written.folder} ({size / 1e6:.1f} MB) with the signatures {names}{also}.")
    if written.difference is not None:
        print(
            "Checked in a new process without tfreps: the outputs differ from the model's by at "
            f"most {written.difference:.1e}."
        )
    for remark in remarks:
        print(remark)
    if written.num_warm_up is None:
        print("The export has no warm-up requests, which need tensorflow-serving-api.")
    if "default" in written.functions:
        print(f"Its inputs and outputs are described in {options.output}/README.md.")
        folder = shlex.quote(options.output)
        print(f"Next: tfreps predict {folder} TEXT, or tfreps serve {folder}")
    else:
        print("It reads token ids only. Give --vocabulary FILE for an export that reads text.")
        print(f"Its inputs and outputs are described in {options.output}/README.md.")
