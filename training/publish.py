"""Publishes a trained model: uploads it to the Hugging Face Hub, or writes its folder.

A published model consists of the weights, the vocabulary or tokenizer, the tags or labels, the
training options, and a model card. It contains no data and no paths of this machine. tfreps.load
and the commands accept its address in place of a run folder, and transformers can load published
BERT models. An upload needs a token: log in with `hf auth login`, or set HF_TOKEN.
"""

import pathlib

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.files.atomic_files import is_free

COMMAND = Command(
    "publish",
    __doc__,
    {
        "model": Option(
            str, None, "Model to publish: a run folder or a published model, given by path, name "
            "(see 'tfreps presets') or hf:// address.", required=True, metavar="MODEL",
        ),
        "target": Option(
            str, None, "Where to write the model: an address "
            "hf://owner/repository[@branch][/folder], whose branch must exist, or a new local "
            "folder.", required=True, metavar="TARGET",
        ),
    },
    [
        Group("upload", "Upload to the Hugging Face Hub.", {
            "message": Option(
                str, None, "Commit message. Defaults to 'Upload with tfreps'.",
                metavar="TEXT",
            ),
            "private": Option(
                bool, False, "Create a private repository on the Hugging Face Hub. Has no effect "
                "if the repository exists.",
            ),
        }),
    ],
    (
        "tfreps publish runs/tagger hf://me/my-tagger",
        "tfreps publish runs/tagger hf://me/my-tagger --private --message 'More data'",
        "tfreps publish runs/elmo published/elmo",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(publish, argv)


def publish(options):
    from tfreps import load
    from tfreps._src.presets import hub_repositories

    if options.target.startswith(hub_repositories.SCHEME):
        hub_repositories.parse(options.target)
        message, private = options.message or "Upload with tfreps", options.private or None
        url = load(options.model).upload_preset(options.target, message, private)
        print(f"Uploaded {options.model}: {url}")
    else:
        check_folder(options, hub_repositories.FORM)
        load(options.model).save_to_preset(options.target)
        files = ", ".join(sorted(path.name for path in pathlib.Path(options.target).iterdir()))
        print(f"Wrote {options.target}: {files}.")
    print(f'State the license in README.md. Next, in Python: tfreps.load("{options.target}")')


def check_folder(options, form):
    """Raises a ValueError if the target is not a new or empty folder.

    Also raises a ValueError for a flag that applies only to uploads. `form` shows, in
    the message, how an address is written.
    """
    if options.message is not None or options.private:
        flag = "--private" if options.private else "--message"
        raise ValueError(
            f"{flag} applies only to an upload; TARGET is the folder {options.target}. Omit {flag}."
        )
    if "://" in options.target or not is_free(options.target):
        raise ValueError(f"TARGET must be {form} or a new or empty folder; got {options.target}.")
