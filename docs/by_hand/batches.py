"""Batches: bilm-tf's streams of sentences for language models, and batches of similar lengths."""


def read_shards(shards, random=None):
    """Yields the sentences of all shards; `random` shuffles the shards and their sentences."""
    shards = list(shards)
    if random is not None:
        random.shuffle(shards)
    for shard in shards:
        sentences = list(shard)  # a whole shard is in memory
        if random is not None:
            random.shuffle(sentences)
        yield from sentences


def lm_batches(sentences, batch_size, unroll_steps, reverse=False, finish=False):
    """Yields (inputs, targets), each `[B][T]` tokens; each row continues in the next batch.

    The last, incomplete batch is dropped, as in bilm-tf. With `finish`, rows are filled up with
    None instead, until no row has a token left.
    """
    first, last = ("</S>", "<S>") if reverse else ("<S>", "</S>")
    sentences = iter(sentences)  # one iterator for all rows
    streams = [[] for _ in range(batch_size)]  # tokens that a row has yet to read
    while True:
        inputs = [[None] * unroll_steps for _ in range(batch_size)]
        targets = [[None] * unroll_steps for _ in range(batch_size)]
        ended = False
        for b in range(batch_size):
            for t in range(unroll_steps):
                if len(streams[b]) <= 1:  # the last token of a sentence is only a target
                    words = next(sentences, None)
                    if words is None:
                        ended = True
                        break
                    streams[b] = [first, *(words[::-1] if reverse else words), last]
                inputs[b][t], targets[b][t] = streams[b][:2]
                streams[b] = streams[b][1:]
        if ended and not finish or all(row[0] is None for row in inputs):
            return
        yield inputs, targets


def length_batches(lengths, batch_tokens):
    """Returns lists of sentence numbers, short sentences first.

    The rows of a batch times its longest sentence are at most `batch_tokens`.
    """
    batches = []
    for n in sorted(range(len(lengths)), key=lambda n: lengths[n]):
        if batches and (len(batches[-1]) + 1) * lengths[n] <= batch_tokens:
            batches[-1].append(n)
        else:
            batches.append([n])
    return batches


def padded_positions(batches, lengths):
    """Sum over the batches of rows times longest sentence."""
    return sum(len(batch) * max(lengths[n] for n in batch) for batch in batches)
