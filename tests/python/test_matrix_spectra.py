"""Spectra of attention and kernel matrices: in a run, by primal analyze, on pages, and the ranks that they advise."""

import json
import re
import shutil
from pathlib import Path

import pytest
from browser import needs_browser, open_page
from language_files import train_bytes
from series_files import TINY, done, run, settings, the_error

FIXTURES = Path(__file__).parents[1] / "fixtures" / "runs"


def analysis(*arguments):
    return json.loads(done(run("analyze", *arguments, "--json")))


def page_data(file):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read_text())[1])


@pytest.fixture(scope="module")
def softmax(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("softmax") / "run"
    done(run("train", *TINY, *settings("model.layers=softmax,softmax"), "--data", data, "--run", folder))
    return folder


@pytest.fixture(scope="module")
def both(data, trained, softmax):
    return analysis(softmax, trained, "--data", data)


def test_every_layer_has_the_spectrum_of_its_matrix(both):
    for one, kind, matrix, pairs in zip(both, ("softmax", "primal"), ("attention", "kernel"), (12, 8), strict=True):
        assert [layer["layer"] for layer in one["matrices"]] == ["layer 1", "layer 2"]
        for layer in one["matrices"]:
            assert (layer["kind"], layer["matrix"], layer["samples"], layer["features"]) == (kind, matrix, 8, 8)
            assert 6 <= layer["tokens"] <= 12
            assert layer["places"] == list(range(1, len(layer["places"]) + 1))
            assert len(layer["places"]) <= pairs
            assert len(layer["heads"]) == 2
            for curves in (layer["all"], *layer["heads"]):
                assert curves["singular_values"] == sorted(curves["singular_values"], reverse=True)
                assert curves["explained"] == sorted(curves["explained"])
                assert curves["explained"][-1] == pytest.approx(1)
                assert 1 <= curves["effective_rank"] <= len(layer["places"])
                for share, rank in zip((0.9, 0.95, 0.99), curves["ranks"], strict=True):
                    assert curves["explained"][rank - 1] >= share - 1e-6
                    assert rank == 1 or curves["explained"][rank - 2] < share + 1e-6
            means = zip(*(head["explained"] for head in layer["heads"]), strict=True)
            assert layer["all"]["explained"] == pytest.approx([sum(pair) / 2 for pair in means], rel=1e-4)
            assert len(layer["all"]["explained_deviations"]) == len(layer["places"])
        assert one["matrices_of"].startswith("at most 8 samples of a layer and 4096 tokens together")


def test_the_largest_singular_value_of_a_softmax_is_near_one(both):
    """Its rows are shares: the largest singular value is at least 1, and 1 exactly where all rows are alike."""
    for layer in both[0]["matrices"]:
        assert 1 - 1e-6 <= layer["all"]["singular_values"][0] < 4


def test_the_kernel_is_that_of_the_check(data, trained):
    (one,) = analysis(trained, "--data", data, "--ksvd", "--null", "1", "--examples", "8")
    for layer, checked in zip(one["matrices"], one["ksvd"]["layers"], strict=True):
        kernel = checked["trained"]["kernel"]
        assert layer["all"]["explained"] == pytest.approx(kernel["explained"], rel=1e-4)
        assert layer["all"]["effective_rank"] == pytest.approx(kernel["effective_rank"], rel=1e-6)


def test_the_table_and_its_advice(data, both, softmax):
    text = done(run("analyze", softmax, "--data", data))
    first, second = both[0]["matrices"]
    for layer in (first, second):
        (row,) = [line for line in text.splitlines() if line.startswith(f"softmax of {layer['layer']} ")]
        ranks = [str(rank) for rank in layer["all"]["ranks"]]
        spread = f"{layer['all']['effective_rank']:.2f} +- {layer['all']['effective_rank_deviation']:.2g}"
        assert row.split()[4:12] == ["8", str(layer["tokens"]), *spread.split(), *ranks]
    for i, (share, advice) in enumerate(zip((90, 95, 99), both[0]["rank_advice"]["shares"], strict=True)):
        ranks = [layer["all"]["ranks"][i] for layer in (first, second)]
        assert advice["ranks"] == ranks
        assert advice["setting"] == "model.rank=" + (
            str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]},{ranks[1]}"
        )
        assert f"keeps {share} % of the energy (sum of squares): --set {advice['setting']}\n" in text


def test_the_advice_is_a_setting(data, both, tmp_path):
    advised = both[0]["rank_advice"]["shares"][2]
    short = settings("train.epochs=1")
    for i, setting in enumerate((advised["setting"], "model.rank=3,2")):
        folder = tmp_path / str(i)
        done(run("train", *TINY, *short, "--set", setting, "--data", data, "--run", folder, "--no-report"))
        ranks = [layer["rank"] for layer in json.loads((folder / "analysis.json").read_text())["layers"]]
        assert ranks == (advised["ranks"] if i == 0 else [3, 2])


def test_a_run_leaves_them_at_its_end(trained, softmax):
    for folder, kind in ((trained, "primal"), (softmax, "softmax")):
        found = json.loads((folder / "analysis.json").read_text())
        assert [layer["kind"] for layer in found["matrices"]] == [kind] * 2
        assert all(layer["samples"] == 4 for layer in found["matrices"])
        assert page_data(folder / "report.html")["runs"][0]["matrices"]["layers"][0]["kind"] == kind


