"""Series that are odd in some way get a note, or lose nothing by it."""

import json
import math
import random
from dataclasses import replace

import pytest
from series_files import LEARNING, TINY, Series, done, make_series, result, run, settings, write_csv

SMALL = settings("model.width=16", "model.heads=2", "model.feed_forward=16", "model.rank=3", "train.epochs=2")


def train(file, folder, *options):
    return run("train", "--train", file, *SMALL, "--threads", "1", "--no-report", "--run", folder, *options)


def notes(answer):
    done(answer)
    return [line.removeprefix("note: ") for line in answer.stderr.splitlines() if line.startswith("note: ")]


def lengthened(series):
    return replace(series, values=series.values + series.values)


def test_series_that_are_cut_are_counted(tmp_path):
    train_file = write_csv(tmp_path / "train.csv", make_series(30, 0, lengths=(8, 8), missing=0))
    made = make_series(12, 1, lengths=(8, 8), missing=0)
    test_file = write_csv(tmp_path / "test.csv", [lengthened(made[0]), lengthened(made[1]), *made[2:]])
    cut = "2 of 12 {} are longer than the longest training series (8 steps): only their beginning was looked at"
    assert cut.format("TEST series") in notes(train(train_file, tmp_path / "run", "--test", test_file))
    assert cut.format("TEST series") in (tmp_path / "run" / "log.txt").read_text()
    paper = train(train_file, tmp_path / "paper", "--test", test_file, "--protocol", "paper")
    assert cut.format("TEST series") in notes(paper)
    answer = run("eval", tmp_path / "run")
    done(answer)
    assert answer.stderr == f"primal eval: note: {cut.format('TEST series')}\n"
    answer = run("eval", tmp_path / "run", "--file", test_file, "--json")
    assert json.loads(done(answer))["notes"] == [cut.format("series")]
    assert run("eval", tmp_path / "run", "--file", train_file).stderr == ""


def write_table(path, columns, *, cases=20, steps=6):
    """columns: name -> value(case, step)"""
    lines = [",".join(["series", *columns, "label"])]
    for i in range(cases):
        lines += [
            ",".join([str(i), *(str(make(i, t)) for make in columns.values()), "ab"[i % 2]]) for t in range(steps)
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_channels_that_say_nothing_are_named(tmp_path):
    columns = {
        "x": lambda i, t: round(math.sin(i + t), 4),
        **{f"fixed{k}": lambda i, t: 3.5 for k in range(7)},
        "lost": lambda i, t: "",
        "timestamp": lambda i, t: 1_700_000_000 + t,
        "Unnamed: 0": lambda i, t: i * 6 + t,
    }
    file = write_table(tmp_path / "odd.csv", columns)
    expected = [
        "channels fixed0, fixed1, fixed2, fixed3, fixed4 and 2 more are constant: they tell nothing",
        "channel lost has no value at all",
        "channels timestamp, Unnamed: 0 are taken for measurements, though their names say otherwise; "
        "leave the columns out",
    ]
    assert notes(train(file, tmp_path / "run")) == expected
    output = done(run("data", "info", file))
    assert f"  channels  {len(columns)}: {', '.join(columns)}\n" in output
    assert [line.removeprefix("  note      ") for line in output.splitlines() if "note " in line] == expected
    (info,) = json.loads(done(run("data", "info", file, "--json")))
    assert info["channels"] == len(columns)
    assert info["channel_names"] == list(columns)
    assert info["notes"] == expected


def test_ordinary_channels_get_no_note(data, tmp_path):
    assert notes(run("train", *TINY, "--data", data, "--run", tmp_path / "run", "--no-report")) == []
    infos = json.loads(done(run("data", "--data", data, "info", "Tiny", "--json")))
    assert [info["notes"] for info in infos] == [[], []]


def waves(count, seed, offset):
    """Fast and slow waves around the offset."""
    draw = random.Random(seed)
    made = []
    for i in range(count):
        phase = draw.uniform(0, 6)
        values = [[offset + math.sin((0.5 + i % 2) * t + phase) + draw.gauss(0, 0.05)] for t in range(20)]
        made.append(Series(f"s{i}", ("slow", "fast")[i % 2], values))
    return made


@pytest.mark.parametrize("offset", [1e9, -1e6])
def test_a_large_offset_takes_nothing_away(tmp_path, offset):
    """Floats near 10^9 are 64 apart: the values must be scaled before they are rounded to such."""
    learned = {}
    for level in (0, offset):
        folder = tmp_path / f"run{level:g}"
        files = [write_csv(tmp_path / f"{name}{level:g}.csv", waves(40, seed, level)) for seed, name in enumerate("ab")]
        options = ("--test", files[1], *LEARNING, "--set", "model.kernel=5")
        assert notes(train(files[0], folder, *options)) == []
        learned[level] = result(folder)["test"]["accuracy"]
        score = json.loads(done(run("eval", folder, "--file", files[1], "--json")))["score"]
        assert score == learned[level]
        assert json.loads((folder / "data.json").read_text()).get("precise", []) == ([0] if level else [])
        rows = done(run("predict", folder, "--input", files[1])).splitlines()[1:]
        answers = [row.split(",")[1] for row in rows]
        assert sum(a == ("slow", "fast")[i % 2] for i, a in enumerate(answers)) / 40 == pytest.approx(score)
        one_by_one = done(run("predict", folder, "--input", "-", text=files[1].read_text())).splitlines()[1:]
        assert [row.split(",")[1] for row in one_by_one] == answers
    assert learned[offset] == pytest.approx(learned[0], abs=0.051)
    assert learned[0] > 0.9
