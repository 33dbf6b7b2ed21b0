"""Reads the pickles inside PyTorch's files as data: nothing that they name is imported or called.

Python's own unpickler imports and calls what a pickle names. This module does not use that
unpickler. It interprets the 30 opcodes with which PyTorch describes the arrays of a file, and these
can only create numbers, strings, tuples, lists, dicts and the stand-ins below:

- `Name`, for a class or function whose name is in the caller's list. A name is never looked up.
- the results of `reduce` and `persistent`, two functions of the caller, which are given plain
  values and never a callable.

Any other opcode or name is an error that names it. In particular, there is no opcode that imports
(`STACK_GLOBAL`, `INST`), creates an object of a class (`NEWOBJ`, `OBJ`) or uses `copyreg`'s
registry (`EXT1`), and `BUILD`, which sets attributes, only drops the attributes of a dict. Keys
are strings, because the hash of nested tuples could take exponential time. Each opcode adds at
most one object, and only bytes and marked values are copied, so that time and memory are
proportional to the data.

Sources: Python's `pickletools` for the opcodes, and `torch/serialization.py` for their use.
"""

import struct
from collections.abc import Callable, Collection
from typing import Any, NamedTuple


class Name(NamedTuple):
    """Name of a class or function in a pickle, `module.name`, which is never imported."""

    text: str


class _Mark:
    """Type of `MARK`, which marks the start of a group of values on the stack."""


MARK = _Mark()


