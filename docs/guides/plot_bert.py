"""
BERT: load, fine-tune, pre-train on your text
=============================================

`BertEncoder` reads checkpoints from Google (``bert_model.ckpt``) and Hugging Face
(``model.safetensors`` or ``pytorch_model.bin``), with either gelu and with heads, and writes
folders that transformers reads. This guide loads a checkpoint, looks at its attention, fine-tunes
it, and pre-trains a small BERT on Python's own text.

.. image:: /images/drawn/bert.svg
   :class: drawn
   :alt: Token, position and segment tables, blocks of attention and feed-forward, and the heads.
"""

import os
import pathlib
import shlex
import tempfile

import keras
import matplotlib.pyplot as plt
import tensorflow as tf

import tfreps
from tfreps.__main__ import main

keras.utils.set_random_seed(6)
folder = pathlib.Path(tempfile.mkdtemp())


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, as a shell does."""
    os.chdir(folder)
    if main(shlex.split(command)):
        raise SystemExit(f"tfreps {command} failed")


# %%
# Load a checkpoint
# -----------------
#
# A published model is loaded by its address on the Hugging Face Hub, by a name of
# ``tfreps presets``, or from a folder:
#
# .. code-block:: python
#
#    bert = tfreps.models.BertEncoder.from_preset("hf://google-bert/bert-base-uncased")
#    bert = tfreps.models.BertEncoder.from_preset("bert_base_uncased", num_layers=6)
#    loaded = tfreps.load("hf://google-bert/bert-base-uncased")  # reads raw text
#
# This page is built without a network, so the code below reads a small folder in the format of
# Hugging Face instead. Every option of the configuration is used, or an error names the option that
# is not supported. The largest difference from transformers over 224 combinations of formats and
# heads is 5.8e-6 (``python -m benchmarks.bert_parity``, 2026-11-23).

pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "river", "bank", "##s", "was"]
pieces += ["by", "money", "in", "a", "good", "bad", "hotel", "very", "room", "."]
checkpoint = folder / "published"
small = tfreps.models.BertEncoder(len(pieces), hidden_dim=32, num_layers=3, num_heads=4)
small.save_pretrained(checkpoint)
(checkpoint / "vocab.txt").write_text("\n".join(pieces))

bert = tfreps.models.BertEncoder.from_pretrained(checkpoint, num_layers=2)  # the first two blocks
tokenizer = tfreps.text.checkpoint_tokenizer(checkpoint)
batch = tokenizer.batch(["The river banks", "by the bank."])
out = bert({name: batch[name] for name in ("token_ids", "segment_ids", "mask")})
print(tokenizer.tokenize("The river banks"), batch["token_ids"].tolist())
print({name: out[name].shape for name in ("sequence_output", "layer_outputs", "pooled_output")})

# %%
# Only the requested blocks are built. `tfreps.load` opens the same folder with its tokenizer and
# computes vectors of texts; the attention of all blocks and heads is an array.

loaded = tfreps.load(checkpoint)
attention = loaded.attention("the money in the bank by the river")
print(attention.probabilities.shape, attention.tokens)

figure = tfreps.plots.attention_figure(attention.probabilities, attention.tokens, layer=2, head=1)
image = plt.figure(figsize=(5, 5))
(folder / "attention.png").write_bytes(tfreps.plots.png_of(figure))
plt.imshow(plt.imread(folder / "attention.png"))
plt.axis("off")
plt.tight_layout()

# %%
# The weights are random here, so every token attends to all others about equally. As a command:
# ``tfreps plot attention RUN_OR_FOLDER --text "..." --layer 2 --head 1 --output attention.png``.
#
# Fine-tune it in ``fit``
# -----------------------
#
# A `Classifier` pools any encoder; mean and maximum do not need BERT's pooler. `GroupedOptimizer`
# gives the blocks smaller steps than the new head.

bert = tfreps.models.BertEncoder.from_pretrained(checkpoint, num_layers=2, pooler=False)
classifier = tfreps.models.Classifier(bert, ["bad", "good"], pooling="mean_max", dropout=0.1)
texts = ["a good room .", "the hotel was bad .", "very good hotel .", "a very bad room ."] * 8
labels = tf.constant([1, 0, 1, 0] * 8)
features = {name: tf.constant(value) for name, value in tokenizer.batch(texts).items()}
classifier.compile(
    tfreps.optimizers.GroupedOptimizer(
        keras.optimizers.Adam(1e-2),
        {"bert": keras.optimizers.Adam(1e-3)},
        members={"bert": bert.trainable_variables},
    )
)
history = classifier.fit(features, labels, batch_size=16, epochs=8, verbose=0).history
print([round(loss, 3) for loss in history["loss"]], history["accuracy"][-1])

# %%
# Pre-train on your own text
# --------------------------
#
# ``pretrain-bert`` reads one sentence per line with blank lines between documents, or records
# with two sentences. A WordPiece vocabulary comes with a checkpoint; ``build-vocabulary --tokens
# bert-characters`` builds a vocabulary of characters and whole Latin words from your text.

tfreps_command("demo-corpus --output corpus --max-tokens 12000")
tfreps_command("""
    build-vocabulary corpus/train-*.txt --tokens bert-characters --min-count 2
    --output vocabulary.txt
""")
tfreps_command("""
    pretrain-bert --size bert_nano --train corpus/train-*.txt --validation corpus/validation.txt
    --tokens characters --vocabulary vocabulary.txt --no-next-sentence --max-length 32
    --batch-tokens 1024 --epochs 2 --learning-rate 0.002 --run runs/bert
""")

# %%
# The run can be used wherever a checkpoint can:
#
# - ``tfreps train-tagger --encoder bert --bert runs/bert`` and ``train-classifier``;
#   ``--num-layers`` for the first blocks, ``--freeze-blocks``, ``--set layer_decay=0.9``,
#   ``--bert-learning-rate``.
# - ``tfreps convert runs/bert-reviews --output DIR --output-format hugging-face`` writes what
#   transformers reads.
# - ``tfreps convert published/bert-ner --output runs/bert-ner --scheme bio`` converts a published
#   tagger to a run folder, which can be evaluated, used and exported.

model = tfreps.load(folder / "runs" / "bert")
vectors = model("The function returns a list .")
print(vectors.tokens, vectors.vectors.shape)

# %%
# **How much text it needs.** On 30,171 reviews, after three passes over 4.3 million tokens, a BERT
# of 4 blocks of 256 units predicts 23% of the masked tokens, at a perplexity of 164, which is
# too little to help. Formulaic text is easier: on 3,821 Chinese CVs, the same size predicts three
# of four masked characters, which improves entity F1 by 0.021. Training on short texts first and
# then on whole ones is faster: see :doc:`/explanation/quality`.
#
# **Speed** (2026-11-22, two cores, random weights, texts of 128 tokens, float32): BERT-base runs
# at 1,925 tokens/s, 2.16 times the speed of transformers on PyTorch and 1.16 times that of
# KerasHub. Fine-tuning 3 blocks of 6 x 384 on texts as long as hotel reviews runs at 3,727
# tokens/s, 6.83 and 2.58 times their speed, since batches contain texts of similar length.
