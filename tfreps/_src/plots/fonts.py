"""Finds fonts for the characters of texts, or suggests fonts to install."""

import os
import unicodedata
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from tfreps._src.plots.canvas import matplotlib_module

PLAIN = "DejaVu Sans"  # this font is included in matplotlib
# Fonts with Chinese, Japanese or Korean characters, in order of preference.
WIDE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "SimHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "Arial Unicode MS",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Droid Sans Fallback",
    "Noto Serif CJK SC",
    "SimSun",
    "Yu Gothic",
    "Malgun Gothic",
)
# These fonts draw a box for every character.
NO_LETTERS = ("Last Resort", "LastResort", "Adobe Blank")
SHOWN = 8  # maximum number of characters in a hint


class Fonts(NamedTuple):
    """Fonts that `find_fonts` found for some texts, and the characters that no font has.

    Args:
        families: list of str. Font families for the `family` argument of matplotlib, in the order
            in which matplotlib searches them for a character.
        missing: str. All characters of the texts that no font has.
    """

    families: list[str]
    missing: str

    @property
    def hint(self) -> str:
        """Message on how to install a font with the missing characters, or an empty string."""
        if not self.missing:
            return ""
        some = " ".join(self.missing[:SHOWN]) + (" ..." if len(self.missing) > SHOWN else "")
        wide = any(unicodedata.east_asian_width(c) in "WF" for c in self.missing)
        package = "fonts-noto-cjk" if wide else "fonts-noto"
        return (
            f"No font on this machine has {some} (missing characters: {len(self.missing)}); they "
            "are drawn as code points. Install a font that has them (on Debian and Ubuntu: apt "
            f"install {package}; on other systems: Noto Sans)."
        )

    def replace_missing(self, text: str) -> str:
        """Returns a text with code points, such as `U+9152`, in place of missing characters."""
        return "".join(f"U+{ord(c):04X}" if c in self.missing else c for c in text)


def find_fonts(texts: Iterable[str], font: str | os.PathLike[str] | None = None) -> Fonts:
    """Finds fonts that together have all characters of the given texts.

    Fonts are tried in this order: `font`, DejaVu Sans, the fonts in matplotlib's cached font list,
    and installed fonts that are not in this list.

    Args:
        texts: Iterable of str. The texts to draw.
        font: str or path-like. A font file (.ttf, .otf or .ttc) to try first. If `None`, only
            installed fonts are tried. Defaults to `None`.

    Returns:
        A `Fonts`.

    Raises:
        ValueError: If `font` is not a font file, or if matplotlib is not installed.

    Example:
    >>> find_fonts(["all", "work"])
    Fonts(families=['DejaVu Sans'], missing='')
    >>> find_fonts(["\\U0010fffd"]).replace_missing("a\\U0010fffd")
    'aU+10FFFD'
    """
    font_manager = matplotlib_module("font_manager")
    missing = {c for text in texts for c in text if not _is_unseen(c)}
    families = []
    if font is not None:
        families.append(_added(font_manager, font))
        missing -= _characters(font_manager, font)
    plain = font_manager.findfont(PLAIN)
    families.append(PLAIN)
    missing -= _characters(font_manager, plain)
    if missing:
        for name, path in _candidates(font_manager):
            has = missing & _characters(font_manager, path)
            if has and name not in families:
                families.append(name)
                missing -= has
            if not missing:
                break
    return Fonts(families, "".join(sorted(missing)))


def _is_unseen(character: str) -> bool:
    """Returns True for spaces, control characters and joiners, which are not drawn."""
    return unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp")


def _characters(font_manager: ModuleType, path: str | os.PathLike[str]) -> set[str]:
    """Returns the characters of a font file, or an empty set if it cannot be read."""
    try:
        return set(map(chr, font_manager.get_font(os.fspath(path)).get_charmap()))
    except (OSError, RuntimeError, ValueError):
        return set()


def _candidates(font_manager: ModuleType) -> Iterator[tuple[str, str]]:
    """Yields the family and the file of each usable font on the machine, the preferred ones first.

    Fonts that matplotlib does not know yet are added to its font list.
    """
    known = font_manager.fontManager.ttflist
    yield from sorted({(f.name, f.fname) for f in known if _has_letters(f)}, key=_preference)
    files = {os.path.realpath(f.fname) for f in known}
    for path in sorted(font_manager.findSystemFonts()):
        if os.path.realpath(path) not in files:
            try:
                name = _added(font_manager, path)
            except ValueError:
                continue
            if not name.startswith(NO_LETTERS):
                yield name, path


def _has_letters(entry: Any) -> bool:
    return not entry.name.startswith(NO_LETTERS) and entry.style == "normal"


def _preference(candidate: tuple[str, str]) -> tuple[int, str, str]:
    name, path = candidate
    return WIDE.index(name) if name in WIDE else len(WIDE), name, path


def _added(font_manager: ModuleType, path: str | os.PathLike[str]) -> str:
    """Adds a font file to matplotlib's font list and returns the name of its font family."""
    manager = font_manager.fontManager
    entries = [f for f in manager.ttflist if f.fname == os.fspath(path)]
    if not entries:
        number = len(manager.ttflist)
        try:
            manager.addfont(os.fspath(path))
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{path} is not a font file ({' '.join(str(error).split())}); expected .ttf, .otf "
                "or .ttc."
            ) from error
        entries = manager.ttflist[number:]
    return entries[0].name
