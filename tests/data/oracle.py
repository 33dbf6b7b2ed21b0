"""bilm-tf's batch generator, written down from its description (elmo.md 2.8) with plain lists."""


def oracle_batches(lines, vocabulary, batch_size, unroll_steps, reverse=False, finish=False):
    """Yields (inputs, targets): for each row a list of (word, id), the words as strings.

    Without `finish` it ends as bilm-tf does, dropping the batch in progress; with it, the rows
    go on until all are empty, and missing positions are None.
    """
    first, last = ("</S>", "<S>") if reverse else ("<S>", "</S>")
    sentences = iter(lines)
    streams = [[] for _ in range(batch_size)]
    while True:
        inputs, targets, ended = [], [], False
        for row in range(batch_size):
            inputs.append([])
            targets.append([])
            while len(inputs[row]) < unroll_steps:
                if len(streams[row]) <= 1:
                    line = next(sentences, None)
                    if line is None:
                        ended = True
                        break
                    words = line.split()
                    streams[row] = [first, *(words[::-1] if reverse else words), last]
                inputs[row].append(streams[row][0])
                targets[row].append(vocabulary.ids([streams[row][1]])[0])
                streams[row] = streams[row][1:]
            missing = unroll_steps - len(inputs[row])
            inputs[row] += [None] * missing
            targets[row] += [None] * missing
        if ended and not finish or all(word is None for row in inputs for word in row):
            return
        yield inputs, targets