class PickledValues:
    """Reader of the values of pickles that follow one another in bytes.

    Args:
        data: bytes. The pickles; other data may follow them.
        names: collection of str. The names of classes and functions that a pickle may contain.
        reduce: function `(name, arguments)`, whose result replaces a call of the function `name`.
        persistent: function whose result replaces a persistent id.

    Attributes:
        position: Number of bytes that have been read.
    """

    def __init__(
        self,
        data: bytes,
        names: Collection[str],
        reduce: Callable[[str, tuple], Any],
        persistent: Callable[[Any], Any],
    ):
        self.position = 0
        self._data = data
        self._names = names
        self._reduce = reduce
        self._persistent = persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def read(self) -> Any:
        """Returns the value of the next pickle.

        Raises:
            ValueError: If the pickle is incomplete or damaged, or has an opcode or a name that is
                not allowed. The message is a clause such as "the file ends within a pickle", which
                the caller completes to a sentence.
        """
        self._stack, self._memo = [], {}
        while True:
            opcode = self._bytes(1)
            if opcode == b".":  # STOP
                value = self._pop()
                if self._stack:
                    raise ValueError("a pickle in the file ends with unused values")
                return value
            if opcode not in OPCODES:
                raise ValueError(
                    f"the file has the pickle opcode {opcode!r}, which arrays do not need"
                )
            OPCODES[opcode](self)

    def _bytes(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self._data):
            raise ValueError("the file ends within a pickle")
        found = self._data[self.position : end]
        self.position = end
        return found

    def _number(self, form: str) -> int:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self._data.find(b"\n", self.position, self.position + 200)
        if end < 0:
            raise ValueError("a name in the file has no end")
        line = self._bytes(end + 1 - self.position)[:-1]
        return line.decode("ascii", "backslashreplace")

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is MARK:
            raise ValueError("a pickle in the file uses a value that does not exist")
        return self._stack.pop()

    def _pop_group(self) -> list:
        """Returns the values after the last mark, and removes them and the mark from the stack."""
        for start in range(len(self._stack) - 1, -1, -1):
            if self._stack[start] is MARK:
                group = self._stack[start + 1 :]
                del self._stack[start:]
                return group
        raise ValueError("a pickle in the file uses a group of values that does not exist")

    def _top(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise ValueError(
                f"a pickle in the file changes something that is not a {kind.__name__}"
            )
        return self._stack[-1]

    def _tuple(self, size: int) -> None:
        values = [self._pop() for _ in range(size)]
        self._push(tuple(reversed(values)))

    def _append(self, values: list) -> None:
        self._top(list).extend(values)

    def _set(self, values: list) -> None:
        target = self._top(dict)
        keys = values[::2]
        if len(values) % 2 or not all(type(key) is str for key in keys):
            raise ValueError("a pickle in the file has a dict whose keys are not strings")
        target.update(zip(keys, values[1::2], strict=True))

    def _remember(self, index: int) -> None:
        value = self._pop()
        self._push(value)
        self._memo[index] = value

    def _recall(self, index: int) -> None:
        if index not in self._memo:
            raise ValueError("a pickle in the file refers to a value that does not exist")
        self._push(self._memo[index])

    def _check_protocol(self) -> None:
        protocol = self._number("<B")
        if protocol != 2:
            raise ValueError(
                f"a pickle in the file has protocol {protocol}; PyTorch writes protocol 2"
            )

    def _name(self) -> None:
        name = f"{self._line()}.{self._line()}"
        if name not in self._names:
            raise ValueError(f"the file refers to {name}, which is not used to store arrays")
        self._push(Name(name))

    def _call(self) -> None:
        arguments, function = self._pop(), self._pop()
        if type(function) is not Name or type(arguments) is not tuple:
            raise ValueError("a pickle in the file calls something that is not a function")
        self._push(self._reduce(function.text, arguments))

    def _drop_attributes(self) -> None:
        self._pop()
        self._top(dict)

    def _text(self, size: int) -> None:
        self._push(self._bytes(size).decode("utf-8"))

    def _long(self) -> None:
        self._push(int.from_bytes(self._bytes(self._number("<B")), "little", signed=True))


# Each comment is the name of the opcode in the module `pickletools`.
OPCODES: dict[bytes, Callable[[PickledValues], None]] = {
    b"\x80": lambda r: r._check_protocol(),  # PROTO
    b"N": lambda r: r._push(None),  # NONE
    b"\x88": lambda r: r._push(True),  # NEWTRUE
    b"\x89": lambda r: r._push(False),  # NEWFALSE
    b"J": lambda r: r._push(r._number("<i")),  # BININT
    b"K": lambda r: r._push(r._number("<B")),  # BININT1
    b"M": lambda r: r._push(r._number("<H")),  # BININT2
    b"\x8a": lambda r: r._long(),  # LONG1
    b"X": lambda r: r._text(r._number("<I")),  # BINUNICODE
    b"(": lambda r: r._push(MARK),  # MARK
    b")": lambda r: r._push(()),  # EMPTY_TUPLE
    b"t": lambda r: r._push(tuple(r._pop_group())),  # TUPLE
    b"\x85": lambda r: r._tuple(1),  # TUPLE1
    b"\x86": lambda r: r._tuple(2),  # TUPLE2
    b"\x87": lambda r: r._tuple(3),  # TUPLE3
    b"]": lambda r: r._push([]),  # EMPTY_LIST
    b"a": lambda r: r._append([r._pop()]),  # APPEND
    b"e": lambda r: r._append(r._pop_group()),  # APPENDS
    b"}": lambda r: r._push({}),  # EMPTY_DICT
    b"s": lambda r: r._set([r._pop(), r._pop()][::-1]),  # SETITEM
    b"u": lambda r: r._set(r._pop_group()),  # SETITEMS
    b"q": lambda r: r._remember(r._number("<B")),  # BINPUT
    b"r": lambda r: r._remember(r._number("<I")),  # LONG_BINPUT
    b"h": lambda r: r._recall(r._number("<B")),  # BINGET
    b"j": lambda r: r._recall(r._number("<I")),  # LONG_BINGET
    b"c": lambda r: r._name(),  # GLOBAL
    b"R": lambda r: r._call(),  # REDUCE
    b"b": lambda r: r._drop_attributes(),  # BUILD
    b"Q": lambda r: r._push(r._persistent(r._pop())),  # BINPERSID
}
