"""Draws the architecture of each model as an SVG file, when the site is built."""

import io
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "images" / "drawn"
FILL = {"data": "#e8e8e8", "layer": "#cfe2f3", "head": "#fce5cd", "file": "#d9ead3"}
LINE, TEXT = "#7d8590", "#16191d"


class Canvas:
    """Boxes and arrows on a grid, without a background, for light and dark themes.

    Args:
        width, height: float. Size of the figure in its own units.
    """

    def __init__(self, width, height):
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(width * 0.62, height * 0.62))
        self.axes = self.figure.add_axes([0, 0, 1, 1])
        self.axes.set(xlim=(0, width), ylim=(0, height))
        self.axes.axis("off")

    def box(self, x, y, width, text, kind="layer", height=0.8):
        """Draws a box around text from its lower left corner; returns its (middle, bottom, top)."""
        from matplotlib.patches import FancyBboxPatch

        style = "round,pad=0,rounding_size=0.12"
        self.axes.add_patch(
            FancyBboxPatch((x, y), width, height, style, facecolor=FILL[kind], edgecolor=LINE)
        )
        self.axes.text(
            x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=10, color=TEXT
        )
        return x + width / 2, y, y + height

    def arrow(self, start, end, both=False, curve=0.0):
        """Draws an arrow from one point to another."""
        self.axes.annotate(
            "",
            end,
            start,
            arrowprops={
                "arrowstyle": "<|-|>" if both else "-|>",
                "color": LINE,
                "shrinkA": 0,
                "shrinkB": 0,
                "connectionstyle": f"arc3,rad={curve}",
            },
        )

    def up(self, lower, upper):
        """Draws a vertical arrow from a box to the one above it."""
        x = (lower[0] + upper[0]) / 2 if abs(lower[0] - upper[0]) < 1e-6 else lower[0]
        self.arrow((x, lower[2]), (upper[0], upper[1]))

    def note(self, x, y, text, align="left", size=9.5):
        """Writes text next to the boxes."""
        self.axes.text(x, y, text, ha=align, va="center", fontsize=size, color=LINE)

    def write(self, name):
        file = io.StringIO()
        self.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        text = re.sub(r"<\?xml.*?<svg", "<svg", file.getvalue(), flags=re.S)
        path = FOLDER / f"{name}.svg"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stack(canvas, x, width, rows, start=0.2, step=1.25):
    """Draws boxes one above the other, joined by arrows. `rows` are (text, kind), bottom first."""
    boxes = []
    for number, (text, kind) in enumerate(rows):
        boxes.append(canvas.box(x, start + number * step, width, text, kind))
        if number:
            canvas.up(boxes[-2], boxes[-1])
    return boxes


def elmo():
    canvas = Canvas(11.4, 8.4)
    chars = canvas.box(0.2, 0.2, 7.6, "character ids  [B, T, 50]", "data")
    cnn = canvas.box(0.2, 1.45, 7.6, "character CNN, highway layers, projection  [B, T, P]")
    canvas.up(chars, cnn)
    below = {0.2: cnn, 4.2: cnn}
    for layer in (1, 2):
        for x, way in ((0.2, "forward"), (4.2, "backward")):
            box = canvas.box(x, 1.45 + layer * 1.25, 3.6, f"{way} LSTM {layer}  [B, T, P]")
            canvas.arrow((box[0], below[x][2]), (box[0], box[1]))
            below[x] = box
    mix = canvas.box(0.2, 5.2, 7.6, "scalar mix of 3 layers  [B, T, 2P]", "head")
    for x in (0.2, 4.2):
        canvas.arrow((below[x][0], below[x][2]), (below[x][0], mix[1]))
    canvas.box(0.2, 6.45, 7.6, "elmo_representations  [B, T, 2P]", "data")
    canvas.arrow((4.0, 6.0), (4.0, 6.45))
    for y, text in (
        (0.6, "UTF-8 bytes of each token"),
        (1.85, "layer 0, free of context"),
        (3.1, "layer 1"),
        (4.35, "layer 2, plus its input (skip)"),
        (5.6, "softmax weights and gamma"),
    ):
        canvas.note(8.1, y, text)
    canvas.write("elmo")


def tagger():
    canvas = Canvas(11.4, 7.2)
    tokens = ["Ada", "Lovelace", "lived", "here"]
    tags = ["B-PER", "I-PER", "O", "O"]
    below = []
    for number, token in enumerate(tokens):
        x = 0.2 + number * 2.0
        word = canvas.box(x, 0.2, 1.7, token, "data")
        vector = canvas.box(x, 1.45, 1.7, "vectors")
        canvas.up(word, vector)
        below.append(vector)
    encoder = canvas.box(0.2, 2.7, 7.7, "encoder: BiLSTM, S-LSTM, Transformer, BERT, ELMo ...")
    chain = []
    for number, vector in enumerate(below):
        x = 0.2 + number * 2.0
        canvas.arrow((vector[0], vector[2]), (vector[0], encoder[1]))
        scores = canvas.box(x, 3.95, 1.7, "K scores")
        canvas.arrow((scores[0], encoder[2]), (scores[0], scores[1]))
        tag = canvas.box(x, 5.2, 1.7, tags[number], "head")
        canvas.up(scores, tag)
        chain.append((x, tag))
    for (x, tag), _ in zip(chain, chain[1:], strict=False):
        canvas.arrow((x + 1.7, (tag[1] + tag[2]) / 2), (x + 2.0, (tag[1] + tag[2]) / 2), both=True)
    canvas.note(0.2, 6.5, "start score", "left")
    canvas.note(7.9, 6.5, "end score", "right")
    for y, text in (
        (1.85, "words, characters, ELMo"),
        (3.1, "[B, T, D]"),
        (4.35, "emissions [B, T, K]"),
        (5.6, "CRF: transitions [K, K]"),
    ):
        canvas.note(8.2, y, text)
    canvas.write("tagger")


