"""Measures how fast one process reads text and makes batches for `pretrain-bert`.

    python -m benchmarks.masked_lm_batches
    python -m benchmarks.masked_lm_batches --megabytes 100 --max-length 512

The text consists of the help topics of Python, repeated; each line is a sentence, and each topic is
a document. The WordPiece vocabulary contains the frequent words and all characters of the text. The
program prints JSON with the tokens per second of reading (`read_documents`, once per run) and of
making batches (`MaskedLMBatches`, in every epoch). Run nothing else on the machine.
"""

import collections
import json
import pathlib
import statistics
import tempfile
import time

from benchmarks.runner import parse, print_machine, spread
from benchmarks.topics_text import lines, peak_megabytes, write_lines
from tfreps.data import MaskedLMBatches, read_documents
from tfreps.text import WordPieceTokenizer


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.masked_lm_batches",
        __doc__,
        megabytes=(30, "Size of the text in MB."),
        batch_tokens=(4096, "Maximum number of tokens in a batch, padding included."),
        max_length=(128, "Maximum number of tokens in a text."),
        repeats=(3, "Number of timed epochs."),
    )
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(pathlib.Path(folder), options), indent=1, ensure_ascii=False))
    return 0


def measure(folder, options):
    """Reads a small file to warm up, then times a large one."""
    tokenizer = make_tokenizer()
    read_documents(write_lines(folder / "small.txt", 1, documents=True), tokenizer)
    path = write_lines(folder / "large.txt", options.megabytes, documents=True)
    memory = peak_megabytes()
    begin = time.perf_counter()
    documents = read_documents(path, tokenizer)
    reading = documents.num_tokens / (time.perf_counter() - begin)
    grown = peak_megabytes() - memory
    sizes = {"batch_tokens": options.batch_tokens, "max_length": options.max_length}
    batches = MaskedLMBatches(documents, tokenizer, **sizes)
    one_epoch(batches, 0)
    rates = [one_epoch(batches, epoch) for epoch in range(1, options.repeats + 1)]
    return {
        "read_tokens_per_second": round(reading),
        "batch_tokens_per_second": round(statistics.median(rates)),
        "spread": spread(rates),
        "tokens": documents.num_tokens,
        "memory_growth_of_reading_MB": round(grown, 1),
        **vars(options),
    }


def make_tokenizer():
    words = collections.Counter(word for line in lines() for word in line.lower().split())
    frequent = [word for word, count in words.most_common(8000) if word.isalpha() and count > 2]
    letters = sorted(set("".join(words)))
    pieces = [*letters, *("##" + letter for letter in letters), *frequent]
    return WordPieceTokenizer([*WordPieceTokenizer.SPECIAL_TOKENS, *dict.fromkeys(pieces)])


def one_epoch(batches, epoch):
    """Returns the tokens per second of an epoch, padding excluded, from the second batch on."""
    iterator = iter(batches.dataset(epoch))
    next(iterator)
    begin, tokens = time.perf_counter(), 0
    for batch in iterator:
        tokens += int((batch["token_ids"].numpy() != batches.tokenizer.padding_id).sum())
    return tokens / (time.perf_counter() - begin)


if __name__ == "__main__":
    raise SystemExit(main())
