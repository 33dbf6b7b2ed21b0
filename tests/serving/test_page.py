"""Tests in headless Chromium that the page shows the outputs of the models."""

import os
import pathlib
import shutil

import keras
import numpy as np
import pytest

from tests import tiny_bert, tiny_run
from tests.convert.sentence_transformers_fixture import FOLDER
from tests.export.test_labeling_signatures import make_trained
from tests.serving.server import small_models
from tests.serving.server.small_models import serving
from tfreps import load
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps.export import open_for_export, write_export
from tfreps.inference import TextBiLM, TextClassifier
from tfreps.models import Classifier
from tfreps.serving.server.rest.page_routes import page_routes

pytestmark = pytest.mark.slow
api = pytest.importorskip("playwright.sync_api", reason="needs `pip install playwright`")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Debian's chromium on the path", allow_module_level=True)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "serving" / "page"
# Folder of the screenshots; see CONTRIBUTING.md.
SCREENSHOTS = os.environ.get("TFREPS_SCREENSHOTS")
SENTENCE = "the dog put Ada in London ."
CHINESE = "我 在 房间 里 。"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def make_bert():
    """Returns an untrained classifier on a tiny BERT that reads characters."""
    tokenizer = tiny_bert.characters("the dog put a in london", CHINESE)
    encoder = tiny_bert.make_encoder(tokenizer)
    model = Classifier(encoder, ["bad", "good"], "first")
    return TextClassifier(model, PieceIndexer(tokenizer), tokens=None)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    keras.utils.set_random_seed(1)
    models = {
        "tagger": make_trained("crf"),
        "reviews": make_trained("attention"),
        "bert": make_bert(),
        "elmo": TextBiLM(tiny_run.make_pretrainer(), tiny_run.VOCABULARY),
        "embedder": load(FOLDER / "model"),
    }
    for name, model in models.items():
        write_export(open_for_export(model, explain=True), folder / name)
    return folder


def routes(server):
    return page_routes(server._core, PAGE, ["the river bank", "he put money in the bank"])


@pytest.fixture(scope="module")
def server(exports):
    with serving(*sorted(exports.iterdir()), make_routes=routes) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


