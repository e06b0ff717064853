"""primal bench --cases language-step,generation: agreement, rounds, goals, what fails. No timing is judged here."""

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_bench import bench, measured, results_of, status_of

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from layer_bench import (  # noqa: E402
    cases,
    language,
    language_cases,
    language_model,
    language_step,
    machine,
    results,
    sizes,
    tables,
)
from layer_bench.agreement import Disagreement  # noqa: E402
from layer_bench.memory import ChildFailed  # noqa: E402
from layer_bench.results import MEGABYTES, SECONDS  # noqa: E402
from layer_bench.step_program import Figures, NotMeasured  # noqa: E402
from layer_bench.tensor_file import read_tensors  # noqa: E402

TINY = sizes.TINY.language


# --- agreement ---


@pytest.mark.parametrize("model", language.MODELS)
def test_the_program_and_eager_agree(model):
    assert language_step.check(model) < 1e-5


@pytest.mark.parametrize("model", language.MODELS)
def test_every_parameter_has_a_gradient_that_is_compared(model):
    ours = language_step.outcome(model, language.CHECKED)
    eager = language_step.eager_outcome(model, language.CHECKED, ours)
    assert set(ours) == {*eager, *(n.removeprefix("gradient.") for n in eager), "ids", "targets"}
    biases = {n for n in eager if n.endswith("k_proj.bias")}  # beside their weights
    assert set(language_step.comparable(ours)) == set(eager) - biases


@pytest.mark.parametrize("model", language.MODELS)
def test_a_wrong_model_is_found(model, monkeypatch):
    monkeypatch.setattr(language_model, "FIRST_POSITION", 1)
    with pytest.raises(Disagreement, match="ours and eager differ in"):
        language_step.check(model)


def test_wrong_gradients_of_the_bias_of_keys_are_found():
    made = language_step.outcome(language.SOFTMAX, language.CHECKED)
    expected = language_step.comparable(language_step.eager_outcome(language.SOFTMAX, language.CHECKED, made))
    made["gradient.encoder.layers.0.attention.k_proj.bias"] += 0.01
    with pytest.raises(Disagreement, match=r"k_proj\.weight"):
        language_step.compare("ours", language_step.comparable(made), expected)


def test_a_case_of_wrong_results_is_not_measured(monkeypatch):
    monkeypatch.setattr(language_model, "ETA", 0.2)
    run = cases.Run(sizes.TINY, repeats=1, threads=1)
    with pytest.raises(Disagreement):
        language_cases.training_step(run)
    assert run.measurements == []


def test_a_tensor_file_is_read_as_the_official_reader_does(tmp_path):
    tensors = {"a": torch.randn(2, 3), "b.c": torch.arange(5), "one": torch.ones(1)}
    save_file(tensors, tmp_path / "a.safetensors", {"format": "pt"})
    made, expected = read_tensors(tmp_path / "a.safetensors"), load_file(tmp_path / "a.safetensors")
    assert made.keys() == expected.keys()
    assert all(torch.equal(made[name], expected[name]) for name in expected)


# --- what is measured ---


def test_models_by_their_layers():
    full = sizes.FULL.language
    assert full.kinds(language.PRIMAL_FORMER) == ("primal",) * 6
    assert full.kinds(language.MIXED) == ("softmax",) * 5 + ("primal",)
    assert full.kinds(language.SOFTMAX) == ("softmax",) * 6
    assert full.tokens == 2048


def test_what_the_program_refuses_is_told_in_its_words():
    with pytest.raises(NotMeasured, match=r"^--rank"):
        language_step._answer(language.PRIMAL_FORMER, TINY, 1, {"--rank": 0})


def test_a_program_that_is_not_built_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "PROGRAM", tmp_path / "bin" / "primal")
    with pytest.raises(FileNotFoundError, match="bench_language_step is not built: ninja"):
        language_step.measure(language.SOFTMAX, TINY, 1, 1)


def test_subjects_are_measured_in_turn_and_one_that_fails_is_left_out(monkeypatch):
    order = []

    def subject(name, error=None):
        def measure(model, sizes, threads, steps):
            order.append((model, name))
            if error is not None and model == language.SOFTMAX:
                raise error
            return Figures((3.0, 1.0), 10.0 * len(order))

        return measure

    monkeypatch.setattr(language_step, "check", lambda model: 1e-6)
    monkeypatch.setattr(language_step, "measure", subject("ours", NotMeasured("too large")))
    monkeypatch.setattr(language_step, "measure_eager", subject("eager", ChildFailed("exit code 1")))
    run = cases.Run(sizes.TINY, repeats=2, threads=1)
    language_cases.training_step(run)
    assert order == [(model, name) for model in language.MODELS for name in ("ours", "eager") * TINY.rounds]
    assert {m.what for m in run.measurements} == {
        *(language.PRIMAL_FORMER, f"{language.PRIMAL_FORMER}, memory"),
        *(language.MIXED, f"{language.MIXED}, memory"),
    }
    first, peak = run.measurements[:2]
    assert (first.subject, first.best, first.median, first.repeats, first.tokens) == ("ours", 1, 2, 4, TINY.tokens)
    assert (peak.unit, peak.best) == (MEGABYTES, 30)
    assert run.notes == ["softmax: ours: not measured: too large", "softmax: eager: not measured: exit code 1"] * 2
    assert run.worst_error == 1e-6


