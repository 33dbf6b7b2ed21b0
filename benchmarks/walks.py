"""Counts the functions and files of tfreps that a call enters, and lists them in their order.

    python -m benchmarks.walks
    python -m benchmarks.walks --only request --list

The walks are a BERT tagger that is trained up to its first batch, a trained tagger that is loaded
and called once, and a served model that responds to one REST request. The models are tiny. A
function is counted once for each walk. Imports, and functions without a name, are not counted.
"""

import contextlib
import inspect
import json
import pathlib
import sys
import tempfile
import threading
import urllib.request

from benchmarks.runner import chosen_rows, parse, print_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = "tfreps", "training", "serving"
PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] ada saw rome .".split()
LINES = "Ada B-PER\nsaw O\nRome B-LOC\n. O\n\n"
TEXT = "Ada saw Rome ."
WALKS = (
    "train-tagger --bert, up to the first batch",
    "load a tagger",
    "call a tagger",
    "a REST request",
)


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.walks",
        __doc__,
        only=("", "Print only walks whose name contains PART.", {"metavar": "PART"}),
        list=(False, "List the functions of each walk."),
    )
    chosen = chosen_rows(WALKS, options.only)
    with tempfile.TemporaryDirectory() as folder:
        walks = measure(pathlib.Path(folder))
    for name in chosen if options.list else ():
        print(f"\n{name}", *(f"  {file}: {function}" for file, function in walks[name]), sep="\n")
    rows = [[name, len(walks[name]), len({file for file, _ in walks[name]})] for name in chosen]
    print_table("walk | functions | files", rows)
    return 0


def measure(folder):
    """Returns a dict from each walk to its functions, as `(file, function)`, in their order.

    Args:
        folder: pathlib.Path. An empty folder, in which the models are written.
    """
    from tfreps import load
    from tfreps.export import open_for_export, write_export
    from tfreps.models import BertEncoder
    from tfreps.serving import ModelConfig, ModelServer, ServerOptions
    from tfreps.training import train_tagger

    bert, run, exported = (folder / name for name in ("bert", "run", "exported"))
    BertEncoder(len(PIECES), hidden_dim=4, num_layers=1, num_heads=2).save_pretrained(bert)
    (bert / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    (folder / "train.conll").write_text(LINES * 4, encoding="utf-8")
    command = ["--train", folder / "train.conll", "--validation", folder / "train.conll"]
    command += ["--scheme", "bio", "--encoder", "bert", "--bert", bert, "--run", run]
    with recorded(until="train_step") as trained, contextlib.redirect_stdout(sys.stderr):
        if train_tagger.main([str(word) for word in [*command, "--epochs", "1"]]):
            raise SystemExit("train-tagger failed")
    with recorded() as loaded:
        tagger = load(run)
    with recorded() as called:
        tagger(TEXT)

    write_export(open_for_export(tagger), exported)
    configs = [ModelConfig("tagger", str(exported))]
    # The server starts within the block, because `recorded` sees only threads that start there.
    with recorded() as served, ModelServer(configs, ServerOptions(rest_port=0)) as server:
        url = f"http://127.0.0.1:{server.rest_port}/v1/models/tagger:predict"
        served.clear()
        with urllib.request.urlopen(url, json.dumps({"instances": [TEXT]}).encode()) as response:
            json.load(response)
        records = [trained, loaded, called, dict(served)]
    return {name: entries(record) for name, record in zip(WALKS, records, strict=True)}


@contextlib.contextmanager
def recorded(until=None):
    """Context manager that yields a dict, to which each code object is added at its first call.

    The values are `(file, function)` for functions of tfreps, and `None` for all others. The calls
    are those of this thread, and of threads that start within the block.

    Args:
        until: str or None. Name of the function at whose first call the record ends.
    """
    found = {}

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code not in found:
            found[code] = of_tfreps(code)
            if code.co_name == until:
                sys.setprofile(None)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def of_tfreps(code):
    """Returns the file and the name of a function of tfreps, or `None` for other code objects."""
    path = pathlib.Path(code.co_filename)
    # Imports execute the bodies of modules and classes, which are not optimized.
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    if not is_function or not path.is_relative_to(ROOT):
        return None
    file = path.relative_to(ROOT)
    return (file.as_posix(), code.co_name) if file.parts[0] in FOLDERS else None


def entries(found):
    """Returns the functions of tfreps in a record, in the order of their first calls."""
    return list(dict.fromkeys(filter(None, found.values())))


if __name__ == "__main__":
    raise SystemExit(main())
