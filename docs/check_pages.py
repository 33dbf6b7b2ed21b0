"""Opens every built page in headless Chromium at two widths, and saves screenshots.

    python docs/check_pages.py docs/_build/html SCREENSHOTS

A page that is wider than its window, a missing image, raw markup and an error in the console are
problems. Requests to other sites are blocked. Needs the extra `browser` and Chromium.
"""

import http.server
import pathlib
import re
import shutil
import sys
import threading

from check_links import pages

WIDTHS = {"wide": 1280, "narrow": 390}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
# Directives, roles, substitutions and links that reached the text of a page unconverted.
RAW = re.compile(
    r"^\s*(\.\. [\w-]+::|:::+|```)|(?<![\w`]):(doc|ref|class|func|meth):`|\]\([\w./]+\)|"
    r"\{(image|doc|ref|grid|toctree)\}|<span class=",
    re.M,
)
# Selects the text of a page without its code, which may show markup on purpose.
PROSE = """() => {
    const copy = document.querySelector("main, body").cloneNode(true);
    copy.querySelectorAll("pre, code, script, style").forEach((node) => node.remove());
    return copy.textContent;
}"""
WIDE = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("main *")]
        .filter((node) => node.getBoundingClientRect().right > width + 1)
        .map((node) => node.tagName.toLowerCase() + "." + node.className).slice(0, 5);
}"""
MISSING = (
    """() => [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"""
)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Handler that serves a folder without a log."""

    def log_message(self, *args):
        pass


def serve(folder):
    """Serves a folder on a free loopback port; returns the server and its address."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: QuietHandler(*args, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/"


def problems(page, errors):
    """Returns a list of the problems of an open page."""
    found = [f"wider than its window: {name}" for name in page.evaluate(WIDE)]
    found += [f"missing image: {source}" for source in page.evaluate(MISSING)]
    found += [f"raw markup: {match[0].strip()!r}" for match in RAW.finditer(page.evaluate(PROSE))]
    return found + [f"error: {text}" for text in errors]


def check(root, screenshots):
    """Opens all pages at all widths; returns `[(page, width, problem)]` and the number opened."""
    from playwright.sync_api import sync_playwright

    server, address = serve(root)
    found, names = [], [str(path.relative_to(root)) for path in pages(root)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for kind, width in WIDTHS.items():
            page, errors = browser.new_page(viewport={"width": width, "height": 900}), []
            page.route(lambda url: not url.startswith(address), lambda route: route.abort())
            page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            for name in names:
                errors.clear()
                page.goto(address + name, wait_until="load")
                found += [(name, kind, text) for text in problems(page, errors)]
                target = screenshots / kind / name.replace("/", "__").replace(".html", ".png")
                target.parent.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=target, full_page=True)
        browser.close()
    server.shutdown()
    server.server_close()
    return found, len(names) * len(WIDTHS)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if len(argv) != 2 or not pathlib.Path(argv[0], "index.html").is_file():
        print("usage: python docs/check_pages.py FOLDER_OF_THE_SITE SCREENSHOTS", file=sys.stderr)
        return 2
    found, opened = check(pathlib.Path(argv[0]).resolve(), pathlib.Path(argv[1]))
    for name, kind, text in found:
        print(f"{name} ({kind}): {text}")
    print(f"{opened} views opened, {len(found)} problems; screenshots in {argv[1]}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
