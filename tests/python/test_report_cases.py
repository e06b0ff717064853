"""What the page of a run shows of its test cases: marks to compare with, groups, pictures and texts."""

import json
import shutil

import pytest
from browser import needs_browser, open_page
from series_files import TINY, done, make_set, result, run, the_error

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
CASES = {
    "reference_lines": [{"name": f"chance {HOSTILE}", "score": 0.25}],
    "groups": [
        {"name": f"length {HOSTILE}", "rows": [{"name": "1 to 5", "cases": 1234, "right": 617}]},
        {"name": "root", "rows": [{"name": HOSTILE, "cases": 7, "right": 7}, {"name": "none", "cases": 0, "right": 0}]},
    ],
    "pictures": [
        {
            "width": 2,
            "height": 2,
            "grey": "AECA/w==",
            "truth": "cat",
            "predicted": HOSTILE,
            "share": 0.9,
            "right": False,
        },
        {"width": 1, "height": 1, "grey": "AA==", "truth": "frog", "predicted": "frog", "share": 0.5, "right": True},
    ],
    "texts": [{"texts": [f"A fine film {HOSTILE}", "\u202e…"], "truth": "good", "predicted": "bad", "share": None}],
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run of a family that says nothing of its cases."""
    folder = tmp_path_factory.mktemp("plain")
    data = make_set(folder / "data")
    done(run("train", *TINY, "--data", data, "--run", folder / "run", "--no-report"))
    return folder / "run"


@pytest.fixture
def with_cases(plain, tmp_path):
    def write(cases):
        folder = shutil.copytree(plain, tmp_path / "run")
        changed = result(folder)
        changed["test"] |= cases
        (folder / "result.json").write_text(json.dumps(changed))
        return folder

    return write


def page_of(folder):
    done(run("report", folder))
    page = open_page(folder / "report.html")
    assert page.problems() == []
    return page


@needs_browser
def test_a_browser_shows_groups_pictures_and_texts(with_cases):
    page = page_of(with_cases(CASES))
    for text in ("Groups", "By root", "50.0 %", "1,234", "Pictures", "✗", "✓", "frog", "Texts", "A fine film"):
        assert text in page.text
    assert any("wrong: cat taken for" in label for label in page.labels), "a picture says what it is"
    assert any("To compare with: chance" in label for label in page.labels), "so does the chart of the scores"


@needs_browser
def test_hostile_cases_stay_text(with_cases):
    page = page_of(with_cases(CASES))
    assert page.text.count(HOSTILE) == 6
    assert "img" not in page.tags


@needs_browser
def test_a_comparison_shows_what_runs_on_the_same_data_are_compared_with(with_cases, plain, tmp_path):
    file = tmp_path / "both.html"
    done(run("report", plain, with_cases(CASES), "--output", file))
    page = open_page(file)
    assert page.problems() == []
    assert sum("To compare with: chance" in label for label in page.labels) == 1


@needs_browser
def test_a_run_without_them_has_no_such_sections(plain):
    page = page_of(plain)
    for heading in ("Groups", "Pictures", "Texts"):
        assert heading not in page.text


def test_cases_of_another_kind_are_named(with_cases):
    folder = with_cases({"pictures": [CASES["pictures"][0] | {"grey": "AA=="}]})
    message = the_error(run("report", folder), "report")
    assert message == f'{folder / "result.json"}: test: pictures[0]: field "grey": expected 2 x 2 bytes, got 1'
