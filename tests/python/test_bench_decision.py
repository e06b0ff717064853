"""primal bench --cases decision-step,rollouts: agreement, goals, what is left out. No timing is judged here."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_bench import bench, measured, results_of, status_of

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from layer_bench import (  # noqa: E402
    cases,
    cheetah,
    decision,
    decision_cases,
    decision_floor,
    decision_model,
    decision_rollouts,
    decision_step,
    goals,
    results,
    sizes,
    tables,
)
from layer_bench.agreement import Disagreement  # noqa: E402
from layer_bench.results import MEGABYTES, SECONDS  # noqa: E402
from layer_bench.step_program import NotMeasured  # noqa: E402

TINY = sizes.TINY.decision


@pytest.fixture(scope="module")
def robot():
    """HalfCheetah, where the program and this Python have the simulator."""
    if cheetah.missing() is not None:
        pytest.skip(f"no {cheetah.missing()}")
    return cheetah.HalfCheetah()


# --- agreement ---


@pytest.mark.parametrize("model", decision.MODELS)
def test_the_program_and_eager_agree(model):
    assert decision_step.check(model) < 1e-5


@pytest.mark.parametrize("model", decision.MODELS)
def test_every_parameter_has_a_gradient_that_is_compared(model):
    ours = decision_step.outcome(model, decision.CHECKED)
    eager = decision_step.eager_outcome(model, decision.CHECKED, ours)
    assert set(ours) == {*eager, *decision_step.WINDOWS, *decision_step.parameters_of(ours)}
    assert ours["padding"].any()


def test_a_wrong_model_is_found(monkeypatch):
    monkeypatch.setattr(decision_model, "ETA", 5.0)
    with pytest.raises(Disagreement, match="ours and eager differ in"):
        decision_step.check(decision.MIXED)


@pytest.mark.parametrize(("model", "sees"), decision_cases.PLAYED)
def test_agents_do_the_same_in_the_same_episodes(model, sees, robot):
    assert decision_rollouts.check(model, whole_episode=sees == decision.EPISODE) < 1e-4


def test_an_agent_that_sees_too_few_steps_is_found(robot):
    made = decision_rollouts.written_tensors(decision.MIXED, TINY, {"--play": True, "--episodes": 1})
    few = replace(TINY, window=TINY.window - 1)
    with pytest.raises(Disagreement, match="actions"):
        decision_rollouts.compare(
            "ours",
            {"actions": made["done.actions"]},
            {"actions": decision_rollouts.eager_actions(decision.MIXED, few, made, whole_episode=False)},
        )


def test_other_rules_of_the_robot_are_found(robot, monkeypatch):
    monkeypatch.setattr(cheetah, "FRAMES", 4)
    with pytest.raises(Disagreement, match="states"):
        decision_rollouts.check(decision.MIXED)


# --- what is measured ---


def test_models_by_their_layers():
    full = sizes.FULL.decision
    assert full.kinds(decision.MIXED) == ("softmax", "softmax", "primal")
    assert full.kinds(decision.PRIMAL_FORMER) == ("primal",) * 3
    assert full.kinds(decision.SOFTMAX) == ("softmax",) * 3
    assert (full.length, full.tokens) == (60, 3840)


def test_products_of_the_floor():
    """Multiplications of a forward pass, counted layer by layer."""
    small = replace(TINY, layers=2, width=8, heads=2, feed_forward=16, rank=3, window=2, examples=5)
    tokens, read = 30, 10
    softmax = tokens * (8 * 24 + 8 * 8 + 2 * 8 * 16) + 5 * 2 * (2 * 6 * 6 * 4)
    primal = tokens * (8 * 16 + 2 * 2 * 4 * 3) + read * (2 * 6 * 4 + 8 * 8 + 2 * 8 * 16)
    made = [
        count * rows * inner * columns for count, rows, inner, columns in decision_floor.products("Primal.+DT", small)
    ]
    assert sum(made) == softmax + primal + read * 8 * 6


def test_before_the_memory_of_eager_is_measured_the_moments_are_there_and_no_gradient():
    job = decision_model.TrainingStep(decision.MIXED, TINY)
    job.on_few_steps(decision_step.FEW_STEPS)
    for name, parameter in job.model.named_parameters():
        assert parameter.grad is None, name
        assert job.optimizer.state[parameter]["exp_avg"].shape == parameter.shape, name


def test_rollouts_are_left_out_in_one_line_without_a_simulator(monkeypatch):
    def refuse(*given, **more):
        raise NotMeasured("primal was built without MuJoCo")

    monkeypatch.setattr(decision_rollouts, "answer", refuse)
    monkeypatch.setattr(decision_step, "answer", refuse)
    run = cases.Run(sizes.TINY, repeats=1, threads=1)
    decision_cases.rollouts(run)
    assert run.notes == ["left out: primal was built without MuJoCo"]
    assert run.measurements == []


def test_ours_is_measured_where_only_this_python_has_no_simulator(monkeypatch):
    made = decision_rollouts.Played(2.0, 0.5)
    monkeypatch.setattr(cheetah, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(decision_rollouts, "check", lambda model, whole_episode: 1e-6)
    monkeypatch.setattr(decision_rollouts, "measure", lambda *given, whole_episode: made)
    run = cases.Run(sizes.TINY, repeats=1, threads=1)
    decision_cases.rollouts(run)
    assert {m.subject for m in run.measurements} == {"ours", "environment"}
    assert run.notes == [
        "Primal.+DT, window: eager: not measured: this Python has no no_such_package (tools/requirements-robots.txt)"
    ]


# --- goals and tables ---


def test_goals_and_tables():
    made = results_of(
        measured("decision-step", "Primal.+DT", 60, ours=1.0, eager=1.6, floor=0.5),
        measured("decision-step", "Primal.+DT, memory", 60, MEGABYTES, ours=70.0, eager=100.0),
        measured("decision-step", "DT", 60, ours=1.0, eager=1.1),
        measured("rollouts", "Primal.+DT, window", 10, ours=1.0, eager=2.9, environment=0.1),
    )
    assert status_of(made, "Primal.+DT: faster than eager") == (1.6, "pass")
    assert status_of(made, "Primal.+DT: peak over eager's") == (0.7, "miss")
    assert status_of(made, "10 episodes: faster than eager") == (2.9, "miss")
    assert status_of(made, "10 episodes: the environment's share of the time") == (0.1, "pass")
    assert len(goals.goals(made)) == 4
    text = tables.ratio_tables(made)
    assert "Primal.+DT, window, episodes=10" in text
    assert "environment" in text


# --- a run ---


def test_a_run_prints_tables_and_writes_its_file(robot, tmp_path):
    chosen = ("--cases", "decision-step,rollouts")
    result = bench("--sizes", "tiny", "--threads", 1, *chosen, "--json", tmp_path / "a.json")
    assert result.returncode == 0, result.stderr
    for text in ("Primal.+DT, memory, N=18", "episodes=2", "goals (tiny sizes", "Primal.+DT: faster than"):
        assert text in result.stdout
    made = results.read(tmp_path / "a.json")
    assert list(made.cases) == ["decision-step", "rollouts"]
    assert made.cases["decision-step"]["notes"] == []
    assert all(0 < about["largest_disagreement"] < 1e-4 for about in made.cases.values())
    found = {(m.what, m.length, m.subject, m.unit) for m in made.measurements}
    steps = {(model, 18, subject, SECONDS) for model in decision.MODELS for subject in ("ours", "eager", "floor")}
    peaks = {(f"{m}, memory", 18, subject, MEGABYTES) for m in decision.MODELS for subject in ("ours", "eager")}
    ours = {(f"{m}, {sees}", 2, s, SECONDS) for m, sees in decision_cases.PLAYED for s in ("ours", "environment")}
    batches, eager = ("making a batch", 18, "ours", SECONDS), ("Primal.+DT, window", 2, "eager", SECONDS)
    assert found == {*steps, *peaks, *ours, batches, eager}
    assert all(m.best > 0 for m in made.measurements if m.unit == SECONDS)


def test_they_run_only_if_they_are_asked_for():
    for size in sizes.SIZES.values():
        assert not {"decision-step", "rollouts"} & set(size.cases)
