"""primal bench --cases lra-table,lra-growth: factors, scaling, what does not fit, the chart. No timing is judged."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from test_bench import bench, measured, results_of, status_of

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from layer_bench import arena, arena_cases, arena_step, arena_tables, results  # noqa: E402
from layer_bench.arena_step import NotMeasured, Step  # noqa: E402
from layer_bench.results import MEGABYTES, SECONDS, Measurement  # noqa: E402


def of_listops(**seconds):
    memory = measured("lra-table", "listops, memory", 2048, MEGABYTES, **{name: 100 * s for name, s in seconds.items()})
    return results_of(measured("lra-table", "listops", 2048, **seconds), memory)


# --- what is measured ---


def test_every_kind_of_the_program_is_in_the_table():
    with pytest.raises(NotMeasured) as error:
        arena_step.measure(Step(("nonsense", "nonsense"), 64), threads=1, steps=1)
    known = re.fullmatch(r"attention: expected one of (.*), got \"nonsense\"", str(error.value))[1].split(", ")
    assert set(known) == {kind for layers in arena.KINDS.values() for kind in layers}


def test_a_step_that_would_take_too_long_has_fewer_examples_and_its_figures_are_scaled():
    """The memory of an explicit matrix is all that matters here: scaled, it is that of the whole batch."""
    step = Step(("softmax", "softmax"), 1024, examples=4, softmax="explicit")
    whole, part = (arena_step.measure(step, threads=1, steps=1, step_seconds=s) for s in (100.0, 1e-6))
    assert (whole.share, part.share) == (1, 0.25)
    assert part.megabytes == pytest.approx(whole.megabytes, rel=0.2)


def test_a_step_that_does_not_fit_is_told_and_not_fatal(monkeypatch):
    monkeypatch.setattr(arena_step, "memory_limit", lambda: 0.5)
    monkeypatch.setattr(arena_step, "REST_GIGABYTES", 0.5)
    with pytest.raises(NotMeasured, match="does not fit into 1 GB"):
        arena_step.measure(Step(("softmax",), 16384, softmax="explicit", alone=True), threads=1, steps=1)


def test_an_explicit_matrix_takes_more_memory_than_blocks():
    explicit, *blocks = (
        arena_step.measure(Step(("softmax",), 1024, softmax=softmax, alone=True), threads=1, steps=1).megabytes
        for softmax in ("explicit", "sdpa", "ours")
    )
    matrix = arena.HEADS * 1024**2 * 4 / 2**20
    assert explicit > max(blocks) + matrix


def test_tasks_of_the_same_shape_share_a_step_unless_a_rank_differs():
    image, pathfinder = (task for task in arena.TASKS if task.length == 1024)
    assert arena_cases.step_of(image, "nystrom") == arena_cases.step_of(pathfinder, "nystrom")
    assert arena_cases.step_of(image, arena.OURS) != arena_cases.step_of(pathfinder, arena.OURS)
    assert len({arena_cases.step_of(image, subject) for subject in (arena.PLAIN, arena.SOFTMAX, arena.TILES)}) == 3


def test_growth_is_foreseen_from_the_last_two_lengths():
    assert arena_cases._next([]) == 0
    assert arena_cases._next([1.0]) == 4  # nothing is known: quadratic
    assert arena_cases._next([1.0, 3.0]) == 9
    assert arena_cases._next([1.0, 1.1]) == pytest.approx(2.2)
    assert arena_cases._next([1.0, 9.0]) == 36


# --- tables and goals ---


def test_a_factor_is_what_softmax_takes_over_what_the_subject_takes():
    made = of_listops(plain=9.0, softmax=4.0, ours=2.0)
    ours = next(row for row in arena_tables.rows(made.measurements) if row["subject"] == "ours")
    assert (ours["time_factor_explicit"], ours["time_factor_sdpa"], ours["published_time_factor"]) == (4.5, 2, 3.4)
    assert (ours["memory_factor_explicit"], ours["published_memory_factor"]) == (4.5, 7.9)
    assert ours["seconds_per_1000_steps"] == 4000  # of the median


def test_without_softmax_there_is_no_factor():
    row = arena_tables.rows(of_listops(linear=2.0).measurements)[0]
    assert row["time_factor_explicit"] is row["published_time_factor"] is None
    assert "linear" in arena_tables.table(of_listops(linear=2.0).measurements, [])


def test_the_table_says_what_was_scaled():
    made = [
        Measurement("lra-table", "text", 4096, "plain", SECONDS, 8.0, 8.0, 2, share=0.125),
        Measurement("lra-table", "text, memory", 4096, "plain", MEGABYTES, 9.0, 9.0, 1, share=0.125),
    ]
    assert "2 steps, 1/8 of the batch, scaled" in arena_tables.table(made, [])


def test_goals_of_the_table_are_the_published_factors():
    made = of_listops(**{"plain": 8.0, "ours": 2.0, "eager": 5.0, "ours, 1 thread": 3.8})
    assert status_of(made, "listops: faster than explicit softmax") == (4, "pass")
    assert status_of(made, "listops: less memory than explicit softmax") == (4, "miss")
    assert status_of(made, "listops: faster than eager") == (2.5, "miss")
    assert status_of(made, "listops: all threads faster than 1") == (1.9, "pass")


# --- a run, and the chart ---


def test_a_run_writes_every_kind_with_its_factors(tmp_path):
    result = bench("--sizes", "tiny", "--threads", 1, "--cases", "lra-table,lra-growth", "--json", tmp_path / "a.json")
    assert result.returncode == 0, result.stderr
    for text in ("s/1000 steps", "PrimalFormer beside eager PyTorch", "lra-growth: forward+backward, MB"):
        assert text in result.stdout
    made = results.read(tmp_path / "a.json")
    assert made.cases["lra-table"]["notes"] == made.cases["lra-growth"]["notes"] == []
    rows = made.cases["lra-table"]["rows"]
    everyone = {*arena.KINDS, arena.EAGER}
    assert {(row["task"], row["subject"]) for row in rows} == {("retrieval", subject) for subject in everyone}
    assert all(row["seconds_per_1000_steps"] > 0 and row["time_factor_explicit"] > 0 for row in rows)
    grown = {(m.subject, m.unit) for m in made.measurements if m.case == "lra-growth"}
    assert grown == {(s, unit) for s in arena.KINDS if s != arena.MIXED for unit in (SECONDS, MEGABYTES)}


def draw(*arguments):
    command = [sys.executable, ROOT / "bench" / "lra_growth_chart.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def test_the_chart_has_a_line_and_a_name_for_every_kind(tmp_path):
    groups = []
    for length in (512, 1024, 2048):
        kinds = {"ours": 1e-6 * length, **({"plain": 1e-9 * length**2} if length < 2048 else {})}
        groups.append(measured("lra-growth", "forward+backward", length, **kinds))
        groups.append(measured("lra-growth", "memory", length, MEGABYTES, **{k: 1e3 * v for k, v in kinds.items()}))
    results.write_text(results.to_json(results_of(*groups)), tmp_path / "a.json")
    done = draw(tmp_path / "a.json", tmp_path / "a.svg")
    assert done.returncode == 0, done.stderr
    parts = list(ElementTree.parse(tmp_path / "a.svg").iter())
    classes = [part.get("class") for part in parts]
    assert classes.count("line") == 4
    assert [part.text for part in parts if part.get("class") == "name"] == ["primal", arena.LAYER_TITLES["plain"]] * 2


def test_a_chart_of_results_without_growth_is_an_error(tmp_path):
    results.write_text(results.to_json(of_listops(ours=1.0)), tmp_path / "a.json")
    done = draw(tmp_path / "a.json", tmp_path / "a.svg")
    assert done.returncode == 2
    assert "has no measurements of lra-growth" in done.stderr
    assert not (tmp_path / "a.svg").exists()
