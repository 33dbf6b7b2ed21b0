"""Exports a decoder: a small model from the scores of any token classifier to tags and spans.

The decoder finds the most probable sequence of tags that the tag scheme allows, its spans, and
their exact probabilities. It is written for ONNX Runtime, LiteRT or TensorFlow. With --transitions,
it uses the transition scores of a trained CRF, from a file of tfreps, pytorch-crf, AllenNLP, DeLFT
or TensorFlow Addons.

--join joins the decoder to an ONNX model. The result is one model from ids to spans.
"""

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.progress import say_progress
from tfreps._src.cli.tagged_files import SCHEMES

COMMAND = Command(
    "export-decoder",
    __doc__,
    {},
    [
        Group("tags", "Tags and their transition scores.", {
            "tags": Option(
                str, None, "File with one tag per line, in the order of the scores.",
                required=True, metavar="FILE",
            ),
            "scheme": Option(
                str, None, "Tag scheme, which defines the allowed transitions and the spans; none "
                "for tags without spans.", SCHEMES, required=True,
            ),
            "transitions": Option(
                str, None, "File with the transition scores of a CRF: .json, .npz, .safetensors or "
                ".h5. Without it, all transitions that the scheme allows have the score 0.",
                metavar="FILE",
            ),
            "unused_tags": Option(
                str, [], "Tags that are never predicted, such as <PAD>. They need not belong to "
                "the scheme.", many=True, metavar="NAME",
            ),
        }),
        Group("export", "Folder and contents of the export.", {
            "output": Option(
                str, None, "Folder to write. It must be empty or not exist.", required=True,
                metavar="DIR",
            ),
            "format": Option(
                str, "onnx", "Format of the decoder: ONNX for ONNX Runtime, LiteRT, or a "
                "SavedModel for TensorFlow. ONNX and LiteRT need the extras onnx and litert of "
                "tfreps.", ["onnx", "litert", "saved_model"],
            ),
            "word_starts": Option(
                str, None, "Name of another input, which is true on the first piece of each word. "
                "Only these pieces have tags, and spans count words.", metavar="NAME",
            ),
            "num_paths": Option(
                int, None, "Number of best tag sequences to return.",
                at_least=1,
            ),
            "no_probabilities": Option(
                bool, False, "Leave out all probabilities. The decoder is then smaller, and "
                "several times as fast for short sentences.",
            ),
        }),
        Group("join", "ONNX model to which the decoder is joined.", {
            "join": Option(
                str, None, "ONNX model whose scores are decoded. The result has the inputs of this "
                "model and the outputs of the decoder.", metavar="FILE", excludes=(
                    "format=litert|saved_model"
                ),
            ),
            "logits": Option(
                str, "logits", "Name of the model's tensor with one score per tag.", needs="join",
                metavar="NAME",
            ),
            "mask": Option(
                str, "attention_mask", "Name of the model's tensor that is not 0 on real tokens.",
                needs="join", metavar="NAME",
            ),
        }),
    ],
    (
        "tfreps export-decoder --tags tags.txt --scheme bio --output decoder",
        "tfreps export-decoder --tags tags.txt --scheme bio --transitions crf.safetensors \\\n"
        "    --format litert --output decoder",
        "tfreps export-decoder --tags tags.txt --scheme bio --join model.onnx \\\n"
        "    --word-starts word_starts --output tagger",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(export_decoder, argv)


def export_decoder(options):
    from tfreps.convert import read_transition_scores
    from tfreps.export import write_decoder
    from tfreps.tags import TagSet

    tags = TagSet.read(options.tags).names
    scores = options.transitions and read_transition_scores(options.transitions, tags)
    say_progress("Converting the decoder, which can take a minute.", final=True)
    written = write_decoder(
        options.output,
        tags,
        None if options.scheme == "none" else options.scheme,
        scores,
        options.format,
        options.word_starts,
        options.num_paths,
        options.unused_tags,
        not options.no_probabilities,
        options.join,
        options.logits,
        options.mask,
    )
    print(f"Wrote {written.file} ({written.size / 1e3:.0f} KB).")
    if not options.no_probabilities:
        print(f"Its probabilities differ from those of tfreps by at most {written.difference:.1e}.")
    print(f"Its inputs and outputs are described in {written.folder / 'README.md'}.")
