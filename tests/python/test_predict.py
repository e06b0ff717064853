"""primal predict and eval: the classes of new series, from files and pipes."""

import csv
import threading
from dataclasses import replace

import pytest
from series_files import (
    TINY,
    csv_header,
    csv_rows,
    done,
    make_gaps,
    make_series,
    result,
    run,
    score_line,
    start,
    the_error,
    without_labels,
    write_csv,
    write_ts,
)

SERIES = make_series(30, 1000)  # those of Tiny_TEST.ts
SHORT = make_series(12, 4, lengths=(3, 8))  # none as long as the longest of the training


@pytest.fixture(scope="module")
def answer(data, trained):
    """What is said of Tiny_TEST.ts."""
    return done(run("predict", trained, "--input", data / "Tiny_TEST.ts"))


def table(text):
    """(name, class, probabilities) of each series."""
    header, *rows = csv.reader(text.splitlines())
    assert header == ["series", "predicted", "p(down)", "p(up)", "p(wave)"]
    return [(name, predicted, list(map(float, shares))) for name, predicted, *shares in rows]


def assert_same_answers(text, other):
    """But for the last digit: series go through the model in other batches."""
    for (name, predicted, shares), expected in zip(table(text), table(other), strict=True):
        assert (name, predicted) == expected[:2]
        assert shares == pytest.approx(expected[2], abs=3e-6)


def test_every_series_has_a_class_and_probabilities_that_sum_to_1(answer):
    rows = table(answer)
    assert [name for name, *_ in rows] == [one.name for one in SERIES]
    for _, predicted, shares in rows:
        assert sum(shares) == pytest.approx(1, abs=2e-6)
        assert predicted == ("down", "up", "wave")[shares.index(max(shares))]


def test_predictions_have_the_accuracy_that_eval_and_the_run_tell(data, trained, answer):
    hits = sum(row[1] == one.label for row, one in zip(table(answer), SERIES, strict=True))
    line = score_line("accuracy", f"{100 * hits / 30:.2f} %")
    assert line in done(run("eval", trained, "--data", data))
    assert line in done(run("eval", trained, "--file", data / "Tiny_TEST.ts"))
    assert hits / 30 == pytest.approx(result(trained)["test"]["accuracy"])


def test_csv_and_ts_are_answered_alike(trained, answer, tmp_path):
    assert done(run("predict", trained, "--input", write_csv(tmp_path / "a.csv", SERIES))) == answer


@pytest.mark.parametrize("write", [write_ts, write_csv])
def test_labels_are_not_needed(trained, answer, tmp_path, write):
    name = "a.ts" if write is write_ts else "a.csv"
    assert done(run("predict", trained, "--input", write(tmp_path / name, without_labels(SERIES)))) == answer


@pytest.mark.parametrize("write", [write_ts, write_csv])
def test_standard_input_is_read_in_both_formats(trained, answer, tmp_path, write):
    text = write(tmp_path / "any", SERIES).read_text()
    assert_same_answers(done(run("predict", trained, "--input", "-", text=text)), answer)


def test_the_output_file_is_what_standard_output_would_get(data, trained, answer, tmp_path):
    file = tmp_path / "out.csv"
    file.write_text("old")
    assert done(run("predict", trained, "--input", data / "Tiny_TEST.ts", "--output", file)) == ""
    assert file.read_text() == answer


def test_missing_values_are_filled_in_by_a_straight_line(trained, tmp_path):
    rows = [[0.0, 1.0], [0.5, 2.0], [1.0, 3.0], [1.0, 3.0]]
    gaps = [[0.0, 1.0], [None, None], [1.0, 3.0], [None, None]]
    first, second = (
        done(run("predict", trained, "--input", write_csv(tmp_path / "a.csv", [replace(SERIES[0], values=values)])))
        for values in (rows, gaps)
    )
    assert first == second


def test_a_series_does_not_depend_on_those_that_it_is_padded_with(data, tmp_path):
    means = ("--set", "model.pooling=mean", "--set", "model.padding=respect")
    done(run("train", *TINY, *means, "--data", data, "--run", tmp_path / "run"))
    file = write_csv(tmp_path / "short.csv", SHORT)
    alone, together = (done(run("predict", tmp_path / "run", "--input", file, "--batch", n)) for n in (1, 12))
    assert_same_answers(alone, together)


