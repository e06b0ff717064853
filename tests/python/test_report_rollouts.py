"""What the page of a run shows of an agent: asked for and earned, returns beside the data, the robot itself."""

import itertools
import json
import math

import pytest
from browser import needs_browser, open_page
from series_files import done, run, the_error

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
METRIC = {"key": "normalised_score", "name": "score", "share": False, "lower_is_better": False}


def animation(title, earned, frames=20):
    """A trunk and a leg of three parts that hops along."""
    radii = [0.05, 0.05, 0.04, 0.06]

    def frame(i):
        x, z = 0.1 * i, 1 + 0.1 * math.sin(i)
        joints = [(x, z + 0.4), (x, z), (x + 0.1, z - 0.4), (x, z - 0.8), (x + 0.2, z - 0.9)]
        return [number for (x1, z1), (x2, z2) in itertools.pairwise(joints) for number in (x1, z1, x2, z2)]

    places = {"frame_seconds": 0.032, "frame_steps": 4, "radii": radii, "frames": [frame(i) for i in range(frames)]}
    return {"title": title, "target": 3000, "earned": earned, "steps": 4 * frames, **places}


def rollouts(low=(1400.0, 1600.0), high=(2900.0, 3100.0), **more):
    targets = [
        {"target": 3000, "returns": list(high), "steps": [900, 1000]},
        {"target": 1500, "returns": list(low), "steps": [400, 500]},
    ]
    animations = [animation("best", 3100.0), animation(HOSTILE, 2900.0)]
    scale = {"normalisation": "this set", "random_return": 20.0, "expert_return": 3020.0, "checkpoint": "last"}
    data = [1000.0 + 10 * i for i in range(100)]
    return {"robot": "Hopper", **scale, "data_returns": data, "targets": targets, "animations": animations, **more}


def write_run(folder, details):
    """A run directory made by hand."""
    folder.mkdir()
    lines = [{"kind": "metric", **METRIC}]
    for step, score in ((100, 20.0), (200, 99.0)):
        place = {"step": step, "epoch": 1}
        lines.append({"kind": "train", **place, "loss": 0.1, "task_loss": 0.1})
        lines.append({"kind": "evaluation", "split": "validation", **place, "loss": None, "normalised_score": score})
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "config.toml").write_text('[run]\npreset = "offline-rl/hopper-medium"\nprotocol = "honest"\n')
    result = {
        **{
            "family": "offline_rl",
            "preset": "offline-rl/hopper-medium",
            "model": "Primal.+DT",
            "data": "hopper-medium",
        },
        **{"seed": 1, "protocol": "honest", "steps": 200, "best_step": 200, "epochs": 1, "best_epoch": 1},
        **{"metric": METRIC, "measure": "normalised_score", "validation_normalised_score": 99.0, "seconds": 12.5},
        **{
            "parameters": 1234,
            "test": {"normalised_score": 99.3, "loss": None, **({"rollouts": details} if details else {})},
        },
    }
    (folder / "result.json").write_text(json.dumps(result))
    return folder


@pytest.fixture
def page_of(tmp_path):
    def show(details, dark=False):
        folder = write_run(tmp_path / "run", details)
        done(run("report", folder))
        page = open_page(folder / "report.html", dark=dark)
        assert page.problems() == []
        return page

    return show


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_targets_returns_and_the_robot(page_of, dark):
    page = page_of(rollouts(), dark=dark)
    for text in (
        "Asked for and earned",
        "the scale of this set",
        "Played with the last weights",
        "more than any of the 100 episodes of the data; the best of these earns 1,990",
        "Return 3,100, score 102.7; asked for 3,000; 80 steps",
        "step 0 · 0.0 s · 0.0 m",
    ):
        assert text in page.text
    assert page.tags["svg"] >= 2
    assert page.tags["line"] == 8
    assert page.text.count(HOSTILE) >= 1
    assert "img" not in page.tags


@needs_browser
@pytest.mark.parametrize(
    ("low", "sentence"),
    [
        ((1400.0, 1600.0), "it does what it is asked."),
        ((1990.0, 2010.0), "it follows the target in part."),
        ((2690.0, 2710.0), "the target hardly matters to it."),
        ((2500.0, 3400.0), "no more of a difference than chance makes."),
        ((3690.0, 3710.0), "less, where more was asked for."),
        ((490.0, 510.0), "it follows the target, and more strongly than asked."),
    ],
)
def test_the_page_says_whether_the_agent_obeys(page_of, low, sentence):
    assert sentence in page_of(rollouts(low=low, high=(2990.0, 3010.0), animations=[])).text


@needs_browser
def test_an_agent_that_takes_no_target(page_of):
    details = rollouts(targets=[{"target": None, "returns": [700.0, 800.0], "steps": [300, 310]}], animations=[])
    page = page_of(details)
    assert "The agent earns 750 on average; it takes no target." in page.text


@needs_browser
def test_a_run_without_rollouts_says_nothing_of_robots(page_of):
    page = page_of(None)
    for heading in ("Asked for and earned", "Returns of the data"):
        assert heading not in page.text


def test_rollouts_of_another_kind_are_named(tmp_path):
    folder = write_run(tmp_path / "run", rollouts(robot=3))
    assert 'rollouts: field "robot": expected a string, got 3' in the_error(run("report", folder), "report")
