"""primal report: one page of one run or several, drawn by a browser without complaint."""

import shutil

import pytest
from browser import needs_browser, open_page
from series_files import LEARNING, TINY, done, make_set, run, settings, the_error


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """honest: two seeds in one folder; paper: one run, with names that a page must not take for its own code."""
    folder = tmp_path_factory.mktemp("runs")
    data = make_set(folder / "data")
    done(run("train", *TINY, *LEARNING, "--data", data, "--run", folder / "honest", "--seeds", "2"))
    hostile = make_set(folder / "hostile", classes=("<b>", "</script>", "it's\"&amp;"))
    paper = ("--protocol", "paper", "--set", "model.layers=softmax,primal")
    done(run("train", *TINY, *paper, "--data", hostile, "--run", folder / "paper"))
    return folder


def test_the_page_of_a_run_is_written_into_it(runs):
    output = done(run("report", runs / "honest" / "seed-1"))
    assert output == f"{runs / 'honest' / 'seed-1' / 'report.html'}\n"
    page = (runs / "honest" / "seed-1" / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "<script src" not in page


@needs_browser
def test_a_browser_draws_the_page_of_a_run(runs):
    file = runs / "one.html"
    done(run("report", runs / "paper", "--output", file))
    page = open_page(file)
    assert page.problems() == []
    assert page.tags["canvas"] >= 3
    for text in ("Primal.+", "paper", "</script>", "it's\"&amp;", "Tiny"):
        assert text in page.text


@pytest.fixture
def unfinished(runs, tmp_path):
    folder = shutil.copytree(runs / "honest" / "seed-1", tmp_path / "unfinished")
    for name in ("result.json", "analysis.json"):
        (folder / name).unlink()
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "epo')  # a crash in the middle of a line
    return folder


@needs_browser
def test_a_browser_draws_the_comparison_of_several_runs(runs, unfinished, tmp_path):
    file = tmp_path / "several.html"
    # A folder of seeds counts as its runs.
    done(run("report", runs / "honest", runs / "paper", unfinished, "--output", file))
    page = open_page(file)
    assert page.problems() == []
    assert page.tags["canvas"] >= 1
    for text in ("PrimalFormer", "Primal.+", "honest", "paper"):
        assert text in page.text


def test_an_unfinished_run_has_a_page_too(unfinished):
    done(run("report", unfinished))
    assert (unfinished / "report.html").exists()


def test_there_must_be_a_run_to_report(tmp_path):
    message = the_error(run("report", tmp_path), "report")
    assert message == f"{tmp_path}: no run here (config.toml is missing)"
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_run_is_named_with_its_line(runs, tmp_path):
    folder = shutil.copytree(runs / "honest" / "seed-1", tmp_path / "damaged")
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text(lines[0] + "nonsense\n" + "".join(lines[1:]))
    (folder / "report.html").unlink(missing_ok=True)
    message = the_error(run("report", folder), "report")
    assert message.startswith(f"{folder / 'metrics.jsonl'}:2: ")
    assert not (folder / "report.html").exists()


def test_a_run_that_is_done_has_its_page(data, tmp_path):
    output = done(run("train", *TINY, "--data", data, "--run", tmp_path / "run"))
    page = tmp_path / "run" / "report.html"
    assert output.endswith(f"run directory {tmp_path / 'run'}\nreport {page}\n")
    written = page.read_bytes()
    done(run("report", tmp_path / "run"))
    assert page.read_bytes() == written


def test_several_seeds_have_one_page(data, tmp_path):
    output = done(run("train", *TINY, "--data", data, "--run", tmp_path / "run", "--seeds", "2"))
    assert output.endswith(f"report {tmp_path / 'run' / 'report.html'}\n")
    assert list(tmp_path.rglob("report.html")) == [tmp_path / "run" / "report.html"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_page_may_be_left_out(data, tmp_path, seeds):
    folder = tmp_path / "run"
    output = done(run("train", *TINY, "--data", data, "--run", folder, "--seeds", seeds, "--no-report"))
    assert output.endswith(f"run directory {folder}\n")
    assert not list(tmp_path.rglob("report.html"))
    output = done(run("train", "--resume", folder, "--data", data))
    assert output.endswith(f"report {folder / 'report.html'}\n")
    assert (folder / "report.html").exists()


def test_a_page_that_cannot_be_written_does_not_spoil_the_run(data, tmp_path):
    folder = tmp_path / "run"
    done(run("train", *TINY, "--data", data, "--run", folder, "--no-report"))
    (folder / "report.html").mkdir()
    answer = run("train", "--resume", folder, "--data", data)
    assert done(answer).endswith(f"run directory {folder}\n")
    assert answer.stderr.startswith(f"primal train: no report: {folder / 'report.html'}: ")


def test_a_run_that_failed_has_no_page(data, tmp_path):
    diverging = settings("optimizer.name=sgd", "optimizer.lr=1e30")
    answer = run("train", *TINY, *diverging, "--data", data, "--run", tmp_path / "run")
    assert answer.returncode == 1
    assert not (tmp_path / "run" / "report.html").exists()


@needs_browser
@pytest.mark.parametrize("layers", ["primal,primal", "softmax,softmax"])
def test_a_browser_draws_the_page_of_a_run_in_steps(data, tmp_path, layers):
    few = settings("train.length=7 steps", "train.evaluate=2 steps", "train.record=1 step", f"model.layers={layers}")
    done(run("train", *TINY, *few, "--data", data, "--run", tmp_path / "run"))
    page = open_page(tmp_path / "run" / "report.html")
    assert page.problems() == []
    assert page.tags["canvas"] >= 2
    assert "Tiny" in page.text