def expect_answers(process, pieces):
    """Each piece that is written to the program must be answered before the next: piece -> number of lines."""
    watchdog = threading.Timer(30, process.kill)  # a read that waits in vain ends
    watchdog.start()
    lines = []
    for text, count in pieces:
        process.stdin.write(text)
        process.stdin.flush()
        lines += [process.stdout.readline() for _ in range(count)]
        assert all(lines), f"no answer to {text!r}"
    process.stdin.close()
    rest = process.stdout.read()
    assert process.wait() == 0, process.stderr.read()
    watchdog.cancel()
    process.stdout.close()
    process.stderr.close()
    return "".join(lines) + rest


def test_a_blank_line_gets_the_answer_to_a_csv_series_at_once(trained, answer):
    pieces = [(csv_header(SERIES), 0)] + [(csv_rows(one) + "\n", 2 if one is SERIES[0] else 1) for one in SERIES[:3]]
    text = expect_answers(start("predict", trained, "--input", "-"), pieces)
    assert_same_answers(text, "".join(answer.splitlines(keepends=True)[:4]))


def test_the_next_series_gets_the_answer_to_the_one_before(trained, answer):
    first, second, third = map(csv_rows, SERIES[:3])
    pieces = [(csv_header(SERIES) + first, 0), (second, 2), (third, 1)]
    text = expect_answers(start("predict", trained, "--input", "-"), pieces)
    assert_same_answers(text, "".join(answer.splitlines(keepends=True)[:4]))


def test_each_line_of_a_ts_stream_is_answered_at_once(data, trained, answer):
    head, cases = (data / "Tiny_TEST.ts").read_text().split("@data\n")
    first, second, *_ = cases.splitlines(keepends=True)
    text = expect_answers(start("predict", trained, "--input", "-"), [(head + "@data\n" + first, 2), (second, 1)])
    assert_same_answers(text, "".join(answer.splitlines(keepends=True)[:3]))


def test_series_longer_than_those_of_the_training_are_mentioned(trained, tmp_path):
    series = [*SHORT, *make_series(2, 5, lengths=(20, 20))]
    answer = run("predict", trained, "--input", write_ts(tmp_path / "long.ts", series))
    assert len(table(done(answer))) == 14
    assert answer.stderr == (
        "primal predict: 2 of 14 series are longer than the longest training series (12 steps): "
        "only their beginning was looked at\n"
    )


def test_other_channels_are_an_error(trained, tmp_path):
    narrow = [replace(one, values=[row[:1] for row in one.values]) for one in SERIES]
    file = write_ts(tmp_path / "narrow.ts", narrow)
    message = the_error(run("predict", trained, "--input", file, "--output", tmp_path / "out.csv"), "predict")
    assert message == f"{file}: the series have 1 channels, the training series 2"
    assert list(tmp_path.iterdir()) == [file]
    assert "1 channels" in the_error(run("eval", trained, "--file", file), "eval")


def test_a_file_that_is_wrong_in_the_middle_leaves_no_output(trained, tmp_path):
    file = write_csv(tmp_path / "wrong.csv", SERIES)
    file.write_text(file.read_text() + "last,1,high,\n")
    line = file.read_text().count("\n")
    command = ("predict", trained, "--input", file, "--output", tmp_path / "out.csv", "--batch", "1")
    message = the_error(run(*command), "predict")
    assert message == f'{file}:{line}: column 3: expected a number, got "high"'
    assert list(tmp_path.iterdir()) == [file]


def test_there_must_be_a_trained_model(tmp_path):
    message = the_error(run("predict", tmp_path, "--input", "-"), "predict")
    assert message == f"{tmp_path}: no run here (config.toml is missing)"
    (tmp_path / "config.toml").write_text('[run]\nprotocol = "honest"\n')
    message = the_error(run("eval", tmp_path), "eval")
    assert message == f"{tmp_path}: no model yet (best/ is missing)"


