"""check_rules: options that have no effect, or that cannot go together, by the rows of tables."""

from typing import Any, NamedTuple


class Term(NamedTuple):
    """What a rule says of one option: that it is given, or that it has one of some values.

    A switch that is on by default, such as `use_crf`, is given as `no_use_crf`.
    """

    name: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "Term":
        """A term as tables write it: `elmo`, or `encoder=bilstm|slstm`."""
        name, _, values = text.partition("=")
        return cls(name, tuple(values.split("|")) if values else ())

    def holds(self, options, known: dict[str, Any]) -> bool:
        """Whether the options fulfil it; of an option that a program lacks, they do not."""
        name = _option(self, known)
        if name is None:
            return False
        value = getattr(options, name)
        if self.values:
            return value in self.values
        return value is not None and value != known[name].default

    def words(self) -> str:
        """The term as it is typed: `--elmo`, `--encoder bilstm`."""
        return " ".join([as_flag(self.name), *self.values[:1]])


def check_rules(options, *tables: dict[str, Any]) -> None:
    """Looks for given options that have no effect beside the others, or that lack another one.

    The rows say when an option applies, in three columns of `tfreps.cli.options.Option`. Each is
    one rule or several, and a rule is terms with "or" between them: `elmo` is "--elmo is given",
    `encoder=bert` is "--encoder is bert", `encoder=bilstm|slstm` one of these. A term about an
    option that the program lacks never holds.

        needs       the option has an effect only where all rules hold; "a if b" is for b alone
        excludes    the option cannot go together with one of these
        required    whether, or with which term, the option has to be given

    Args:
        options: namespace with what the tables name.
        *tables: name -> Option.

    Raises:
        ValueError: for the first that breaks a rule; names the flag, and what to do.

    Example:
    >>> import argparse
    >>> from tfreps.cli.options import Option
    >>> table = {
    ...     "encoder": Option(str, "bilstm", "(bilstm)", ["bilstm", "slstm", "bert"]),
    ...     "units": Option(int, 200, "(200)", needs="encoder=bilstm|slstm"),
    ... }
    >>> check_rules(argparse.Namespace(encoder="bert", units=9), table)
    Traceback (most recent call last):
    ValueError: --units has no effect with --encoder bert; it applies to bilstm and slstm.
    """
    known = {name: option for table in tables for name, option in table.items()}
    for name, option in known.items():
        if isinstance(option.required, str):
            _check_required(name, option, options, known)
        if not Term(name, ()).holds(options, known):
            continue
        for rule in _rules(option.needs):
            _check_need(name, rule, options, known)
        for rule in _rules(option.excludes):
            term = Term.read(rule)
            if term.holds(options, known):
                told = as_given(name, option)
                raise ValueError(f"{told} cannot be combined with {term.words()}.")


def applies_to(option, name: str) -> list[str]:
    """The values of another option with which an option has an effect; empty for all.

    Example:
    >>> from tfreps.cli.options import Option
    >>> applies_to(Option(int, 9, "steps", needs="encoder=slstm"), "encoder")
    ['slstm']
    """
    terms = [Term.read(rule) for rule in _rules(option.needs) if " or " not in rule]
    return [value for term in terms if term.name == name for value in term.values]


def brought_by(name: str, table: dict[str, Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table whose options cannot be given beside one that brings them along.

    Args:
        name: the option that does, such as "init".
        table: name -> Option.
        but: names of those that may be given.

    Returns:
        dict of the same names.

    Example:
    >>> from tfreps.cli.options import Option
    >>> brought_by("init", {"units": Option(int, None, "width")})["units"].excludes
    ('init',)
    """
    return {
        own: row if own in (name, *but) else row._replace(excludes=(name, *_rules(row.excludes)))
        for own, row in table.items()
    }


def as_flag(name: str) -> str:
    """How an option is written in a command."""
    return f"--{name.replace('_', '-')}"


def as_given(name: str, option) -> str:
    """How an option is written where it differs from its default; `--no-` before a switch."""
    return as_flag(f"no_{name}" if option.default is True else name)


def listed(words: list[str], last: str = "and") -> str:
    """Words as a sentence lists them.

    Example:
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join([*([", ".join(words[:-1])] if words[1:] else []), *words[-1:]])


def _rules(column) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else tuple(column)


def _check_required(name, option, options, known):
    term = Term.read(option.required)
    if term.holds(options, known) and not Term(name, ()).holds(options, known):
        raise ValueError(f"{as_flag(name)} is missing: {option.about}. {term.words()} needs it.")


def _check_need(name, rule, options, known):
    rule, _, condition = rule.partition(" if ")
    told = as_given(name, known[name])
    if condition:
        condition = Term.read(condition)
        if not condition.holds(options, known):
            return
        if condition.name == name:  # one value of the option itself
            told = condition.words()
    terms = [t for t in map(Term.read, rule.split(" or ")) if _option(t, known)]
    if any(term.holds(options, known) for term in terms):
        return
    if len(terms) == 1 and terms[0].values:
        other = terms[0].name
        raise ValueError(
            f"{told} has no effect with {as_flag(other)} {getattr(options, other)}; it applies "
            f"to {listed(list(terms[0].values))}."
        )
    raise ValueError(f"{told} needs {listed([t.words() for t in terms], 'or')} too.")


def _option(term, known):
    """The name of the option that a term is about; None where the program lacks it."""
    names = term.name, term.name.removeprefix("no_")
    return next((name for name in names if name in known), None)
