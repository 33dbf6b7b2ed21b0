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


def test_only_line_ends_of_chinese_paragraphs_change():
    pages = sorted((CHECKOUT / "docs").glob("*/*_zh.md"))
    assert len(pages) > 8
    for page in pages:
        text = page.read_text(encoding="utf-8")
        joined = lines.joined(text)
        assert len(joined) < len(text) and "".join(joined.split()) == "".join(text.split())
        assert code_lines(joined) == code_lines(text), page


def code_lines(text):
    found, is_code = [], False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        if is_code:
            found.append(line)
    return found
