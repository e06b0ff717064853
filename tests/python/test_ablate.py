"""primal ablate: every variant once per seed, paired differences, equal parameters, a table and a page."""

import json
import math
import statistics

import pytest
from browser import needs_browser, open_page
from language_files import TINY_LANGUAGE, write_text
from series_files import TINY, done, make_set, result, run, the_error

PRESET, *SETTINGS = [word for word in TINY if word not in ("--threads", "1")]
FAST = (PRESET, *SETTINGS, "--set", "run.threads=1", "--set", "train.epochs=2")
T_OF_TWO = 12.7062  # Student's t, one degree of freedom


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_set(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def ablation(data, tmp_path_factory):
    """(command, folder, what it wrote)."""
    folder = tmp_path_factory.mktemp("ablate") / "all"
    only = ("--only", "eta-0,right,cosine,independent,softmax,deep,shallow", "--seeds", "2", "--jobs", "2")
    command = ("ablate", *FAST, *only, "--data", data, "--run", folder)
    answer = run(*command)
    done(answer)
    return command, folder, answer


def rows(folder):
    return {row["variant"]: row for row in json.loads((folder / "ablation.json").read_text())["rows"]}


def config(folder, variant, seed=1):
    return (folder / variant / f"seed-{seed}" / "config.toml").read_text()


def test_the_variants_have_their_options_and_the_preset_has_its_own(ablation):
    _, folder, _ = ablation
    assert "projections = 'right'" in config(folder, "right").replace('"', "'")
    assert "projections = 'both'" in config(folder, "base").replace('"', "'")
    assert "\neta = 0.0\n" in config(folder, "eta-0")
    assert "data_dependent = false" in config(folder, "independent")
    for variant, layers in (("softmax", ["softmax"] * 2), ("deep", ["primal"] * 4), ("shallow", ["primal"])):
        assert f"layers = {layers}".replace("'", '"') in config(folder, variant).replace("'", '"')


def test_parameters_agree_within_a_percent(ablation):
    _, folder, _ = ablation
    found = rows(folder)
    for variant in ("softmax", "deep", "shallow"):
        assert found[variant]["parameters"] == pytest.approx(found["base"]["parameters"], rel=0.01)
        assert result(folder / variant / "seed-1")["parameters"] == found[variant]["parameters"]
    assert found["right"]["parameters"] < found["base"]["parameters"]


def test_what_the_preset_is_already_is_said_and_not_trained(ablation):
    _, folder, answer = ablation
    assert rows(folder)["cosine"]["skipped"] == "the preset is so already"
    assert not (folder / "cosine").exists()
    assert "not trained: the preset is so already" in answer.stdout


def test_differences_are_those_of_equal_seeds(ablation):
    _, folder, answer = ablation

    def score(variant, seed):
        return result(folder / variant / f"seed-{seed}")["test"]["accuracy"]

    for variant, row in rows(folder).items():
        if row.get("skipped"):
            continue
        scores = [score(variant, seed) for seed in (1, 2)]
        assert row["score"]["mean"] == pytest.approx(statistics.mean(scores))
        assert row["score"]["half"] == pytest.approx(T_OF_TWO * statistics.stdev(scores) / math.sqrt(2), rel=1e-4)
        differences = [score(variant, seed) - score("base", seed) for seed in (1, 2)]
        expected = None if variant == "base" else pytest.approx(statistics.mean(differences), abs=1e-12)
        assert row["difference"]["mean"] == expected
        assert f"{100 * row['score']['mean']:.2f}" in answer.stdout


def test_what_only_primal_layers_have_is_left_out_for_softmax(ablation):
    _, folder, _ = ablation
    found = rows(folder)
    assert found["softmax"]["objective"]["mean"] is None
    assert found["softmax"]["effective_rank"]["mean"] is None
    assert found["right"]["objective"]["mean"] >= 0
    assert 1 <= found["base"]["effective_rank"]["mean"] <= 4


def test_run_again_it_trains_nothing_and_says_the_same(ablation):
    command, folder, first = ablation
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("result.json")}
    again = run(*command)
    assert done(again) == first.stdout
    assert again.stderr == ""
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("result.json")} == before