@pytest.fixture
def open_page(browser):
    """Yields a function that opens the page of a server; any error fails the test."""
    contexts, wrong = [], []

    def opened(server, width=1100, height=900):
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        address = f"http://127.0.0.1:{server.rest_port}"
        page.on("request", lambda r: r.url.startswith(address) or wrong.append(r.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda m: m.type == "error" and wrong.append(m.text))
        page.goto(f"{address}/")
        page.wait_for_selector("#models label")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def ask(page, text):
    page.fill("#text", text)
    page.evaluate("document.getElementById('status').textContent = ''")
    page.press("#text", "Control+Enter")
    api.expect(page.locator("#status")).to_contain_text("Answers:", timeout=60_000)


def screenshot(page, name):
    if SCREENSHOTS:
        page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def card(page, name):
    return page.get_by_role("region", name=name, exact=True)


def answer(server, model, text):
    """Returns the outputs of the signature `explain`."""
    with server._core.pool.lease(model) as (_, servable):
        inputs = {"text": np.array([text.encode()], object)}
        return {
            name: value[0] for name, value in small_models.ask(servable, "explain", inputs).items()
        }


def test_tags_and_paths(server, open_page):
    page = open_page(server)
    ask(page, SENTENCE)
    expected = answer(server, "tagger", SENTENCE)
    shown = card(page, "tagger").locator(".token").all_inner_texts()
    assert len(shown) == expected["sequence_len"] == 7
    for text, token, tag, share in zip(
        shown, expected["tokens"], expected["tags"], expected["confidences"], strict=True
    ):
        word, below = text.split("\n")
        assert (word, below.split(" ")[0]) == (token.decode(), tag.decode())
        assert float(below.split(" ")[1]) == pytest.approx(100 * share, abs=0.06)
    spans = card(page, "tagger").locator(".span").count()
    assert spans == sum(tag != b"O" for tag in expected["tags"])
    rows = card(page, "tagger").locator("tbody tr")
    assert rows.count() == 5
    for row, tags in zip(rows.all(), expected["path_tags"], strict=True):
        assert row.locator("td").all_inner_texts()[2:] == [tag.decode() for tag in tags]
    screenshot(page, "tags")


def test_labels_and_what_pooling_takes(server, open_page):
    page = open_page(server)
    ask(page, SENTENCE)
    expected = answer(server, "reviews", SENTENCE)
    rows = [row.inner_text().split("\t") for row in card(page, "reviews").locator("tbody tr").all()]
    by_label = dict(zip(expected["labels"], expected["probabilities"], strict=True))
    assert [row[0] for row in rows] == [
        name.decode() for name in sorted(by_label, key=by_label.get, reverse=True)
    ]
    for name, *_, share in rows:
        assert float(share.split()[0]) == pytest.approx(100 * by_label[name.encode()], abs=0.06)
    taken = card(page, "reviews").locator(".token small").all_inner_texts()
    shown = [float(text.split()[0]) for text in taken]
    assert shown == pytest.approx(100 * expected["token_weights"], abs=0.06)


def test_attention_by_layer_head_and_token(server, open_page):
    page = open_page(server)
    ask(page, "the dog")
    expected = answer(server, "bert", "the dog")
    names = [name.decode() for name in expected["attention_tokens"]]
    part = card(page, "bert")
    part.get_by_role("combobox", name="layer").select_option("0")
    part.get_by_role("combobox", name="head").select_option("2")
    part.get_by_role("combobox", name="token").select_option(str(len(names) - 1))
    assert part.get_by_role("img").get_attribute("aria-label").startswith("Attention map, layer 1")
    row = expected["attention"][0, 1, -1]
    best = names[int(row.argmax())]
    text = part.get_by_role("status").inner_text()
    assert text.startswith(f"{names[-1]} attends to {best} {100 * row.max():.1f} %")
    size = part.get_by_role("img").evaluate("canvas => [canvas.width, canvas.height]")
    assert size == [110 + 22 * len(names)] * 2
    screenshot(page, "attention")


def test_surprise_and_neighbors(server, open_page):
    page = open_page(server)
    ask(page, "the dog left the bank")
    ask(page, "a dog in the house")
    expected = answer(server, "elmo", "a dog in the house")
    shown = card(page, "elmo").locator(".token small").all_inner_texts()
    wanted = zip(expected["forward_surprise"], expected["backward_surprise"], strict=True)
    assert shown == [f"{forward:.1f} / {backward:.1f}" for forward, backward in wanted]
    card(page, "elmo").get_by_role("button", name="dog").click()
    shown = card(page, "elmo").locator("tbody tr")
    api.expect(shown).to_have_count(10, timeout=60_000)
    rows = [row.inner_text().split("\t") for row in shown.all()]
    similarities = [float(row[0]) for row in rows]
    assert similarities == sorted(similarities, reverse=True)
    sources = {row[2] for row in rows}
    assert sources & {"text 1", "text 2"} and sources & {"sentence 1", "sentence 2"}
    assert page.locator("button[aria-pressed=true]").all_inner_texts() == ["dog"]
    screenshot(page, "neighbors")


def test_similar_texts(server, open_page):
    page = open_page(server)
    texts = ["the hotel", "dogs", "the the hotel", ": - )"]
    ask(page, texts[0])
    assert "There are no other texts yet" in card(page, "embedder").inner_text()
    for text in texts[1:]:
        ask(page, text)
    shown = card(page, "embedder").locator("tbody tr")
    api.expect(shown).to_have_count(3, timeout=60_000)
    rows = [row.inner_text().split("\t") for row in shown.all()]
    cosines = load(FOLDER / "model").similarity(texts[3:], texts[:3])[0]
    order = np.argsort(-cosines)
    assert [row[1] for row in rows] == [texts[i] for i in order]
    assert [float(row[0]) for row in rows] == pytest.approx(cosines[order], abs=0.0006)
    screenshot(page, "similarity")


def test_the_keyboard_alone(server, open_page):
    page = open_page(server)
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("the dog")
    order = []
    for _ in range(6):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.value || document.activeElement.type"))
    assert order == ["bert", "elmo", "embedder", "reviews", "tagger", "submit"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")  # deselects the tagger
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    api.expect(page.locator("#status")).to_have_text("Answers: 4.", timeout=60_000)
    assert card(page, "tagger").count() == 0 and card(page, "elmo").count() == 1


@pytest.mark.parametrize("text", [SENTENCE, CHINESE], ids=["English", "Chinese"])
def test_a_narrow_screen(server, open_page, text):
    page = open_page(server, width=360, height=740)
    ask(page, text)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert "房间" in card(page, "tagger").inner_text() or text == SENTENCE
    screenshot(page, f"narrow-{'chinese' if text == CHINESE else 'english'}")


def test_one_model_is_enough(exports, open_page):
    with serving(exports / "tagger", make_routes=routes) as server:
        page = open_page(server)
        ask(page, SENTENCE)
        assert page.locator(".card").count() == 1
        headings = page.locator("h3").all_inner_texts()
        assert headings == ["Tags", "Best paths"]


def test_text_is_text(server, open_page):
    page = open_page(server)
    ask(page, "<img src=x onerror=alert(1)> <b>bold</b>")
    assert page.locator("#answers img, #answers b").count() == 0
    shown = card(page, "tagger").locator(".token > span").all_inner_texts()
    assert shown[:4] == ["<", "img", "src", "="]


def test_no_token_at_all(server, open_page):
    page = open_page(server)
    ask(page, "\u00a0\u200b")
    assert page.locator(".wrong").count() == 0