def test_eval_wants_the_classes_of_the_training(trained, tmp_path):
    file = write_csv(tmp_path / "other.csv", make_series(6, 3, classes=("down", "up", "flat")))
    message = the_error(run("eval", trained, "--file", file), "eval")
    assert message == f'{file}: class "flat" does not occur in the training series'


def test_csv_columns_may_stand_in_any_order(tmp_path):
    model = tmp_path / "run"
    done(run("train", *TINY, "--train", write_csv(tmp_path / "train.csv", make_series(40, 0)), "--run", model))
    swapped = [replace(one, values=[row[::-1] for row in one.values]) for one in SERIES]
    file = write_csv(tmp_path / "swapped.csv", swapped)
    file.write_text(file.read_text().replace("c0,c1", "c1,c0", 1))
    plain = write_csv(tmp_path / "plain.csv", SERIES)
    assert done(run("predict", model, "--input", file)) == done(run("predict", model, "--input", plain))
    file.write_text(file.read_text().replace("c1,c0", "c1,c7", 1))
    message = the_error(run("predict", model, "--input", file), "predict")
    assert message == f"{file}: channel c0 of the training series is missing"


def test_a_value_beyond_all_measure_is_named(trained, tmp_path):
    lines = "series,c0,c1,label\na,1,1,up\na,2,1e30,up\n"
    file = tmp_path / "far.csv"
    file.write_text(lines)
    for command, name, text in (
        (("predict", trained, "--input", "-"), "standard input", lines),
        (("predict", trained, "--input", file), file, None),
        (("eval", trained, "--file", file), file, None),
    ):
        message = the_error(run(*command, text=text), command[0])
        assert message.startswith(f'{name}: series "a": a value lies ')
        assert message.endswith("standard deviations from the training series, expected at most 1e+15")


@pytest.mark.parametrize("command", ["predict", "eval"])
def test_output_that_cannot_be_written_is_a_failure(command, data, trained):
    arguments = {"predict": ("--input", data / "Tiny_TEST.ts"), "eval": ("--data", data)}[command]
    with open("/dev/full", "w") as full:
        process = start(command, trained, *arguments, stdout=full)
        _, errors = process.communicate()
    assert process.returncode == 1
    assert errors == f"primal {command}: standard output could not be written: No space left on device\n"


def test_the_input_is_not_overwritten(trained, tmp_path):
    file = write_csv(tmp_path / "a.csv", SHORT)
    before = file.read_text()
    message = the_error(run("predict", trained, "--input", file, "--output", file), "predict")
    assert message == f"--output {file}: is the input itself, which would be lost"
    assert file.read_text() == before


def test_a_model_of_times_wants_times(tmp_path):
    series = make_gaps(40, 1)
    file, bare = write_csv(tmp_path / "a.csv", series), write_csv(tmp_path / "b.csv", series, times=False)
    small = [word for word in TINY if word != "data.set=Tiny"]
    small.remove("--set")
    for train, other, words in (
        (file, bare, "no times, but the model was trained with"),
        (bare, file, "times, but the"),
    ):
        folder = tmp_path / train.stem
        done(run("train", *small, "--set", "model.time=bochner", "--train", train, "--run", folder))
        done(run("predict", folder, "--input", train))
        assert words in the_error(run("predict", folder, "--input", other), "predict")
        assert words in the_error(run("eval", folder, "--file", other), "eval")
    trained = (*small, "--set", "model.time=bochner", "--train", file, "--test", bare, "--run", tmp_path / "c")
    assert "no times, but the model was trained with" in the_error(run("train", *trained), "train")
    far = tmp_path / "far.csv"
    far.write_text("series,time,c0\nx,0,1\nx,1e60,2\n")
    message = the_error(run("predict", tmp_path / "a", "--input", far), "predict")
    assert message.startswith(f'{far}: series "x": spans ')


def test_a_folder_of_seeds_is_not_a_model(tmp_path, data):
    folder = tmp_path / "seeds"
    done(run("train", *TINY, "--set", "train.epochs=1", "--data", data, "--run", folder, "--seeds", "2"))
    message = the_error(run("eval", folder, "--data", data), "eval")
    assert message == f"{folder}: holds the runs of several seeds; name one of them, seed-1 or so"
