"""The page of a language model: loss by place, surprise, samples, and a metric of which less is better."""

import json

import pytest
from browser import needs_browser, open_page
from series_files import done, run, the_error

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
METRIC = {"key": "perplexity", "name": "perplexity", "share": False, "lower_is_better": True}
BIT = 0.6931471805599453  # in nats
PLACES = [(0, 0, 9), (1, 1, 8), (2, 3, 7.5), (4, 7, 7), (8, 15, 6.5), (16, 31, 6.25)]
LANGUAGE = {
    "by_place": [{"from": first, "to": last, "loss": bits * BIT} for first, last, bits in PLACES],
    "most_surprising": [
        {"texts": ["The", " lobster", "\n", " ", "", HOSTILE], "nll": [0.1, 9.5, 2, 0.5, None, 14 * BIT]}
    ],
    "least_surprising": [{"texts": ["of", " the"], "nll": [0.01, 0.02]}],
    "samples": [{"prompt": "Once upon", "text": f" a time\n  {HOSTILE}"}, {"prompt": "", "text": ""}],
}
SECTIONS = ("Loss by place in the block", "Most surprising", "Least surprising", "Samples")


def write_run(folder, details):
    """A run directory made by hand."""
    folder.mkdir()
    lines = [{"kind": "metric", **METRIC}]
    for epoch, perplexity in enumerate((5000.0, 300.0, 120.0, 130.0), start=1):
        place = {"step": 50 * epoch, "epoch": epoch}
        lines.append({"kind": "train", **place, "loss": 5.0, "task_loss": 5.0, "perplexity": perplexity})
        lines.append({"kind": "evaluation", "split": "validation", **place, "loss": 5.0, "perplexity": perplexity})
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "config.toml").write_text('[run]\npreset = "language/test"\nprotocol = "honest"\n')
    also = {"word_perplexity": 151.5, "bits_per_byte": 1.512, "tokens": 1234567.0}
    result = {
        **{"family": "language", "preset": "language/test", "model": "Primal", "data": "Lobsters", "seed": 1},
        **{"protocol": "honest", "steps": 200, "best_step": 150, "epochs": 4, "best_epoch": 3, "metric": METRIC},
        **{"measure": "perplexity", "validation_perplexity": 120.0, "seconds": 12.5, "parameters": 1234},
        "test": {"perplexity": 118.25, "loss": 4.77, **also, **details},
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


@pytest.fixture
def page_of(tmp_path):
    def show(*all_details, dark=False):
        runs = [write_run(tmp_path / f"run-{i}", details) for i, details in enumerate(all_details)]
        done(run("report", *runs, "--output", tmp_path / "page.html"))
        page = open_page(tmp_path / "page.html", dark=dark)
        assert page.problems() == []
        return page

    return show


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_places_passages_and_samples(page_of, dark):
    page = page_of(LANGUAGE, dark=dark)
    for text in (*SECTIONS, "lobster", "12 and more bits", "↵", "·", "▫", "Once upon", "(nothing)"):
        assert text in page.text
    assert 'title="“ lobster”: 13.7 bits"' in page.dom
    assert any("bits per token: from 9 to 6.25" in label for label in page.labels)


@needs_browser
@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (6, "with at least 16 others before them are 2.00 bits easier to predict than the first 4 of a block"),
        (8.5, "with at least 16 others before them are 0.50 bits harder to predict than the first 4 of a block"),
        (8, "are as hard to predict as the first 4 of a block: the model makes no use"),
    ],
)
def test_the_page_says_whether_the_model_uses_its_context(page_of, last, sentence):
    places = [*LANGUAGE["by_place"][:-1], {"from": 16, "to": 31, "loss": last * BIT}]
    assert sentence in page_of({"by_place": places}).text


@needs_browser
def test_hostile_texts_stay_text(page_of):
    page = page_of(LANGUAGE)
    assert page.text.count(HOSTILE) == 2
    assert "img" not in page.tags


@needs_browser
def test_a_metric_of_which_less_is_better_and_its_other_numbers(page_of):
    page = page_of({})
    for text in (
        "Test perplexity",
        "118.250",
        "Less is better",
        "Word perplexity",
        "Bits per byte",
        "1.512",
        "1,234,567",
    ):
        assert text in page.text
    for heading in (*SECTIONS, "Surprise"):
        assert heading not in page.text


@needs_browser
def test_a_comparison_lays_the_places_of_its_runs_on_top_of_each_other(page_of):
    page = page_of(LANGUAGE, {"by_place": LANGUAGE["by_place"][:4]})
    assert any("run-0: from 9 to 6.25; run-1: from 9 to 7" in label for label in page.labels)


def test_passages_of_another_kind_are_named(tmp_path):
    folder = write_run(tmp_path / "run", {"most_surprising": [{"texts": ["a", "b"], "nll": [1.0]}]})
    assert "nll" in the_error(run("report", folder), "report")
