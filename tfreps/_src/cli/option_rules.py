"""Rules between options: which options need, exclude or require one another.

Four fields of `cli.options.Option` hold the rules. A rule is a term; in `needs`, it can
also be several terms joined by "or". The term `elmo` means that --elmo is given, `encoder=bert`
that --encoder is bert, and `encoder=bilstm|slstm` that it is one of the two. For a switch that is
on by default, such as `use_crf`, the term `no_use_crf` holds if the switch is off. An option counts
as given if its value is not `None` and differs from its default. A term about an option that the
command lacks never holds.

    needs       the option has no effect unless all rules hold; "a if b" applies only if b holds
    excludes    the option cannot be given if any of these rules holds
    unused_with the option may be given, but has no effect, if any of these rules holds
    required    the option must be given if this rule holds; `True` means always
"""

from typing import NamedTuple

from tfreps._src.cli.options import Option, as_clause, as_typed, listed

Table = dict[str, Option]


class Term(NamedTuple):
    """Condition of a rule: an option is given, or has one of several values."""

    name: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> "Term":
        """Returns the term for a text in a table, such as `elmo` or `encoder=bilstm|slstm`."""
        name, _, values = text.partition("=")
        return cls(name, tuple(values.split("|")) if values else ())

    def option(self, table: Table) -> str | None:
        """Returns the name of the option in the term, or `None` if `table` lacks this option."""
        names = self.name, self.name.removeprefix("no_")
        return next((name for name in names if name in table), None)

    def holds(self, options, table: Table) -> bool:
        """Returns whether the condition is true for the options of a command.

        If `values` is not empty, the condition is true if the option has one of these values.
        Otherwise, it is true if the value of the option is neither `None` nor the default. It is
        false if the command does not have the option.
        """
        name = self.option(table)
        if name is None:
            return False
        value = getattr(options, name)
        if self.values:
            return value in self.values
        return value is not None and value != table[name].default

    def words(self, table: Table) -> str:
        """Returns the term as a user types it, such as `--encoder bilstm`.

        If the term has several values, the first one is used.
        """
        typed = as_typed(self.name, table)
        joint = "=" if typed.startswith("--set ") else " "
        return joint.join([typed, *self.values[:1]])


def check_rules(options, table: Table) -> None:
    """Raises ValueError for the first option that breaks a rule."""
    for name, option in table.items():
        is_given = Term(name, ()).holds(options, table)
        if isinstance(option.required, str):
            term = Term.read(option.required)
            if term.holds(options, table) and not is_given:
                raise ValueError(
                    f"{as_typed(name, table)} is missing: {as_clause(option.about)}. "
                    f"{term.words(table)} requires it."
                )
        if not is_given:
            continue
        for rule in _rules(option.needs):
            if not _is_met(rule, options, table):
                raise ValueError(_missing(name, rule, options, table))
        for term in map(Term.read, _rules(option.excludes)):
            if term.holds(options, table):
                flag = _as_given(name, table)
                raise ValueError(f"{flag} cannot be combined with {term.words(table)}.")


def unused_options(options, table: Table) -> list[str]:
    """Returns a list of the names of the options that have no effect on a command.

    An option has no effect in these cases:

    - A rule of its `needs` does not hold.
    - A term of its `excludes` or `unused_with` holds.
    - Another option that is given excludes it.
    - Its value is `None` or an empty list. (The value 0 has an effect.)
    - It is a switch that is off by default and is not given.
    """
    given = [name for name in table if Term(name, ()).holds(options, table)]
    excluded = {rule for name in given for rule in _rules(table[name].excludes)} - set(given)
    return [
        name
        for name, option in table.items()
        if name in excluded
        or getattr(options, name) in (None, [])
        or option.default is False
        and getattr(options, name) is False
        or not all(_is_met(rule, options, table) for rule in _rules(option.needs))
        or any(
            Term.read(rule).holds(options, table)
            for rule in (*_rules(option.excludes), *_rules(option.unused_with))
        )
    ]


def brought_by(name: str, table: Table, but: tuple[str, ...] = ()) -> Table:
    """Returns a copy of a table in which all other options exclude the option `name`.

    For example, `--init` determines the sizes of a model, so `--units` cannot be combined with
    `--init`. The options in `but` remain unchanged.
    """
    return {
        own: row if own in (name, *but) else row._replace(excludes=(name, *_rules(row.excludes)))
        for own, row in table.items()
    }


def _rules(column):
    return (column,) if isinstance(column, str) else tuple(column)


def _as_given(name, table):
    """Returns what a user types to change an option from its default.

    For a switch `x` that is on by default, this is `--no-x`.
    """
    return as_typed(f"no_{name}" if table[name].default is True else name, table)


def _is_met(rule, options, table):
    """Returns True if the options meet a rule of `needs`.

    A rule is met if at least one of its terms holds. A rule of the form `TERMS if CONDITION` is
    also met if the condition does not hold.
    """
    rule, _, condition = rule.partition(" if ")
    if condition and not Term.read(condition).holds(options, table):
        return True
    return any(Term.read(term).holds(options, table) for term in rule.split(" or "))


def _missing(name, rule, options, table):
    """Returns the error message for a rule of `needs` that does not hold."""
    rule, _, condition = rule.partition(" if ")
    flag = _as_given(name, table)
    if condition and Term.read(condition).name == name:
        flag = Term.read(condition).words(table)  # the rule is about one value of the option itself
    terms = [term for term in map(Term.read, rule.split(" or ")) if term.option(table)]
    if len(terms) == 1 and terms[0].values:
        other = terms[0].name
        return (
            f"{flag} has no effect with {as_typed(other, table)} {getattr(options, other)}; "
            f"it applies to {listed(list(terms[0].values))}."
        )
    return f"{flag} requires {listed([term.words(table) for term in terms], 'or')}."
