"""Recognizes texts whose words no spaces separate, in the scripts that have none."""

import pytest

from tests.exported_models import make_trained
from tfreps._src.text.unspaced import is_unspaced

CHINESE = "房间很大，但是没有热水，服务员的态度也不好。"
UNSPACED = {
    "Chinese": CHINESE,
    "Japanese": "部屋は広いですが、お湯が出ません。",
    "Thai": "ห้องกว้างแต่ไม่มีน้ำร้อน",
    "Burmese": "အခန်းကျယ်ပေမယ့်ရေနွေးမရှိဘူး။",
    "with Latin names": f"iPhone和iPad：{CHINESE}",
}
SPACED = {
    "words of Chinese": "房间 很 大 ， 但是 没有 热水 ， 服务员 的 态度 也 不好 。",
    "characters of Chinese": " ".join(CHINESE),
    "English": "The room is large, but there is no hot water.",
    "Korean": "방은 넓지만 뜨거운 물이 나오지 않습니다.",
    "Russian with a Chinese name": "Он живёт в городе 北京市朝阳区 уже десять лет.",
    "words of Thai": "ห้อง กว้าง แต่ ไม่มี น้ำร้อน",
    "words of Burmese": "အခန်း ကျယ် ပေမယ့် ရေနွေး မရှိ ဘူး။",
    "words of Khmer": "បន្ទប់ ធំ ប៉ុន្តែ គ្មាន ទឹកក្តៅ",
    "words of Japanese": "部屋 は 広い です が 、 お湯 が 出 ませ ん 。",
    "digits": "2024 10:30",
    "nothing": "",
}


@pytest.mark.parametrize("text", UNSPACED.values(), ids=UNSPACED)
def test_scripts_without_spaces(text):
    assert is_unspaced([text]) and is_unspaced(["", text, "!"])


@pytest.mark.parametrize("text", SPACED.values(), ids=SPACED)
def test_texts_with_spaces(text):
    assert not is_unspaced([text])


def test_a_model_of_words_warns_once(caplog):
    model = make_trained("cnn")
    model.tokenize([CHINESE, CHINESE])
    model.tokenize([CHINESE])
    assert caplog.text.count("no spaces between") + caplog.text.count("without spaces") == 1
    caplog.clear()
    make_trained("cnn").tokenize(["The room", CHINESE[:3]])
    assert not caplog.records