def slstm():
    canvas = Canvas(11.4, 6.6)
    rows, boxes = ["words x, step 0", "step 1", "step 2"], []
    sentence = [canvas.box(8.6, 0.9 + r * 1.9, 2.4, f"sentence g{r}", "head") for r in range(3)]
    for row, _ in enumerate(rows):
        y = 0.9 + row * 1.9
        boxes.append([canvas.box(0.2 + c * 2.0, y, 1.6, f"h{c + 1}", "layer") for c in range(4)])
    for row in (1, 2):
        for c, box in enumerate(boxes[row]):
            for n in (c - 1, c, c + 1):
                if 0 <= n < 4:
                    lower = boxes[row - 1][n]
                    canvas.arrow((lower[0], lower[2]), (box[0], box[1]))
        lower = sentence[row - 1]
        canvas.arrow((lower[0], lower[2]), (sentence[row][0], sentence[row][1]))
        canvas.arrow((8.6, lower[1] + 0.6), (boxes[row][3][0] + 0.6, boxes[row][3][1]))
        last = boxes[row - 1][3]
        canvas.arrow((last[0] + 0.8, last[2] - 0.2), (8.8, sentence[row][1]))
    for row, text in enumerate(rows):
        canvas.note(0.2, 0.55 + row * 1.9, text)
    canvas.note(
        0.2, 6.15, "each step: every word reads itself, its neighbors, its input and the sentence"
    )
    canvas.write("slstm")


def bert():
    canvas = Canvas(11.4, 8.4)
    boxes = stack(
        canvas,
        0.2,
        6.6,
        [
            ("[CLS] the river ##s [SEP]", "data"),
            ("token + position + segment, layer norm", "layer"),
            ("self-attention, H heads", "layer"),
            ("feed-forward, gelu", "layer"),
            ("sequence_output  [B, T, D]", "data"),
        ],
    )
    for number in (2, 3):
        y = boxes[number][1] - 0.22
        canvas.arrow((6.8, y), (6.8, boxes[number][2] + 0.2), curve=0.9)
    canvas.note(7.4, 3.1, "num_layers layers; each part with")
    canvas.note(7.4, 2.7, "a residual connection and layer norm")
    first = canvas.box(0.2, 6.45, 3.1, "masked LM head", "head")
    second = canvas.box(3.7, 6.45, 3.1, "pooler: next sentence,\nlabels", "head", height=1.0)
    canvas.arrow((1.75, boxes[-1][2]), (first[0], first[1]))
    canvas.arrow((5.25, boxes[-1][2]), (second[0], second[1]))
    canvas.note(7.4, 6.85, "heads of pre-training and fine-tuning")
    canvas.write("bert")


def classifier():
    canvas = Canvas(11.4, 6.0)
    stack(
        canvas,
        0.2,
        6.6,
        [
            ("tokens  [B, T]", "data"),
            ("encoder: TextCNN, BiLSTM, S-LSTM, BERT ...", "layer"),
            ("pooling: mean, max, attention, first ...", "layer"),
            ("label scores  [B, labels]", "head"),
        ],
    )
    linear = canvas.box(7.4, 1.45, 3.6, "linear model of n-grams")
    canvas.arrow((linear[0], linear[2]), (linear[0], 4.35))
    canvas.arrow((linear[0], 4.35), (6.8, 4.35))
    canvas.arrow((6.8, 0.6), (linear[0], linear[1]))
    canvas.note(7.4, 4.75, "optional, its scores are added")
    canvas.write("classifier")


def path():
    canvas = Canvas(16.2, 3.6)
    steps = [
        ("text files", "file"),
        ("tfreps train-*\ntfreps pretrain-*", "layer"),
        ("run folder", "file"),
        ("tfreps export", "layer"),
        ("SavedModel", "file"),
        ("tfreps serve,\nTensorFlow Serving", "layer"),
    ]
    boxes = []
    for number, (text, kind) in enumerate(steps):
        x = 0.1 + number * 2.7
        boxes.append(canvas.box(x, 1.5, 2.4, text, kind, height=1.0))
        if number:
            canvas.arrow((x - 0.3, 2.0), (x, 2.0))
    load = canvas.box(4.7, 0.1, 4.0, "tfreps.load: predictions in Python", "head")
    canvas.arrow((boxes[2][0], 1.5), (load[0], load[2]))
    published = canvas.box(4.7, 2.8, 4.0, "published weights", "file")
    canvas.arrow((published[0], published[1]), (boxes[2][0], 2.5))
    canvas.write("path")


def draw(*_):
    """Writes the SVG files of all models into a folder that git ignores."""
    in_one_style(elmo, tagger, slstm, bert, classifier, path)


def in_one_style(*figures):
    """Calls functions that write figures, with settings that give the same files each time."""
    import matplotlib

    FOLDER.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "tfreps", "font.family": "DejaVu Sans"}):
        for make in figures:
            make()


def setup(app):
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    draw()