def test_costs_are_compared_with_the_preset_too(ablation):
    _, folder, _ = ablation
    found = rows(folder)
    for key in ("objective_difference", "effective_rank_difference", "speed_ratio", "memory_ratio"):
        assert found["base"][key] == {"mean": None, "half": None, "count": 0}
        assert found["right"][key]["count"] == 2
    speeds = [
        result(folder / "right" / f"seed-{seed}")["tokens_per_second"]
        / result(folder / "base" / f"seed-{seed}")["tokens_per_second"]
        for seed in (1, 2)
    ]
    assert found["right"]["speed_ratio"]["mean"] == pytest.approx(statistics.mean(speeds))


def test_every_other_variant_trains(data, tmp_path):
    """Each is a run of its own, with the option that it is named after."""
    options = {
        "stationarity": 'ksvd = "stationarity"',
        "left": 'projections = "left"',
        "exponential": 'feature_map = "exponential"',
        "polynomial": 'feature_map = "polynomial(2)"',
        "identity": 'feature_map = "identity"',
        "lambda-softplus": 'lambda = "softplus"',
        "lambda-exp": 'lambda = "exp"',
    }
    folder = tmp_path / "a"
    done(run("ablate", "--only", ",".join(options), *FAST, "--seeds", "1", "--data", data, "--run", folder))
    for variant, line in options.items():
        assert line in config(folder, variant)
        assert rows(folder)[variant]["seeds"] == 1


def test_what_needs_the_ksvd_term_is_left_out_without_it(data, tmp_path):
    command = ("ablate", *FAST, "--set", "loss.eta=0", "--only", "lambda-exp,stationarity", "--data", data)
    answer = run(*command, "--run", tmp_path / "a")
    message = "nothing to compare: stationarity: loss.eta is 0 in the preset, so this changes nothing"
    assert the_error(answer, "ablate") == message


def test_ranks_of_layers_go_along_with_them(data, tmp_path):
    folder = tmp_path / "a"
    only = ("--only", "deep", "--seeds", "1", "--set", "model.rank=2,3")
    done(run("ablate", *FAST, *only, "--data", data, "--run", folder))
    assert "rank = [2, 2, 2, 3]" in config(folder, "deep")


def test_a_language_model_of_which_less_is_better(tmp_path):
    text = write_text(tmp_path / "text.txt")
    only = ("--only", "eta-0,deep,shallow,independent", "--seeds", "2")
    folder = tmp_path / "a"
    done(run("ablate", "language/bytes", *TINY_LANGUAGE, *only, "--train", text, "--run", folder))
    found = rows(folder)
    assert json.loads((folder / "ablation.json").read_text())["metric"]["lower_is_better"]
    assert found["independent"]["skipped"] == "the layers of the preset take no rows of the sequence"
    for variant in ("deep", "shallow"):
        assert found[variant]["parameters"] == pytest.approx(found["base"]["parameters"], rel=0.01)
        assert result(folder / variant / "seed-1")["parameters"] == found[variant]["parameters"]
    assert found["base"]["objective"]["mean"] >= 0


def test_the_folder_of_a_sweep_is_none_of_an_ablation(data, tmp_path):
    folder = tmp_path / "sweep"
    done(run("sweep", *FAST, "--vary", "model.rank=2", "--data", data, "--run", folder))
    answer = run("ablate", *FAST, "--only", "right", "--data", data, "--run", folder)
    assert "a new ablation needs a folder that is absent or empty" in the_error(answer, "ablate")


@needs_browser
def test_the_page_is_drawn(ablation):
    _, folder, _ = ablation
    page = open_page(folder / "ablation.html")
    assert page.problems() == []
    assert "softmax in all layers, as many parameters" in page.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "sotfmax"], "--only: there is no variant sotfmax; did you mean softmax? (--help lists all)"),
        (
            ["--set", "model.layers=softmax,softmax"],
            "uea/JapaneseVowels: an ablation is of primal layers, and this preset has none",
        ),
        (
            ["--set", "train.start_from=x"],
            "train.start_from: the models of an ablation have weights of different shapes",
        ),
        (["--set", "model.rang=3"], "--set: unknown key model.rang; did you mean model.rank?"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message, data, tmp_path):
    answer = run("ablate", *FAST, *arguments, "--data", data, "--run", tmp_path / "a")
    assert the_error(answer, "ablate") == message
    assert not (tmp_path / "a").exists()
