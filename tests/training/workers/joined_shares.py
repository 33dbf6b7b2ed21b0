"""Runs a program on one device with the batches that N workers with own files have together.

This is the oracle of `--worker-data files`. A batch consists of the rows of the first worker,
then those of the second one, and so on:

    python -m tests.training.workers.joined_shares N pretrain-elmo --train ... --run DIR
"""

import sys
import types

import tensorflow as tf

from tfreps import data
from tfreps._src.cli.commands import import_command, main
from tfreps.data import CorpusCounts, LMBatches, MaskedLMBatches, read_documents, sentence_batches


def joined(batches):
    """Returns one batch with the rows of several, padded with zeros to the same sizes."""
    features = {}
    for name in batches[0]:
        parts = [batch[name] for batch in batches]
        width = parts[0].shape.rank > 1 and tf.reduce_max([tf.shape(part)[1] for part in parts])
        features[name] = tf.concat([widened(part, width) for part in parts], 0)
    return features


def seeds(workers, options):
    """Returns the seed of each worker: the first has the seed of the run."""
    return [options["seed"] + index * 1_000_003 for index in range(workers)]


def widened(part, width):
    if part.shape.rank == 1:
        return part
    rest = [[0, 0]] * (part.shape.rank - 2)
    return tf.pad(part, [[0, 0], [0, width - tf.shape(part)[1]], *rest])


class JoinedLMBatches:
    """Batches of `LMBatches` over every N-th file. They have character ids instead of a table."""

    def __init__(self, workers, files, vocabulary, rows, steps, characters, **options):
        shares = [files[index::workers] for index in range(workers)]
        made = {**options, "characters": characters and "ids"}
        self.parts = [
            LMBatches(f, vocabulary, rows // workers, steps, **made | {"seed": seed})
            for f, seed in zip(shares, seeds(workers, options), strict=True)
        ]

    def count(self):
        return CorpusCounts(*map(sum, zip(*(part.count() for part in self.parts), strict=True)))

    def state(self, number):
        return number

    def dataset(self, number):
        datasets = [part.dataset().skip(number) for part in self.parts]
        return tf.data.Dataset.zip(*datasets).map(lambda *batches: joined(batches))


class JoinedMaskedLMBatches:
    """Batches of `MaskedLMBatches` over every N-th file. A worker may end before another."""

    def __init__(self, workers, documents, tokenizer, batch_tokens, **options):
        size = batch_tokens // workers
        self.parts = [
            MaskedLMBatches(each, tokenizer, size, **options | {"seed": seed})
            for each, seed in zip(documents, seeds(workers, options), strict=True)
        ]
        self.num_tokens = sum(part.num_tokens for part in self.parts)
        for name in "num_texts", "num_truncated", "num_left_out":
            setattr(self, name, sum(getattr(part, name) for part in self.parts))
        names = "num_tokens", "num_sentences", "num_documents", "num_unknown"
        totals = {name: sum(getattr(each, name) for each in documents) for name in names}
        self.documents = types.SimpleNamespace(**totals)

    def num_batches(self, epoch=0):
        return max(part.num_batches(epoch) for part in self.parts)

    def dataset(self, epoch=0, first_batch=0):
        spec = self.parts[0].dataset().element_spec

        def batches():
            streams = [iter(part.dataset(epoch)) for part in self.parts]
            for _ in range(self.num_batches(epoch)):
                found = [next(stream, None) for stream in streams]
                yield joined([batch for batch in found if batch is not None])

        return tf.data.Dataset.from_generator(batches, output_signature=spec).skip(first_batch)


def run(workers, line):
    elmo, bert = map(import_command, ("training.pretrain_elmo", "training.pretrain_bert"))
    replace(
        elmo,
        LMBatches=lambda *given, **options: JoinedLMBatches(workers, *given, **options),
        # The training perplexity is that of the first file.
        sentence_batches=lambda files, *given, **options: sentence_batches(
            files[:1], *given, **options
        ),
    )

    def read(files, *given):
        if len(files) == 1:  # the validation text
            return read_documents(files, *given)
        return [read_documents(files[index::workers], *given) for index in range(workers)]

    def batches(documents, *given, **options):
        if isinstance(documents, list):
            return JoinedMaskedLMBatches(workers, documents, *given, **options)
        return MaskedLMBatches(documents, *given, **options)

    replace(bert, read_documents=read, MaskedLMBatches=batches)
    return main(line)


def replace(program, **changes):
    """Replaces names of `tfreps.data` in one program."""
    names = {name: getattr(data, name) for name in data.__all__}
    program.data = types.SimpleNamespace(**{**names, **changes})


if __name__ == "__main__":
    raise SystemExit(run(int(sys.argv[1]), sys.argv[2:]))
