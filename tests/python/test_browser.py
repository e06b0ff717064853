"""The browser helper sees what is wrong with a page."""

import re

import pytest
from browser import needs_browser, open_page

pytestmark = needs_browser

GOOD = '<!DOCTYPE html><body data-ready="true" data-charts="0">a &lt;b&gt;<script>"code"</script></body>'


def page_of(tmp_path, html):
    file = tmp_path / "page.html"
    file.write_text(html)
    return open_page(file)


def test_a_page_in_order_has_no_problems(tmp_path):
    page = page_of(tmp_path, GOOD)
    assert page.problems() == []
    assert "a <b>" in page.text
    assert "code" not in page.text


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ("<script>throw new Error('on purpose')</script>", "console: .*on purpose"),
        ("<script>console.error('on purpose')</script>", "console: .*on purpose"),
        ("<canvas aria-label='J'></canvas>", "0 charts drawn of 1"),
        ("<script>document.body.dataset.charts = 1</script><canvas></canvas>", "no text alternative"),
        ("<script>document.body.removeAttribute('data-ready')</script>", "not drawn to its end"),
        (
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><img src='x.png'>",
            "console: .*Content Security Policy",
        ),
    ],
)
def test_each_problem_is_seen(tmp_path, extra, problem):
    page = page_of(tmp_path, GOOD.replace("</body>", extra + "</body>"))
    assert len(page.problems()) == 1
    assert re.search(problem, page.problems()[0])
