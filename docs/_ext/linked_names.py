"""Links names of the public API and of commands wherever they appear as inline code.

`tfreps.layers.CRF`, `CRF`, `BertEncoder.from_pretrained` and `tfreps train-tagger` become links
to their pages, in Markdown, in guides and in docstrings, without markup of their own.
"""

import functools
import inspect
import re

from docutils import nodes
from public_names import documented, public_value
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

from tfreps._src.cli.commands import COMMANDS

# Short names that are also ordinary words in the text.
AMBIGUOUS = {"load", "auc", "matrix", "spans", "check", "convert"}


def setup(app):
    app.add_transform(NameLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def targets():
    """Returns `{text: full name}` of all links: full names, and unambiguous short names."""
    found, short = {}, {}
    for entry in documented():
        names = [entry.name, *(f"{entry.name}.{member}" for member in entry.members)]
        for name in names:
            found[name] = name
            if name == entry.name and entry.kind != "class" and is_argument(name):
                continue
            tail = name.split(".", 1 + name.count(".") - (1 if name == entry.name else 2))[-1]
            short.setdefault(tail, set()).add(name)
    for tail, names in short.items():
        if len(names) == 1 and tail not in AMBIGUOUS:
            found.setdefault(tail, *names)
    return found


def is_argument(name):
    """Returns True if the short form of a name is also an argument of a public name.

    >>> is_argument("tfreps.plots.plot_mix_weights")  # an argument of `Elmo`
    True
    """
    return name.rpartition(".")[2] in arguments()


@functools.cache
def arguments():
    """Returns the names of the arguments of all public classes and functions."""
    found = set()
    for entry in documented():
        value = public_value(entry.name)
        if entry.kind == "class":
            functions = [value.__init__]
            functions += [getattr(value, member) for member in entry.members]
        else:
            functions = [value] if entry.kind == "function" else []
        for function in functions:
            if inspect.isfunction(function) or inspect.ismethod(function):
                found |= set(inspect.signature(function).parameters)
    return found


class NameLinks(SphinxTransform):
    """Transform that replaces inline code with a reference if it names something with a page."""

    default_priority = 5  # before references are resolved

    def apply(self):
        known = self.app.__dict__.setdefault("_tfreps_names", None)
        if known is None:
            known = self.app._tfreps_names = targets()
        for node in list(self.document.findall(nodes.literal)):
            if isinstance(node.parent, nodes.reference | pending_xref | nodes.title | nodes.term):
                continue
            self.link(node, known)

    def link(self, node, known):
        text = node.astext()
        name = re.sub(r"\(.*\)$", "", text).removeprefix("keras.")
        command = re.match(r"(?:tfreps )([a-z-]+)$", text)
        if name in known:
            target = known[name]
            reference = pending_xref(
                "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True,
                refwarn=True, refdoc=self.env.docname,
            )  # fmt: skip
        elif command and command[1] in COMMANDS:
            reference = pending_xref(
                "", refdomain="std", reftype="doc", refexplicit=True, refwarn=True,
                reftarget=f"/reference/commands/{command[1]}", refdoc=self.env.docname,
            )  # fmt: skip
        else:
            return
        if self.env.docname == "reference/commands/" + (command[1] if command else ""):
            return
        node.replace_self(reference)
        reference += node
