"""Rules between options: which options need, exclude or require one another."""

import contextlib
import re
from typing import Any, NamedTuple


class Term(NamedTuple):
    """Condition of a rule: an option is given, or has one of several values.

    For a switch that is on by default, such as `use_crf`, the term `no_use_crf` holds if the switch
    is off.

    Args:
        name: str. Name of the option.
        values: tuple of str. Values with which the term holds; `()` if it holds with any value
            other than the default.
    """

    name: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "Term":
        """Parses a term as it is written in a table: `elmo`, or `encoder=bilstm|slstm`."""
        name, _, values = text.partition("=")
        return cls(name, tuple(values.split("|")) if values else ())

    def holds(self, options, known: dict[str, Any]) -> bool:
        """Returns True if the term holds. It never holds if the program lacks the option."""
        name = _option(self, known)
        if name is None:
            return False
        value = getattr(options, name)
        if self.values:
            return value in self.values
        return value is not None and value != known[name].default

    def words(self) -> str:
        """Returns the term as typed on the command line: `--elmo`, `--encoder bilstm`.

        Of several values, only the first is included.
        """
        return " ".join([as_flag(self.name), *self.values[:1]])


def check_rules(options, *tables: dict[str, Any]) -> None:
    """Checks the rules between options.

    Three fields of `tfreps.cli.options.Option` hold the rules. A rule is a term; in `needs`, it can
    also be several terms joined by "or". The term `elmo` means that --elmo is given, `encoder=bert`
    that --encoder is bert, and `encoder=bilstm|slstm` that it is one of the two. An option counts
    as given if its value is not `None` and differs from its default. A term about an option that
    the program lacks never holds.

        needs       the option has no effect unless all rules hold; "a if b" applies only if b holds
        excludes    the option cannot be given if any of these rules holds
        required    the option must be given if this rule holds; `True`, which means always, is
                    checked by `check_options`

    Args:
        options: namespace with the options of the tables.
        *tables: dicts of name -> `Option`.

    Raises:
        ValueError: If an option breaks a rule. The message names the flag of the first such option.

    Example:
    >>> import argparse
    >>> from tfreps.cli.options import Option
    >>> table = {
    ...     "encoder": Option(str, "bilstm", "Encoder.", ["bilstm", "slstm", "bert"]),
    ...     "units": Option(int, 200, "Width.", needs="encoder=bilstm|slstm"),
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
                flag = as_given(name, option)
                raise ValueError(f"{flag} cannot be combined with {term.words()}.")


def unused_options(options, *tables: dict[str, Any]) -> list[str]:
    """Returns the names of the options that do not apply or are not set.

    An option does not apply in three cases: a rule of its `needs` does not hold, a term of its
    `excludes` or `unused_with` holds, or another option that is given excludes it. Options that are
    `None` or an empty list, and switches that are off by default and not given, are not set. 0
    counts as a value.

    Args:
        options: namespace with the options of the tables, for which `check_rules` raised no error.
        *tables: dicts of name -> `Option`.

    Example:
    >>> import argparse
    >>> from tfreps.cli.options import Option
    >>> table = {
    ...     "encoder": Option(str, "bilstm", "Encoder.", ["bilstm", "bert"]),
    ...     "units": Option(int, 200, "Width.", needs="encoder=bilstm"),
    ...     "l2": Option(float, 0.0, "Penalty."),
    ... }
    >>> unused_options(argparse.Namespace(encoder="bert", units=200, l2=0.0), table)
    ['units']
    """
    known = {name: option for table in tables for name, option in table.items()}
    given = [name for name in known if Term(name, ()).holds(options, known)]
    excluded = {rule for name in given for rule in _rules(known[name].excludes)} - set(given)
    return [
        name
        for name, option in known.items()
        if name in excluded
        or getattr(options, name) in (None, [])
        or option.default is False
        and getattr(options, name) is False
        or not all(_is_met(rule, options, known) for rule in _rules(option.needs))
        or any(
            Term.read(rule).holds(options, known)
            for rule in (*_rules(option.excludes), *_rules(option.unused_with))
        )
    ]


def applies_to(option, name: str) -> list[str]:
    """Returns the values of the option `name` with which `option` has an effect; `[]` if all.

    Example:
    >>> from tfreps.cli.options import Option
    >>> applies_to(Option(int, 9, "Steps.", needs="encoder=slstm"), "encoder")
    ['slstm']
    """
    terms = [Term.read(rule) for rule in _rules(option.needs) if " or " not in rule]
    return [value for term in terms if term.name == name for value in term.values]


def brought_by(name: str, table: dict[str, Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Returns a copy of a table whose options exclude an option that determines them.

    Args:
        name: str. Option that determines the others, such as `"init"`.
        table: dict of name -> `Option`.
        but: tuple of names of options that may still be given. Defaults to `()`.

    Returns:
        dict of name -> `Option`, with the same names.

    Example:
    >>> from tfreps.cli.options import Option
    >>> brought_by("init", {"units": Option(int, None, "Width.")})["units"].excludes
    ('init',)
    """
    return {
        own: row if own in (name, *but) else row._replace(excludes=(name, *_rules(row.excludes)))
        for own, row in table.items()
    }


