"""Captures the page of a running server as a screenshot for the site.

    tfreps serve exports/code --page
    python docs/capture_server_page.py http://127.0.0.1:8501 docs/images/server_page.png "TEXT"

Needs the extra `browser` and Chromium.
"""

import shutil
import sys


def capture(address, path, text):
    """Enters a text on the page, waits for the responses and saves the whole page as a PNG file."""
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 900, "height": 600}, device_scale_factor=1.5)
        page.goto(address)
        page.wait_for_selector("#models label")
        page.fill("#text", text)
        page.press("#text", "Control+Enter")
        expect(page.locator("#status")).to_contain_text("Answers:", timeout=60_000)
        page.screenshot(path=path, full_page=True)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python docs/capture_server_page.py ADDRESS IMAGE.png TEXT")
    capture(*sys.argv[1:])