def test_before_the_memory_of_eager_is_measured_the_moments_are_there_and_no_gradient():
    job = language_model.TrainingStep(language.MIXED, TINY)
    job.on_few_tokens(language_step.FEW_TOKENS)
    for name, parameter in job.model.named_parameters():
        assert parameter.grad is None, name
        assert job.optimizer.state[parameter]["exp_avg"].shape == parameter.shape, name


# --- goals and tables ---


def test_goals_of_the_training_step():
    made = results_of(
        measured("language-step", "PrimalFormer", 512, ours=1.0, eager=1.7),
        measured("language-step", "PrimalFormer, memory", 512, MEGABYTES, ours=50.0, eager=100.0),
        measured("language-step", "Primal.+", 512, ours=1.0, eager=1.5),
        measured("language-step", "Primal.+, memory", 512, MEGABYTES, ours=60.0),
        measured("language-step", "softmax", 512, ours=1.0, eager=1.1),
    )
    assert status_of(made, "PrimalFormer: faster than eager") == (1.7, "miss")
    assert status_of(made, "PrimalFormer: peak over eager's") == (0.5, "pass")
    assert status_of(made, "Primal.+: faster than eager") == (1.5, "pass")
    assert status_of(made, "Primal.+: peak over eager's") == (None, "not measured")


def test_goals_and_table_of_the_generation():
    made = results_of(
        measured("generation", "next token", 64, ours=1.0, softmax=1.1),
        measured("generation", "next token", 32768, ours=1.0, softmax=9.0),
        measured("generation", "next token", 100_000, ours=1.05),
        measured("generation", "state", 100_000, MEGABYTES, ours=48 / 1024),
        measured("generation", "prompt", 10_000, ours=1.2, softmax=3.0, **{"pass": 1.0}),
    )
    assert status_of(made, "time per token after 100000 over 64") == (1.05, "pass")
    assert status_of(made, "kB of the state after 100000 tokens") == (48, "pass")
    assert status_of(made, "token after 32768: faster than softmax with cache") == (9, "miss")
    assert status_of(made, "prompt of 10000 tokens over a forward pass") == (1.2, "miss")
    text = tables.ratio_tables(made)
    assert "forward pass" in text
    assert "next token, tokens=32768" in text


# --- a run ---


def test_a_run_prints_tables_and_writes_its_file(tmp_path):
    chosen = ("--cases", "language-step,generation")
    result = bench("--sizes", "tiny", "--threads", 1, *chosen, "--json", tmp_path / "a.json")
    assert result.returncode == 0, result.stderr
    for text in ("Primal.+, memory, N=16", "next token, tokens=64", "goals (tiny sizes", "PrimalFormer: faster than"):
        assert text in result.stdout
    made = results.read(tmp_path / "a.json")
    assert list(made.cases) == ["language-step", "generation"]
    assert all(about["notes"] == [] for about in made.cases.values())
    assert 0 < made.cases["language-step"]["largest_disagreement"] < 1e-4
    found = {(m.what, m.length, m.subject, m.unit) for m in made.measurements}
    steps = {(model, 16, subject, SECONDS) for model in language.MODELS for subject in ("ours", "eager")}
    steps |= {(f"{model}, memory", length, subject, MEGABYTES) for model, length, subject, _ in steps}
    places = [(n, "ours") for n in TINY.positions] + [(n, "softmax") for n in TINY.softmax_positions]
    written = {("next token", *place, SECONDS) for place in places}
    written |= {("state", *place, MEGABYTES) for place in places}
    read = {("prompt", TINY.prompt, subject, SECONDS) for subject in ("ours", "softmax", "pass")}
    assert found == steps | written | read
    assert all(m.best > 0 and m.median >= m.best for m in made.measurements if m.unit == SECONDS)
    states = {m.best for m in made.measurements if m.what == "state" and m.subject == "ours"}
    assert len(states) == 1  # of constant size
    assert {goal["status"] for goal in made.goals} <= {"pass", "miss"}


def test_they_run_only_if_they_are_asked_for():
    for size in sizes.SIZES.values():
        assert not {"language-step", "generation"} & set(size.cases)
