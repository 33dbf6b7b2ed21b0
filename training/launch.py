"""Starts a training command as several worker processes on this machine.

With --workers N, the command after -- is run N times with --distribute multiworker. In each
process, the environment variable TF_CONFIG specifies which worker it is. The output of worker 0 is
unchanged; the output lines of the others begin with [worker 1], [worker 2] and so on. If a worker
fails, the others receive SIGTERM and, if they are still running 10 seconds later, SIGKILL; one line
on standard error says which worker failed, and the exit code of that worker is returned (128 + n if
signal n killed it). Ctrl-C or SIGTERM is passed on to all workers once, so that they save a
checkpoint, and the exit code is that of worker 0; a second signal kills them. If the launcher
itself is killed, so are the workers (on Linux only). Every worker sees all GPUs.

A step has the gradients of a step of one process, up to float32 rounding. Over many steps, the
weights drift apart, because the optimizer enlarges this rounding.
"""

import os
import sys

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, listed
from tfreps._src.cli.standard_streams import say
from tfreps.training.workers.cluster import NAME
from tfreps.training.workers.local_workers import local_addresses, run_workers, threads_per_worker

TRAINING = ["pretrain-elmo", "pretrain-bert", "train-tagger", "train-classifier"]
DISTRIBUTE = ["--distribute", "multiworker"]
COMMAND = Command(
    "launch",
    __doc__,
    {
        "command": Option(
            str, None, "Training command and its arguments, after --. The command is "
            f"{listed(TRAINING, 'or')}.", many=True, required=True, metavar="COMMAND",
        )
    },
    [
        Group("workers", "Processes and their ports.", {
            "workers": Option(
                int, None, "Number of worker processes.", required=True, at_least=1, at_most=256
            ),
            "port": Option(
                int, None, "Port of worker 0; the other workers use the ports after it. By "
                "default, free ports are chosen.", at_least=1, at_most=65535,
            ),
            "threads_per_worker": Option(
                int, None, "Number of threads of each worker: TF_NUM_INTRAOP_THREADS, "
                "TF_NUM_INTEROP_THREADS and OMP_NUM_THREADS are set to this number unless they are "
                "already set. Defaults to the number of CPU cores divided by the number of "
                "workers.", at_least=1,
            ),
        }),
    ],
    (
        "tfreps launch --workers 2 -- pretrain-elmo --train 'corpus/train*.txt' \\\n"
        "    --vocabulary vocabulary.txt --size elmo_tiny --run runs/elmo",
        "tfreps launch --workers 4 --port 2222 --threads-per-worker 2 -- train-tagger \\\n"
        "    --train train.conll --validation validation.conll --scheme bio --run runs/ner",
        "tfreps launch --workers 2 -- pretrain-elmo --run runs/elmo --resume",
    ),
    usage="tfreps launch --workers N [options] -- COMMAND [ARGUMENTS ...]",
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    check_separator(argv)
    return COMMAND.run(launch, argv)


def launch(options):
    check_command(options)
    addresses = local_addresses(options.workers, options.port)
    threads = options.threads_per_worker or threads_per_worker(options.workers)
    command = [sys.executable, "-m", "tfreps", *with_distribute(options.command)]
    sys.stdout.flush()  # worker 0 may write to the same file, after the text printed so far
    outputs = sys.stdout.buffer, sys.stderr.buffer
    outcome = run_workers(command, addresses, os.environ, outputs, threads)
    if outcome.failure:
        say(f"tfreps launch: {outcome.failure}")
    return outcome.code


def check_separator(argv):
    """Raises ValueError if the options of a command would be read as options of the launcher."""
    command = next((word for word in argv if word in TRAINING), None)
    if command is None or "--" in argv[: argv.index(command)]:
        return
    place = argv.index(command)
    if any(word.startswith("-") for word in argv[place + 1 :]):
        raise ValueError(
            f"The command and its options must follow --; got {command} without --. Write: tfreps "
            f"launch {' '.join(argv[:place]) or '--workers N'} -- {command} ..."
        )


def check_command(options):
    command = options.command[0]
    if command not in TRAINING:
        raise ValueError(f"COMMAND must be {listed(TRAINING, 'or')}; got {command!r}.")
    if os.environ.get(NAME):
        raise ValueError(
            f"{NAME} must not be set, since tfreps launch sets it for every worker. Unset it, "
            f"or run tfreps {command} {' '.join(DISTRIBUTE)} to train as the worker that it "
            "describes."
        )


def with_distribute(command):
    """Returns the words of a command, to which --distribute multiworker is added if missing.

    Raises a ValueError if the command has another value of --distribute.
    """
    flag, expected = DISTRIBUTE
    given = [word for word in command if word.split("=")[0] == flag]
    if not given:
        return [*command, *DISTRIBUTE]
    place = command.index(given[-1])
    value = given[-1].partition("=")[2] or " ".join(command[place + 1 : place + 2])
    if value != expected:
        raise ValueError(
            f"{flag} must be {expected} for workers that tfreps launch starts; got {value!r}. "
            "Leave the option out."
        )
    return command
