"""Checks the links and anchors of the built site; fetches nothing.

    python docs/check_links.py docs/_build/html

Every `href` and `src` that points into the site must lead to a file, and its fragment to an id on
that page. Links to other sites are counted, not followed.
"""

import functools
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Parser that collects the links and ids of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        link = found.get("href") if tag in ("a", "link", "area") else found.get("src")
        if link:
            self.links.append(link)


def pages(root):
    """Returns the paths of the pages of a site; `_static` has templates of the theme, not pages."""
    found = sorted(root.rglob("*.html"))
    return [path for path in found if path.relative_to(root).parts[0] != "_static"]


@functools.cache
def read(path):
    return Page(path.read_text(encoding="utf-8"))


def problem(root, page, link):
    """Returns what is wrong with a link of a page, or None for correct and external links."""
    url = urllib.parse.urlsplit(link)
    if url.scheme or url.netloc:
        return None
    path = urllib.parse.unquote(url.path)
    target = root / path.lstrip("/") if path.startswith("/") else page.parent / path
    target = (page if not path else target).resolve()
    if target.is_dir():
        target /= "index.html"
    if root.resolve() not in (target, *target.parents):
        return "leads out of the site"
    if not target.is_file():
        return "no such file"
    fragment = urllib.parse.unquote(url.fragment)
    if fragment and target.suffix == ".html" and fragment not in read(target).ids:
        return "no such anchor"
    return None


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if len(argv) != 1 or not pathlib.Path(argv[0], "index.html").is_file():
        print("usage: python docs/check_links.py FOLDER_OF_THE_BUILT_SITE", file=sys.stderr)
        return 2
    read.cache_clear()
    root, inside, outside, broken = pathlib.Path(argv[0]), 0, 0, []
    for page in pages(root):
        for link in read(page.resolve()).links:
            url = urllib.parse.urlsplit(link)
            outside += bool(url.scheme or url.netloc)
            inside += not (url.scheme or url.netloc)
            if found := problem(root, page.resolve(), link):
                broken.append(f"{page.relative_to(root)}: {link}: {found}")
    print(
        "\n".join(sorted(set(broken))) or f"{inside:,} links inside, all right; {outside:,} others"
    )
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
