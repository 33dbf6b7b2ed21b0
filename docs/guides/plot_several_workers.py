"""
From one process to eight workers
=================================

The same command trains in one process, in several processes on one machine, and on several
machines. This guide trains a small biLM in one process and in two workers, compares the results,
and then shows the commands for eight machines. :doc:`/howto/several_devices` lists the rules.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

folder = pathlib.Path(tempfile.mkdtemp())


def tfreps_command(command):
    """Runs `tfreps COMMAND` in the folder of this guide, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tfreps", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    print(done.stdout)
    if done.returncode:
        raise SystemExit(done.stderr)


# %%
# Text
# ----
#
# Eight files of training text, so that each of eight workers can have its own.

tfreps_command("demo-corpus --output corpus --max-tokens 40000 --shards 8")
tfreps_command("build-vocabulary corpus/train-*.txt --output vocabulary.txt --min-count 4")

# %%
# One process
# -----------
#
# All runs of this guide have the options of one file. Dropout is 0 here only because its random
# masks depend on the number of workers; apart from rounding, each step is the same with any number.

options = {
    "size": "elmo_tiny",
    "units": 64,
    "projection_dim": 32,
    "train": ["corpus/train-*.txt"],
    "validation": ["corpus/validation.txt"],
    "vocabulary": "vocabulary.txt",
    "num_sampled": 256,
    "batch_size": 16,
    "steps": 30,
    "dropout": 0.0,
}
(folder / "elmo.json").write_text(json.dumps(options))
tfreps_command("pretrain-elmo --config elmo.json --run runs/one")

# %%
# Two workers on this machine
# ---------------------------
#
# ``tfreps launch`` starts the workers, and worker 0 prints. ``--batch-size`` is the number of rows
# of both workers together: each of them computes 8 of the 16 rows, and their gradients are summed
# before they are clipped and applied.

tfreps_command("launch --workers 2 -- pretrain-elmo --config elmo.json --run runs/two")

# %%
# The gradients of one step differ only by the rounding of float32. Over many steps, the weights
# drift apart, as between two machines with different processors
# (:doc:`/howto/several_devices` has measurements):


def perplexity(run):
    results = json.loads((folder / "runs" / run / "results.json").read_text())
    return results["best_validation"]["perplexity"]


for run in "one", "two":
    print(f"{run}: validation perplexity {perplexity(run):.4f}")

# %%
# The run folder is that of one process. An interrupted run can be resumed by another number of
# workers, since a checkpoint contains the states of all rows in order: in one process with
# ``tfreps pretrain-elmo --run runs/two --resume``, in four with
# ``tfreps launch --workers 4 -- pretrain-elmo --run runs/two --resume``.
#
# Each worker its own files
# -------------------------
#
# So far, every worker has read all of the text and used its rows of each batch. With
# ``--worker-data files``, a worker reads only its share of the files: of the eight files here,
# worker 0 has the first, the third, the fifth and the seventh. The batches then differ from those
# of one process, and the run must be resumed with the same number of workers.

tfreps_command("""
    launch --workers 2 -- pretrain-elmo --config elmo.json --worker-data files --run runs/files
""")
print(f"validation perplexity {perplexity('files'):.4f}")

# %%
# Eight workers
# -------------
#
# On eight machines, each process needs the addresses of all workers and its own number. They are in
# the environment variable ``TF_CONFIG``, which Kubernetes operators set, too
# (:doc:`/howto/kubernetes_training`):

addresses = [f"node{number}:2222" for number in range(8)]
for index in 0, 7:
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    print(f"export TF_CONFIG='{json.dumps(config)}'\n")

# %%
# The command is the same on all machines, and ends with ``--distribute multiworker``:
#
# .. code-block:: bash
#
#    tfreps pretrain-elmo --size elmo_original --train '/shared/corpus/train-*.txt' \
#        --validation /shared/corpus/validation.txt --vocabulary /shared/vocabulary.txt \
#        --batch-size 384 --worker-data files --run /shared/runs/elmo --distribute multiworker
#
# What must hold for eight workers:
#
# - The number of workers divides ``--batch-size``: each worker computes 48 of 384 rows.
# - With ``--worker-data files``, there are at least eight training files, of similar size.
# - The run folder is on a disk that all machines share. Worker 0 writes it.
# - The network is fast enough for the gradients: :doc:`/explanation/scaling` computes how many
#   workers are useful.
#
# If a machine fails, the other workers end within 10 to 20 seconds, with one sentence each. Start
# all of them again with ``--resume``. If the run was started with ``--deterministic``, the result
# is bit-identical to that of an uninterrupted run.
