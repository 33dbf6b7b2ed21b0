"""Tests attacks on the page in headless Chromium: scripts in texts, and other web sites."""

import contextlib
import http.server
import threading

import pytest
import requests
import tensorflow as tf

from tests.serving.server.small_models import save, save_half, serving, spec
from tests.serving.test_page import CHROMIUM, FLAGS, PAGE, api, ask, card
from tfreps.serving.server.rest.page_routes import page_routes

pytestmark = pytest.mark.slow

HARM = "<img src=x onerror='window.hacked=1'>"
SCRIPT = "</li><script>window.hacked=1</script>"
LINK = "javascript:window.hacked=1"
NAME = "<b>'\"&amp;]"  # name of a model
SITE = "evil.example"  # the browser resolves it to this machine


def hostile(text):
    """Returns outputs in which all strings that the page shows contain HTML."""
    words = [HARM, SCRIPT, LINK]
    row = {
        "tokens": words,
        "tags": [f"B-{HARM}", f"I-{HARM}", SCRIPT],
        "confidences": [0.5] * 3,
        "sequence_len": 3,
        "path_tags": [words, [LINK, HARM, SCRIPT]],
        "path_probabilities": [0.6, 0.4],
        "labels": words,
        "probabilities": [0.5, 0.3, 0.2],
        "token_weights": [0.5, 0.3, 0.2],
        "attention": [[[[0.5, 0.3, 0.2]] * 3]],
        "attention_tokens": words,
        "forward_surprise": [1.0, 2.0, 3.0],
        "elmo": [[1.0]] * 3,
    }
    rows = {name: tf.constant([value]) for name, value in row.items()}
    return {n: tf.repeat(value, tf.size(text), axis=0) for n, value in rows.items()}


def refuses(text):
    check = tf.debugging.Assert(False, [HARM, text])
    with tf.control_dependencies([check]):
        return {"tags": tf.identity(text)}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    takes = {"text": spec("string", None)}
    save(folder / NAME / "1", explain=(hostile, takes))
    save(folder / "refuses" / "1", explain=(refuses, takes))
    save_half(folder / "half" / "1")
    with serving(
        *sorted(folder.iterdir()),
        make_routes=lambda server: page_routes(server._core, PAGE, [HARM, f"{SCRIPT} {LINK}"]),
    ) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    names = f"--host-resolver-rules=MAP {SITE} 127.0.0.1"
    with api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, names])


@pytest.fixture
def page(browser):
    context = browser.new_context()
    page = context.new_page()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert dialogs == []


def open_page(page, server, host="127.0.0.1"):
    page.goto(f"http://{host}:{server.rest_port}/page/")
    page.wait_for_selector("#models label")
    assert page.locator("#models label").count() == 2


def injected(page):
    """Returns the number of injected elements, and the value that an injected script sets."""
    count = page.locator("main :is(img, script, iframe, svg, b, a, object)").count()
    return count, page.evaluate("window.hacked")


def test_html_in_all_that_is_shown(server, page):
    open_page(page, server)
    ask(page, f"{HARM} {SCRIPT}")
    assert injected(page) == (0, None)
    shown = card(page, NAME)
    assert shown.locator("h2").inner_text() == NAME
    words = shown.locator(".token > span:first-child").all_inner_texts()
    assert words[:3] == [HARM, SCRIPT, LINK]
    assert HARM in shown.locator("table").first.inner_text()
    error = card(page, "refuses").locator(".wrong").inner_text()
    assert "<img src=x onerror=" in error and "</script>" in error
    shown.get_by_role("button", name=LINK).click()
    page.wait_for_timeout(200)
    assert injected(page) == (0, None)


def test_the_policy_of_the_page_stops_script_that_got_in(server, page):
    """The policy of the page also blocks handlers, inline scripts and files of other sites."""
    open_page(page, server)
    page.evaluate(
        """html => { document.querySelector("#answers").innerHTML = html;
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script); }""",
        HARM,
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("fetch('http://localhost:9/').catch(() => 'stopped')") == "stopped"


@contextlib.contextmanager
def site():
    """Serves another site on this machine, with an empty page."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802 (the name in the library)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found.server_address[1]
        found.shutdown()


ASK = """async ([url, options]) => {
  try {
    const answer = await fetch(url, { method: "POST", body: '{"inputs": [2.0]}', ...options });
    return [answer.type, answer.status, await answer.text()];
  } catch (error) {
    return [String(error)];
  }
}"""
JSON = {"headers": {"Content-Type": "application/json"}}


def asked(server):
    """Returns the number of requests that the model received."""
    text = requests.get(f"http://127.0.0.1:{server.rest_port}/monitoring/prometheus/metrics").text
    counts = [line for line in text.splitlines() if 'request_count{model_name="half"' in line]
    return sum(float(line.split()[-1]) for line in counts)


def test_pages_of_another_site_ask_nothing(server, page):
    url = f"http://127.0.0.1:{server.rest_port}/v1/models/half:predict"
    before = asked(server)
    with site() as port:
        for host in (SITE, "localhost"):
            page.goto(f"http://{host}:{port}/")
            for options in ({}, {"mode": "no-cors"}, JSON):
                found = page.evaluate(ASK, [url, options])
                assert found == ["TypeError: Failed to fetch"] or found == ["opaque", 0, ""]
    assert asked(server) == before


def test_a_site_that_points_its_name_to_this_machine(server, page):
    """DNS rebinding: for the browser, the server's port belongs to the site."""
    found = page.goto(f"http://{SITE}:{server.rest_port}/page/")
    assert found.status == 403 and "does not accept requests for the host" in found.text()
    before = asked(server)
    found = page.evaluate(ASK, ["/v1/models/half:predict", JSON])
    assert found[:2] == ["basic", 403] and asked(server) == before


def test_a_site_that_is_allowed(server, page, tmp_path):
    save_half(tmp_path / "half" / "1")
    with site() as port:
        origin = f"http://{SITE}:{port}"
        with serving(tmp_path / "half", grpc_port=None, allowed_origins=(origin,)) as allowing:
            page.goto(f"{origin}/")
            url = f"http://127.0.0.1:{allowing.rest_port}/v1/models/half:predict"
            assert page.evaluate(ASK, [url, JSON]) == ["cors", 200, '{"outputs": [3.0]}']