def as_clause(about: str) -> str:
    """Returns the first sentence of a help text without the initial capital and the final period.

    Example:
    >>> as_clause("Files of text. Read in order of name.")
    'files of text'
    """
    first = about.partition(". ")[0].removesuffix(".")
    return first[:1].lower() + first[1:]


def when_required(option) -> str:
    """Returns a sentence that says when an option is required; "" if it never is.

    Example:
    >>> from tfreps.cli.options import Option
    >>> when_required(Option(str, None, "Folder.", required="encoder=bert"))
    'Required with --encoder bert.'
    """
    if isinstance(option.required, str):
        return f"Required with {Term.read(option.required).words()}."
    return "Required for a new run." if option.required else ""


def as_flag(name: str) -> str:
    """Returns the flag of an option."""
    return f"--{name.replace('_', '-')}"


def with_flags(text: str, names) -> str:
    """Replaces the names of options in backticks with their flags.

    Args:
        text: str. Message of the library, such as an error.
        names: iterable of str. Names of the options that have a flag.

    Example:
    >>> with_flags("`min_count` must be at least 1; see `fit`.", ["min_count"])
    '--min-count must be at least 1; see `fit`.'
    """
    names = set(names)
    return re.sub(r"`(\w+)`", lambda m: as_flag(m[1]) if m[1] in names else m[0], text)


@contextlib.contextmanager
def naming_options(options):
    """Context manager that replaces names of options with their flags in ValueErrors.

    Args:
        options: namespace of the options of a program.

    Example:
    >>> import argparse
    >>> with naming_options(argparse.Namespace(format="conll")):
    ...     raise ValueError("Set `format` to json.")
    Traceback (most recent call last):
    ValueError: Set --format to json.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(with_flags(str(error), vars(options))) from error


def as_given(name: str, option) -> str:
    """Returns the flag that changes an option: `--no-x` for a switch that is on by default."""
    return as_flag(f"no_{name}" if option.default is True else name)


def listed(words: list[str], last: str = "and") -> str:
    """Joins words with commas, and with the conjunction `last` before the last word.

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
        raise ValueError(
            f"{as_flag(name)} is missing: {as_clause(option.about)}. {term.words()} requires it."
        )


def _is_met(rule, options, known):
    """Returns True if a rule of `needs` holds, or if its condition does not hold."""
    rule, _, condition = rule.partition(" if ")
    if condition and not Term.read(condition).holds(options, known):
        return True
    return any(Term.read(term).holds(options, known) for term in rule.split(" or "))


def _check_need(name, rule, options, known):
    if _is_met(rule, options, known):
        return
    rule, _, condition = rule.partition(" if ")
    flag = as_given(name, known[name])
    if condition and Term.read(condition).name == name:
        flag = Term.read(condition).words()  # the rule is about one value of the option itself
    terms = [t for t in map(Term.read, rule.split(" or ")) if _option(t, known)]
    if len(terms) == 1 and terms[0].values:
        other = terms[0].name
        raise ValueError(
            f"{flag} has no effect with {as_flag(other)} {getattr(options, other)}; it applies "
            f"to {listed(list(terms[0].values))}."
        )
    raise ValueError(f"{flag} requires {listed([t.words() for t in terms], 'or')}.")


def _option(term, known):
    """Returns the name of the option that a term is about; None if the program lacks it."""
    names = term.name, term.name.removeprefix("no_")
    return next((name for name in names if name in known), None)
