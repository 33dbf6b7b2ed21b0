"""decoder_model: a model from the scores of tags, and a mask, to tags, spans and probabilities."""

from collections.abc import Collection, Sequence

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.export.portable_model import PortableModel
from tfreps._src.models.tagger import Tagger
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.tags.tag_set import TagSet

LOGITS, MASK = "logits", "mask"
OUTPUTS = "tags", "confidences", "spans", "span_confidences"


def decoder_model(
    tags: Sequence[str],
    scheme: Scheme | None,
    transitions: Sequence[np.ndarray] | None = None,
    word_starts: str | None = None,
    num_paths: int | None = None,
    unused_tags: Collection[str] = (),
    probabilities: bool = True,
) -> tuple[Tagger, PortableModel]:
    """Creates a `Tagger` whose emissions are its input, and the function of a decoder.

    The arguments are those of `write_decoder`. The function takes a dict with `logits` float32
    `[B, T, K]`, `mask` bool `[B, T]` and, if `word_starts` is given, an input of this name, bool
    `[B, T]`. It returns the outputs that `write_decoder` describes.
    """
    tags = TagSet(tags).names
    _check_unused(tags, unused_tags)
    kept = [number for number, tag in enumerate(tags) if tag not in unused_tags]
    names = TagSet([tags[number] for number in kept], scheme).names
    specs = {LOGITS: tf.TensorSpec([None, None, len(tags)], "float32", LOGITS)}
    for name in (MASK, *([word_starts] if word_starts else [])):
        specs[name] = tf.TensorSpec([None, None], "bool", name)
    tagger = Tagger(_encoder(specs, kept), names, scheme, dropout=0.0, use_projection=False)
    if transitions is not None:
        tagger.crf.set_scores(*_scores_of(transitions, kept, len(tags)))

    def ids(found, real):  # from the tags of the tagger to all tags
        return found if len(kept) == len(tags) else tf.where(real, tf.gather(kept, found), 0)

    def function(inputs):
        found = tagger.tag(inputs) if probabilities else tagger._best_sequence(tagger(inputs))
        outputs = {name: found[name] for name in OUTPUTS if name in found}
        outputs["tags"] = ids(outputs["tags"], found["mask"])
        if num_paths is not None:
            paths, scores = tagger.decode(inputs, k=num_paths)  # [B, k, T], [B, k]
            there = tf.math.is_finite(scores)
            real = tf.expand_dims(found["mask"], 1) & tf.expand_dims(there, 2)
            outputs["path_tags"] = ids(paths, real)
            if probabilities:
                scores -= tf.expand_dims(tagger.log_normalizer(inputs), 1)
                outputs["path_probabilities"] = tf.where(there, tf.exp(scores), 0.0)
        return outputs

    about = {"tags": tags, "scheme": scheme, "span_types": tagger.span_types}
    return tagger, PortableModel("decoder", specs, function, lambda texts: {}, [], about)


def _encoder(specs, kept):
    """Returns a Keras model whose output is its input `logits`, with the mask of the tokens.

    `kept` are the ids of the tags whose scores the output contains.
    """
    inputs = {
        name: keras.Input(spec.shape[1:], dtype=spec.dtype.name, name=name)
        for name, spec in specs.items()
    }
    logits, *masks = inputs.values()
    if len(kept) < logits.shape[-1]:
        logits = keras.ops.take(logits, kept, axis=-1)
    mask = masks[0] if len(masks) == 1 else keras.ops.logical_and(*masks)
    return keras.Model(inputs, {"sequence_output": logits, "mask": mask})


def _scores_of(transitions, kept, size):
    """Returns the transition, start and end scores of the tags in `kept`, after a check."""
    names = "transitions", "start_scores", "end_scores"
    scores = dict(zip(names, map(np.asarray, transitions), strict=True))
    for name, array in scores.items():
        shape = (size,) * (2 if name == names[0] else 1)
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(
                f"`transitions` must contain finite {name} of shape {shape}, because there are "
                f"{size} tags; got shape {array.shape}. Give the scores of the same tags."
            )
    return [array[np.ix_(*[kept] * array.ndim)] for array in scores.values()]


def _check_unused(tags, unused_tags):
    if isinstance(unused_tags, str) or not set(unused_tags) < set(tags):
        raise ValueError(
            f"`unused_tags` must contain some of the {len(tags)} tags, but not all; got "
            f"{unused_tags!r}. Correct the tags."
        )
