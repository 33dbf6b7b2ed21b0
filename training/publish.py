"""Publishes a trained model: uploads it to the Hugging Face Hub, or writes its folder.

A published model consists of the weights, the vocabulary or tokenizer, the tags or labels, the
training options, and a model card. It contains no data and no paths of this machine. tfreps.load
and the programs accept its address in place of a run folder, and transformers can load published
BERT models. An upload needs a token: log in with `hf auth login`, or set HF_TOKEN.
"""

import pathlib

from tfreps.cli.options import first_line, parse_options
from tfreps.cli.program_help import program_parser
from tfreps.inference.load import load
from tfreps.presets import hub_repositories

PROGRAM = "publish"
EXAMPLES = (
    "tfreps publish runs/tagger hf://me/my-tagger",
    "tfreps publish runs/tagger hf://me/my-tagger --private --message 'More data'",
    "tfreps publish runs/elmo published/elmo",
)


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check(options)
    if not is_address(options):
        load(options.model).save_preset(options.target)
        files = ", ".join(sorted(path.name for path in pathlib.Path(options.target).iterdir()))
        print(f"Wrote {options.target}: {files}.")
    else:
        message = options.message or "Upload with tfreps"
        private = True if options.private else None
        url = load(options.model).upload_preset(options.target, message, private)
        print(f"Uploaded {options.model}: {url}")
    print(f'State the license in README.md. Next, in Python: tfreps.load("{options.target}")')
    return 0


def make_parser():
    parser = program_parser(f"tfreps {PROGRAM}", first_line(__doc__), EXAMPLES)
    add = parser.add_argument
    about = "Run folder or published model, by path, name ('tfreps presets') or hf:// address."
    add("model", metavar="RUN", help=about)
    form = hub_repositories.FORM.replace("revision", "branch")
    about = f"Address of the form {form}, whose branch must exist, or a new folder to write."
    add("target", metavar="TARGET", help=about)
    add = parser.add_argument_group("upload", "Upload to the Hugging Face Hub.").add_argument
    add("--message", help="Commit message. Defaults to 'Upload with tfreps'.")
    about = "Create a private repository. Has no effect on a repository that exists."
    add("--private", action="store_true", help=about)
    return parser


def is_address(options):
    return options.target.startswith(hub_repositories.SCHEME)


def check(options):
    """Raises ValueError if the target is not valid, or an option does not apply to it."""
    if is_address(options):
        hub_repositories.parse(options.target)
        return
    if options.message is not None or options.private:
        flag = "--private" if options.private else "--message"
        raise ValueError(
            f"{flag} applies only to an upload; TARGET is the folder {options.target}. Omit {flag}."
        )
    target = pathlib.Path(options.target)
    if (
        "://" in options.target
        or target.exists()
        and not (target.is_dir() and not any(target.iterdir()))
    ):
        raise ValueError(
            f"TARGET must be {hub_repositories.FORM} or a new or empty folder; got "
            f"{options.target}."
        )


if __name__ == "__main__":
    raise SystemExit(main())
