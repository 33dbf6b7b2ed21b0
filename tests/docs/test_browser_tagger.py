"""Tests in headless Chromium that the page of docs/howto tags text as the model does."""

import functools
import http.server
import pathlib
import shutil
import subprocess
import threading

import keras
import pytest

from tests.exported_models import TAGS
from tfreps.export import open_for_export, write_portable_export
from tfreps.inference import TextTagger
from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.slow
api = pytest.importorskip("playwright.sync_api", reason="needs `pip install playwright`")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")
CHROMIUM, NPM = shutil.which("chromium"), shutil.which("npm")
if CHROMIUM is None or NPM is None:
    pytest.skip("needs Debian's chromium and npm on the path", allow_module_level=True)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "howto" / "browser_tagger.html"
PACKAGE = "onnxruntime-web@1.30.0"
RUNTIME = "ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
TEXTS = "张三在北京", "王 五 \U0001f600 在 上海。", "", "北京" * 60


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """Returns the folder of onnxruntime-web, which npm installs."""
    folder = tmp_path_factory.mktemp("npm")
    command = [NPM, "install", "--ignore-scripts", "--no-audit", "--prefix", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if done.returncode:
        pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr[-200:]}")
    return folder / "node_modules" / "onnxruntime-web" / "dist"


def test_the_page_tags_as_the_model_does(runtime, tmp_path):
    tagger = make_tagger()
    folder = write_portable_export(open_for_export(tagger), tmp_path / "model").folder
    shutil.copy(PAGE, folder / "index.html")
    for name in RUNTIME:
        shutil.copy(runtime / name, folder)
    with serving(folder) as address, api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("!document.getElementById('tag').disabled")
        for text in TEXTS:
            found = page.evaluate("text => window.tag(text)", text)
            expected = tagger(text).spans
            assert [span["text"] for span in found] == [span.text for span in expected]
            assert [span["type"] for span in found] == [span.type for span in expected]
            shares = [round(span.confidence, 4) for span in expected]
            # Rounded to four places, equal numbers may be 0.0001 apart.
            assert [span["confidence"] for span in found] == pytest.approx(shares, abs=1.01e-4)
        page.fill("#text", TEXTS[0])
        page.click("#tag")
        page.wait_for_function("document.getElementById('answer').textContent")
        assert tagger(TEXTS[0]).spans[0].text in page.text_content("#answer")
        browser.close()


def make_tagger():
    keras.utils.set_random_seed(4)
    indexer = TokenIndexer.from_sentences([list("张三在北京王五上海。")])
    model = Tagger(BiLSTMEncoder(TokenEmbedder(indexer.vocabulary_size, 8), 5), TAGS, "bio")
    for weight in model.trainable_weights:
        weight.assign(3.0 * keras.random.normal(weight.shape))
    return TextTagger(model, indexer, tokens="characters")


class serving:
    """Context manager that serves a folder on a free port of this machine."""

    def __init__(self, folder):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
