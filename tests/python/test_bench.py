"""primal bench: ratios, goals, files, arguments, and a run of everything at tiny sizes. No timing is judged here."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from browser import needs_browser, open_page
from series_files import PROGRAM

import primal

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from layer_bench import agreement, average, goals, results, sizes, tables, timing, workloads  # noqa: E402
from layer_bench.results import MEGABYTES, SECONDS, Measurement, Results  # noqa: E402


def bench(*arguments, **environment):
    command = [sys.executable, ROOT / "bench" / "layer_bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def program(*arguments, **environment):
    command = [PROGRAM, "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def measured(case, what, length, unit=SECONDS, tokens=1, **values):
    return [Measurement(case, what, length, name, unit, v, 2 * v, 3, tokens) for name, v in values.items()]


def results_of(*groups):
    made = Results({"cpu": "a", "date": "today", "commit": "c"}, {"sizes": "full", "repeats": 3, "cases": []})
    made.measurements = [m for group in groups for m in group]
    made.cases = {m.case: {"notes": []} for m in made.measurements}
    return made


def status_of(made, name):
    found = [goal for goal in goals.goals(made) if goal.name == name]
    assert len(found) == 1, [goal.name for goal in goals.goals(made)]
    return found[0].value, found[0].status


# --- ratios and goals ---


def test_ratio_is_of_two_subjects_of_the_same_group_and_none_without_one_of_them():
    made = results_of(measured("layer", "forward", 512, ours=2.0, eager=3.0), measured("layer", "forward", 8, ours=1.0))
    assert made.ratio("layer", "forward", 512, "eager", "ours") == 1.5
    assert made.ratio("layer", "forward", 512, "softmax", "ours") is None
    assert made.ratio("layer", "forward", 8, "eager", "ours") is None
    assert made.lengths("layer", "forward") == [8, 512]


def test_goals_of_the_layer():
    made = results_of(measured("layer", "forward", 8192, ours=1.0, floor=0.9, eager=1.39, compile=1.15, softmax=12.0))
    assert status_of(made, "forward, N=8192: time over floor") == (pytest.approx(1 / 0.9), "pass")
    assert status_of(made, "forward, N=8192: faster than eager") == (1.39, "miss")
    assert status_of(made, "forward, N=8192: faster than torch.compile") == (1.15, "pass")
    assert status_of(made, "forward, N=8192: faster than softmax") == (12.0, "pass")


def test_a_goal_without_its_measurement_is_not_measured():
    made = results_of(measured("layer", "forward", 512, ours=1.0, eager=2.0))
    assert status_of(made, "forward, N=512: faster than torch.compile") == (None, "not measured")
    assert "not measured" in tables.goal_table(goals.goals(made), "full")


def test_growth_is_the_slowest_token_over_the_quickest():
    seconds = {1024: 1.2, 4096: 1.2, 8192: 1.0}  # per token
    groups = [measured("growth", "forward", n, tokens=n, ours=n * t) for n, t in seconds.items()]
    name = "forward: time per token, slowest over quickest N"
    memory = measured("growth", "memory", 1024, MEGABYTES, tokens=1024, ours=5.0)
    assert [g.name for g in goals.goals(results_of(memory, *groups))] == [name]
    assert status_of(results_of(*groups), name) == (pytest.approx(1.2), "miss")
    assert status_of(results_of(groups[0], groups[1]), name) == (1.0, "pass")


def test_goals_of_decoding_threads_memory_and_small_calls():
    made = results_of(
        measured("decode", "token", 64, ours=1.0, softmax=2.0),
        measured("decode", "token", 8192, ours=1.05, softmax=30.0),
        measured("decode", "state", 64, MEGABYTES, ours=0.5),
        measured("decode", "state", 8192, MEGABYTES, ours=0.5),
        measured("threads", "forward+backward", 1, ours=1.9),
        measured("threads", "forward+backward", 2, ours=1.0),
        measured("memory", "layer", 512, MEGABYTES, ours=60.0, eager=100.0),
        measured("small", "forward", 32, ours=1.0, eager=1.0),
    )
    assert status_of(made, "time per token at 8192 over 64") == (1.05, "pass")
    assert status_of(made, "memory per token at 8192 over 64") == (1.0, "pass")
    assert status_of(made, "token at 8192: faster than softmax with cache")[1] == "pass"
    assert status_of(made, "2 threads faster than 1") == (1.9, "pass")
    assert status_of(made, "layer, N=512: peak over eager's") == (0.6, "miss")
    assert status_of(made, "forward, N=32: time over eager's") == (1.0, "pass")


def test_goals_of_the_moving_average():
    made = results_of(
        measured("moving-average", "causal, forward", 1000, ours=1.4, copy=1.0, eager=9.0),
        measured("moving-average", "causal, backward", 1000, ours=4.9),
        measured("moving-average", "both ways, forward", 1000, ours=2.0, copy=1.0),
    )
    assert status_of(made, "causal, N=1000: forward over a copy") == (1.4, "pass")
    assert status_of(made, "causal, N=1000: backward over forward") == (pytest.approx(3.5), "miss")
    assert status_of(made, "both ways, N=1000: forward over a copy") == (2.0, "miss")
    assert status_of(made, "both ways, N=1000: backward over forward") == (None, "not measured")


def test_every_case_has_goals_a_function_and_a_description():
    from layer_bench import cases

    assert list(goals.GOALS) == list(sizes.CASES) == list(cases.FUNCTIONS)


def test_subjects_are_timed_in_turn(monkeypatch):
    monkeypatch.setattr(timing, "SHORTEST", 0.0)  # one call per sample, however quick it is
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    timings = timing.time_in_turn(calls, 3)
    assert order[-6:] == ["a", "b"] * 3
    assert {name: len(t.samples) for name, t in timings.items()} == {"a": 3, "b": 3}


# --- agreement ---


@pytest.mark.parametrize("kind", ["layer", "encoder", "lra"])
@pytest.mark.parametrize("mode", [workloads.FORWARD, workloads.BACKWARD])
def test_ours_and_eager_agree(kind, mode):
    tiny = sizes.TINY
    workload = workloads.Workload(kind, mode, tiny.shape, 2, 12, tiny.feed_forward)
    agreed = agreement.check(workloads.jobs(workload, ["ours", "eager"]))
    assert agreed.worst < 1e-5
    assert agreed.notes == ()


@pytest.mark.parametrize("mode", [workloads.FORWARD, workloads.BACKWARD])
def test_a_wrong_subject_is_found(mode):
    made = workloads.jobs(workloads.Workload("layer", mode, sizes.TINY.shape, 2, 12), ["ours", "eager"])
    with torch.no_grad():
        made["ours"].module.inner.out_proj.weight[0, 0] += 0.1
    with pytest.raises(agreement.Disagreement, match="ours and eager differ in output"):
        agreement.check(made)


@pytest.mark.parametrize("directions", [1, 2])
def test_moving_averages_agree_and_a_wrong_one_is_found(directions, monkeypatch):
    made = average.Average(2, 70, 8, directions)
    assert made.check() < 1e-5
    plain = primal.reference.moving_average
    monkeypatch.setattr(primal.reference, "moving_average", lambda x, s, *rest: plain(x, s + 0.1, *rest))
    with pytest.raises(agreement.Disagreement, match="ours and eager differ in output"):
        made.check()


def test_what_float32_cannot_do_is_allowed_and_noted(monkeypatch):
    made = workloads.jobs(workloads.Workload("layer", workloads.BACKWARD, sizes.TINY.shape, 2, 12), ["ours", "eager"])
    monkeypatch.setattr(agreement, "TOLERANCE", 1e-9)  # below the rounding of float32
    monkeypatch.setattr(agreement, "relative_error", lambda value, expected: 1e-7)
    notes = agreement.check(made).notes
    assert "output: eager itself is off by 1.0e-07 in float32; limit 2.0e-07" in notes


# --- files ---


def test_json_round_trip(tmp_path):
    made = results_of(measured("layer", "forward", 512, ours=2.0, eager=3.0))
    results.write_text(results.to_json(made), tmp_path / "a.json")
    assert results.read(tmp_path / "a.json") == made
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a result of primal bench"),
        ('{"format": 99}', "format 99, this program reads 1"),
        ('{"format": 1, "measurements": []}', "not a result of primal bench"),
        ('{"format": 1, "machine": {}, "settings": {}, "measurements": [{"case": 1}]}', "not a result"),
    ],
)
def test_a_base_that_is_no_result_is_an_error_in_one_line(tmp_path, text, message):
    (tmp_path / "bad.json").write_text(text)
    result = bench("--base", tmp_path / "bad.json")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"primal bench: --base {tmp_path}/bad.json: ")
    assert message in result.stderr


def test_comparison_with_a_base():
    base = results_of(
        measured("layer", "forward", 512, ours=2.0, eager=4.0), measured("small", "forward", 32, ours=1.0)
    )
    now = results_of(measured("layer", "forward", 512, ours=1.0, eager=4.0), measured("lra", "forward", 8, ours=1.0))
    now.machine = {**now.machine, "cpu": "b"}
    text = tables.base_table(now, base)
    assert "note: cpu was a, is b" in text
    row = next(line for line in text.splitlines() if "layer: forward, N=512" in line)
    assert row.split()[-2:] == ["0.50", "0.50"]
    assert "small" not in text
    assert "lra" not in text


def test_measurements_of_other_sizes_are_not_compared():
    base = results_of(measured("layer", "forward", 512, tokens=8192, ours=2.0))
    now = results_of([replace(m, tokens=2048) for m in base.measurements])
    assert "nothing in common" in tables.base_table(now, base)


# --- the command ---


WRONG = [
    (("--cases", "layer,nonsense"), "there is no case 'nonsense'; cases: layer, encoder"),
    (("--cases", ","), "names no case"),
    (("--repeats", "0"), "'0' is not a positive number"),
    (("--threads", "two"), "'two' is not a positive number"),
    (("--json", "/nowhere/at/all.json"), "there is no folder /nowhere/at"),
    (("--chart", "chart.pdf"), "must end in .html or .png"),
    (("--base", "/nowhere/base.json"), "No such file"),
    (("--nonsense",), "--nonsense"),
]


@pytest.mark.parametrize("run", [bench, program])
@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda v: v[0] if isinstance(v, tuple) else "")
def test_wrong_arguments_are_one_line_and_exit_code_2(run, arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("primal bench: ")
    assert message in result.stderr


@pytest.mark.parametrize("run", [bench, program])
def test_list_names_every_case(run):
    result = run("--list")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(sizes.CASES)


def test_the_program_says_when_there_is_no_python():
    result = program("--list", PRIMAL_PYTHON="/nowhere/python")
    assert result.returncode == 2
    assert result.stderr == "primal bench: could not start /nowhere/python: No such file or directory\n"


def test_a_program_outside_of_a_checkout_says_so(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "primal").write_bytes(PROGRAM.read_bytes())
    (tmp_path / "bin" / "primal").chmod(0o755)
    result = subprocess.run([tmp_path / "bin" / "primal", "bench"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("primal bench: there is no ")


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    cases = "layer,encoder,lra,decode,moving-average,memory,small"
    files = ("--json", folder / "a.json", "--chart", folder / "a.html")
    return bench("--sizes", "tiny", "--threads", 1, "--cases", cases, *files), folder


def test_a_run_prints_tables_and_writes_its_files(tiny_run):
    result, folder = tiny_run
    assert result.returncode == 0, result.stderr
    assert all(line.startswith("primal bench: ") for line in result.stderr.splitlines())
    for text in ("layer", "forward+backward, N=16", "all products", "goals (tiny sizes", "decode: time per token"):
        assert text in result.stdout
    made = results.read(folder / "a.json")
    assert list(made.cases) == ["layer", "encoder", "lra", "decode", "moving-average", "memory", "small"]
    assert {m.subject for m in made.measurements} == {"ours", "eager", "softmax", "linear", "floor", "products", "copy"}
    averages = {(m.what, m.length) for m in made.measurements if m.case == "moving-average" and m.subject == "eager"}
    assert averages == {
        *((f"{way}, forward", length) for way in ("causal", "both ways") for length in (16, 70)),
        *((f"{way}, backward", 16) for way in ("causal", "both ways")),
    }
    assert all(m.best > 0 and m.median >= m.best for m in made.measurements if m.unit == SECONDS)
    assert all(about["largest_disagreement"] < 1e-4 for about in made.cases.values())
    assert made.machine["threads"] == 1
    assert sorted(p.name for p in folder.iterdir()) == ["a.html", "a.json"]


def test_the_files_of_a_run_carry_no_host_name_and_no_path(tiny_run):
    text = (tiny_run[1] / "a.json").read_text()
    assert os.uname().nodename not in json.loads(text)["machine"].values()
    assert str(ROOT) not in text


def test_an_interrupted_run_keeps_the_finished_cases(tmp_path):
    command = [sys.executable, ROOT / "bench" / "layer_bench", "--sizes", "tiny", "--threads", "1"]
    command += ["--cases", "decode,memory", "--json", tmp_path / "a.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A group of its own, as of a terminal: Ctrl-C reaches the children too. Tests in the background inherit that the
    # signal is ignored; here it must not be.
    listening = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(list(map(str, command)), start_new_session=True, **listening, **pipes) as running:
        seen = [next(line for line in running.stderr if "memory" in line)]
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGINT)
        out, rest = running.communicate(timeout=30)
    assert running.returncode == 130, rest
    assert [*seen, *rest.splitlines()] == [seen[0], "primal bench: interrupted; finished cases: decode"]
    assert "token, position=32" in out
    assert list(results.read(tmp_path / "a.json").cases) == ["decode"]


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_the_chart_of_a_run_is_drawn(tiny_run, dark):
    page = open_page(tiny_run[1] / "a.html", dark=dark)
    assert page.problems() == []
    assert page.tags["canvas"] >= 5
    assert "goals reached" in page.text