def test_long_sequences_are_left_out_and_said(data, trained, softmax):
    (one,) = analysis(softmax, "--data", data, "--longest", "5")
    for layer in one["matrices"]:
        assert layer["left_out"] == "12 tokens, of more than 5 no spectrum is made"
        assert "all" not in layer
    assert one["rank_advice"] == {"shares": [], "notes": []}
    text = done(run("analyze", softmax, "--data", data, "--longest", "5"))
    assert re.search(r"^softmax of layer 1 +12 tokens, of more than 5 no spectrum is made$", text, re.MULTILINE)
    assert "--set" not in text
    (primal,) = analysis(trained, "--data", data, "--longest", "5")  # a kernel matrix is never made
    assert "left_out" not in primal["matrices"][0]


def test_the_number_of_samples_may_be_chosen(data, softmax):
    assert [layer["samples"] for layer in analysis(softmax, "--data", data, "--matrices", "3")[0]["matrices"]] == [3, 3]
    (none,) = analysis(softmax, "--data", data, "--matrices", "0")
    assert none.keys() == {"run", "what", "layers", "findings"}


def test_rivals_have_them_too(data, tmp_path):
    mixed = settings("model.layers=linear,cosine", "train.epochs=1")
    done(run("train", *TINY, *mixed, "--data", data, "--run", tmp_path / "run", "--no-report"))
    (one,) = analysis(tmp_path / "run", "--data", data)
    assert [(layer["kind"], layer["matrix"]) for layer in one["matrices"]] == [
        *(("linear", "attention"), ("cosine", "attention"))
    ]
    assert one["layers"] == []


def test_layers_of_a_language_model_have_them(tmp_path):
    (one,) = analysis(train_bytes(tmp_path, "softmax,primal"))
    assert [layer["kind"] for layer in one["matrices"]] == ["softmax", "primal"]
    assert all(layer["samples"] > 0 for layer in one["matrices"])


def test_the_page_has_all_runs(data, trained, softmax, both, tmp_path):
    page = tmp_path / "page.html"
    text = done(run("analyze", softmax, trained, "--data", data, "--output", page))
    assert text.endswith(f"\npage: {page}\n")
    found = page_data(page)
    assert (found["kind"], len(found["runs"])) == ("analysis", 2)
    for drawn, one in zip(found["runs"], both, strict=True):
        assert drawn["what"] == one["what"]
        for ours, theirs in zip(drawn["matrices"]["layers"], one["matrices"], strict=True):
            assert ours["explained"] == pytest.approx(theirs["all"]["explained"], rel=1e-4)
            assert ours["ranks"] == theirs["all"]["ranks"]
        settings_told = [advice["setting"] for advice in drawn["matrices"]["advice"]]
        assert settings_told == [advice["setting"] for advice in one["rank_advice"]["shares"]]


@needs_browser
def test_a_browser_draws_the_page(data, trained, softmax, tmp_path):
    page = tmp_path / "page.html"
    done(run("analyze", softmax, trained, "--data", data, "--output", page))
    drawn = open_page(page)
    assert drawn.problems() == []
    assert drawn.tags["canvas"] == 2 * 2 + 2 * 2  # two pictures of the matrices of each layer, two of its scores
    for layer in ("Layer 1", "Layer 2"):
        (label,) = [label for label in drawn.labels if label.startswith(f"{layer}. ")]
        assert "softmax: from" in label
        assert "primal: from" in label
    for text in ("Spectra of 2 runs", "softmax, attention matrix", "primal, kernel matrix", "--set model.rank="):
        assert text in drawn.text


@needs_browser
def test_a_browser_draws_the_check_against_a_kernel_svd(data, trained, tmp_path):
    page = tmp_path / "page.html"
    text = done(run("analyze", trained, "--data", data, "--ksvd", "--intervene", "--null", "2", "--output", page))
    drawn = open_page(page)
    assert drawn.problems() == []
    for table in page_data(page)["runs"][0]["ksvd"]:
        assert table["columns"] == ["trained", "untrained", "random"]
        assert table["verdict"] in text
        assert table["verdict"] in drawn.text
        for row in table["rows"]:
            assert row["label"] in text
            assert all(cell["text"] in text for cell in row["cells"])
    for shown in ("Kernel SVD", "energy of the best s", "scores instead", "best pairs"):
        assert shown in drawn.text


@needs_browser
def test_reports_draw_them(trained, softmax, tmp_path):
    drawn = open_page(softmax / "report.html")
    assert drawn.problems() == []
    for text in ("Attention matrices", "Cumulative explained variance", "Rank that each layer needs"):
        assert text in drawn.text
    done(run("report", softmax, trained, "--output", tmp_path / "both.html"))
    drawn = open_page(tmp_path / "both.html")
    assert drawn.problems() == []
    assert "Attention matrices, layer 2" in drawn.text


def test_runs_of_earlier_versions_have_none(tmp_path):
    old = shutil.copytree(FIXTURES, tmp_path / "old")
    done(run("report", old / "classes", "--output", tmp_path / "page.html"))
    assert page_data(tmp_path / "page.html")["runs"][0]["matrices"] is None


def test_bad_requests_are_one_line(data, trained, tmp_path):
    for arguments, message in (
        (
            ["--output", tmp_path / "none" / "page.html"],
            f"--output {tmp_path}/none/page.html: no folder {tmp_path}/none",
        ),
        (["--output", tmp_path], f"--output {tmp_path}: is a folder"),
        (["--matrices", "-1"], "--matrices: expected a whole number, at least 0, got -1; try --help"),
        (["--longest", "0"], "--longest: expected a whole number, at least 1, got 0; try --help"),
    ):
        assert the_error(run("analyze", trained, "--data", data, *arguments), "analyze") == message
