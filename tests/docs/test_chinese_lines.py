"""Lines of Chinese paragraphs are joined, but not those of code."""

from tests.conftest import CHECKOUT
from tests.docs.pages import extension

lines = extension("chinese_lines")


def test_lines_are_joined_only_between_chinese_characters():
    assert lines.joined("字符，\n也是。\n\n- 第一\n  行 CRF\n得分 `x`\n的。\n") == (
        "字符，也是。\n\n- 第一行 CRF\n得分 `x`\n的。\n"
    )
    code = "```python\n# 第一行，\n第二行\n```\n"
    assert lines.joined(f"见\n下：\n{code}完\n了\n{code}") == f"见下：\n{code}完了\n{code}"


def test_no_page_has_a_line_end_between_chinese_characters():
    pages = sorted((CHECKOUT / "docs").glob("*/*_zh.md"))
    assert len(pages) > 8
    for page in pages:
        text = page.read_text(encoding="utf-8")
        joined = lines.joined(text)
        assert not any(lines.LINE_END.search(part) for part in lines.FENCED.split(joined)[::2])
        assert lines.FENCED.split(joined)[1::2] == lines.FENCED.split(text)[1::2]
        assert "".join(joined.split()) == "".join(text.split())
