"""Fonts that have all the characters of some tokens, or a hint what to install."""

import os
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from tfreps.plots.canvas import matplotlib_module

PLAIN = "DejaVu Sans"  # comes with matplotlib
# Fonts with Chinese, Japanese or Korean characters, the likelier and wider first.
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
NO_LETTERS = ("Last Resort", "LastResort", "Adobe Blank")  # have a box for everything
SHOWN = 8  # characters that a hint names


class Fonts(NamedTuple):
    """What `fonts_for` found.

    `families` are names for matplotlib's `family`, in the order in which a character is looked
    for; `missing` are the characters that none of them has.
    """

    families: list[str]
    missing: str

    @property
    def hint(self) -> str:
        """What to do about the missing characters; empty if there are none."""
        if not self.missing:
            return ""
        some = " ".join(self.missing[:SHOWN]) + (" ..." if len(self.missing) > SHOWN else "")
        wide = any(unicodedata.east_asian_width(c) in "WF" for c in self.missing)
        package = "fonts-noto-cjk" if wide else "fonts-noto"
        return (
            f"No font of this machine has {some} ({len(self.missing)} characters); they are drawn "
            f"as code points. Install one that has them (Debian, Ubuntu: apt install {package}; "
            "elsewhere any of Noto Sans), or name its file as `font`."
        )

    def drawn(self, text: str) -> str:
        """A text with the code points of its missing characters, as `U+9152`."""
        return "".join(f"U+{ord(c):04X}" if c in self.missing else c for c in text)


def fonts_for(texts: Iterable[str], font: str | os.PathLike | None = None) -> Fonts:
    """Looks for fonts that have all characters of some texts.

    Those that matplotlib knows are tried, then those installed since it last looked.

    Args:
        texts: str. What will be drawn.
        font: a font file (.ttf, .otf, .ttc) to be tried first; None for none.

    Returns:
        `Fonts`.

    Raises:
        ValueError: the file is no font, or matplotlib is not installed.

    Example:
    >>> fonts_for(["all", "work"])
    Fonts(families=['DejaVu Sans'], missing='')
    >>> fonts_for(["\\U0010fffd"]).drawn("a\\U0010fffd")
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


def _is_unseen(character):
    """Spaces, controls and what joins others: nothing is drawn for them."""
    return unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp")


def _characters(font_manager, path):
    """The characters that a font file has; none if it cannot be read."""
    try:
        return set(map(chr, font_manager.get_font(os.fspath(path)).get_charmap()))
    except (OSError, RuntimeError, ValueError):
        return set()


def _candidates(font_manager):
    """`(family, file)` of all fonts of the machine, the likeliest first."""
    known = font_manager.fontManager.ttflist
    yield from sorted({(f.name, f.fname) for f in known if _has_letters(f)}, key=_place)
    files = {os.path.realpath(f.fname) for f in known}
    for path in sorted(font_manager.findSystemFonts()):
        if os.path.realpath(path) not in files:
            try:
                name = _added(font_manager, path)
            except ValueError:
                continue
            if not name.startswith(NO_LETTERS):
                yield name, path


def _has_letters(entry):
    return not entry.name.startswith(NO_LETTERS) and entry.style == "normal"


def _place(candidate):
    name, path = candidate
    return WIDE.index(name) if name in WIDE else len(WIDE), name, path


def _added(font_manager, path):
    """The family of a font file, which matplotlib knows from now on."""
    manager = font_manager.fontManager
    entries = [f for f in manager.ttflist if f.fname == os.fspath(path)]
    if not entries:
        number = len(manager.ttflist)
        try:
            manager.addfont(os.fspath(path))
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{path} is no font file ({' '.join(str(error).split())}). Expected .ttf, .otf or "
                ".ttc."
            ) from error
        entries = manager.ttflist[number:]
    return entries[0].name
