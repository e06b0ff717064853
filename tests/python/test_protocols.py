"""The honest protocol does not look at TEST before the end; the paper protocol chooses by it, as published."""

import json
import shutil

import pytest
from series_files import (
    FROM_THE_CLOCK,
    TINY,
    done,
    make_series,
    make_set,
    metrics,
    result,
    run,
    score_line,
    tensor_bytes,
    the_error,
    without_labels,
    write_ts,
)

EPOCHS = 7
SETTINGS = (*TINY, "--set", f"train.epochs={EPOCHS}", "--set", "optimizer.lr=5e-3", "--set", "loss.eta=0.01")
DAMAGED_LINE = 6


def evaluations(folder):
    return [record for record in metrics(folder) if record["kind"] == "evaluation"]


def facts(folder):
    """The result without TEST and the clock."""
    return {k: v for k, v in result(folder).items() if k not in FROM_THE_CLOCK | {"test"}}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """The same TRAIN, with its TEST, with another TEST, and with one that cannot be read."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("own", "other", "damaged")}
    make_set(folders["own"])
    for name in ("other", "damaged"):
        shutil.copy(folders["own"] / "Tiny_TRAIN.ts", folders[name])
    # Other values, and every series under the label of the next class.
    other = make_series(30, 77, classes=("up", "wave", "down"), lengths=(3, 20))
    write_ts(folders["other"] / "Tiny_TEST.ts", other)
    good = (folders["own"] / "Tiny_TEST.ts").read_text()
    (folders["damaged"] / "Tiny_TEST.ts").write_text(good.replace("@data\n", "@data\nno numbers\n"))
    return folders


def train(sets, name, folder, *changes):
    output = done(run("train", *SETTINGS, "--data", sets[name], "--run", folder, *changes))
    (folder / "output.txt").write_text(output)
    return folder


@pytest.fixture(scope="module")
def honest(sets, tmp_path_factory):
    return train(sets, "own", tmp_path_factory.mktemp("honest") / "run")


@pytest.fixture(scope="module")
def paper(sets, tmp_path_factory):
    return train(sets, "own", tmp_path_factory.mktemp("paper") / "run", "--protocol", "paper")


def test_honest_training_does_not_depend_on_test(sets, honest, tmp_path):
    other = train(sets, "other", tmp_path / "run")
    assert metrics(other) == metrics(honest)
    assert tensor_bytes(other) == tensor_bytes(honest)
    assert facts(other) == facts(honest)
    assert result(other)["test"] != result(honest)["test"]


def test_a_damaged_test_is_found_before_training(sets, tmp_path):
    message = the_error(run("train", *SETTINGS, "--data", sets["damaged"], "--run", tmp_path / "run"), "train")
    assert message.startswith(f"{sets['damaged'] / 'Tiny_TEST.ts'}:{DAMAGED_LINE}: ")
    assert not (tmp_path / "run").exists()


def test_honest_chooses_by_validation(honest):
    records = evaluations(honest)
    assert {r["split"] for r in records} == {"validation"}
    assert [r["epoch"] for r in records] == list(range(1, EPOCHS + 1))
    best = max(records, key=lambda r: (r["accuracy"], -r["loss"]))
    assert result(honest)["best_epoch"] == best["epoch"]
    assert result(honest)["validation_accuracy"] == best["accuracy"]
    assert json.loads((honest / "best" / "state.json").read_text())["epoch"] == best["epoch"]


def test_honest_trains_on_four_fifths(honest):
    assert "48 training series, 12 for validation" in (honest / "log.txt").read_text()


def test_paper_gives_the_best_of_the_test_evaluations(paper):
    records = evaluations(paper)
    assert {r["split"] for r in records} == {"test"}
    best = max(records, key=lambda r: (r["accuracy"], -r["loss"]))
    facts = result(paper)
    assert facts["test"]["accuracy"] == best["accuracy"]
    assert facts["test"]["loss"] == best["loss"]
    assert facts["best_epoch"] == best["epoch"]
    assert facts["validation_accuracy"] is None


def test_paper_evaluates_when_the_published_runs_did(paper):
    assert [r["epoch"] for r in evaluations(paper)] == [0, 1, 2, 4, 6, 7]


def test_paper_trains_on_all_of_train(paper):
    log = (paper / "log.txt").read_text()
    assert "60 training series," in log
    assert "validation" not in log


def test_every_result_line_carries_its_protocol(honest, paper):
    line = (honest / "output.txt").read_text()
    assert "protocol honest, seed 1, epoch" in line
    assert "by validation accuracy" in line
    line = (paper / "output.txt").read_text()
    assert "protocol paper, seed 1, epoch" in line
    assert "by TEST itself" in line
    assert [result(folder)["protocol"] for folder in (honest, paper)] == ["honest", "paper"]


def test_refit_trains_on_all_of_train_for_as_many_epochs_as_validation_chose(sets, honest, tmp_path):
    folder = train(sets, "own", tmp_path / "run", "--set", "run.refit=true")
    assert metrics(folder) == metrics(honest)
    best = result(honest)["best_epoch"]
    assert result(folder) | {"best_epoch": best, "refit": True} == result(folder)
    # 60 series in batches of 16 are 4 steps; the 48 of before were 3.
    refit = metrics(folder / "refit")[1:]
    assert [(r["kind"], r["step"], r["epoch"]) for r in refit] == [("train", 4 * e, e) for e in range(1, best + 1)]
    last = folder / "refit" / "checkpoints" / f"step-{4 * best}" / "model.safetensors"
    assert (folder / "best" / "model.safetensors").read_bytes() == last.read_bytes()
    output = done(run("eval", folder, "--data", sets["own"]))
    assert score_line("accuracy", f"{100 * result(folder)['test']['accuracy']:.2f} %") in output


def test_the_last_epoch_is_kept_if_asked_for(sets, tmp_path):
    # With large steps the second epoch is worse than the first.
    large_steps = ("--set", "optimizer.lr=5e-2", "--set", "train.epochs=2")
    best, last = (
        train(sets, "own", tmp_path / kept, *large_steps, "--set", f"train.keep={kept}") for kept in ("best", "last")
    )
    assert metrics(best) == metrics(last)
    assert [result(folder)["best_epoch"] for folder in (best, last)] == [1, 2]
    assert [result(folder)["kept_last"] for folder in (best, last)] == [False, True]
    assert result(last)["validation_accuracy"] == evaluations(last)[1]["accuracy"]
    assert "epoch 2 of 2, the last, validation accuracy" in (last / "output.txt").read_text()
    assert tensor_bytes(best) != tensor_bytes(last)
    newest = last / "checkpoints" / "step-6" / "model.safetensors"
    assert (last / "best" / "model.safetensors").read_bytes() == newest.read_bytes()


def test_the_last_epoch_is_reached_whatever_the_patience(sets, tmp_path):
    last = ("--set", "train.keep=last", "--set", "train.patience=1", "--set", "train.evaluate_every=3")
    folder = train(sets, "own", tmp_path / "run", *last)
    assert result(folder)["epochs"] == result(folder)["best_epoch"] == EPOCHS


def test_the_last_epoch_belongs_to_the_honest_protocol(sets, tmp_path):
    paper = ("--protocol", "paper", "--set", "train.keep=last")
    message = the_error(run("train", *SETTINGS, *paper, "--data", sets["own"], "--run", tmp_path / "run"), "train")
    assert message == "train.keep: last belongs to the honest protocol, got run.protocol = paper"


def test_without_a_share_for_test_there_is_no_test_accuracy(sets, tmp_path):
    own = ("--set", f"data.train={sets['own'] / 'Tiny_TRAIN.ts'}", "--set", "data.test_share=0")
    folder = train(sets, "own", tmp_path / "run", *own)
    assert result(folder)["test"] is None
    assert (folder / "output.txt").read_text().startswith("no test (")
    assert the_error(run("eval", folder), "eval") == "data.test_share: 0, so this run has no TEST; give a file"
    paper = run("train", *SETTINGS, *own, "--protocol", "paper", "--run", tmp_path / "paper")
    assert the_error(paper, "train").startswith("data.test_share: expected more than 0 with the paper protocol")


def test_the_honest_protocol_holds_something_out(sets, tmp_path):
    answer = run("train", *SETTINGS, "--set", "data.validation=0", "--data", sets["own"], "--run", tmp_path / "run")
    assert the_error(answer, "train").startswith("data.validation: expected more than 0 with the honest protocol")


def test_a_test_file_without_labels_or_with_other_channels_is_found_before_training(sets, tmp_path):
    own = (*SETTINGS, "--train", sets["own"] / "Tiny_TRAIN.ts", "--run", tmp_path / "run")
    nameless = write_ts(tmp_path / "nameless.ts", without_labels(make_series(6, 1)))
    message = the_error(run("train", *own, "--test", nameless), "train")
    assert message.startswith(f"{nameless}: the series have neither class labels nor targets (")
    wide = tmp_path / "wide.csv"
    wide.write_text("series,x,y,z,label\n0,1,2,3,up\n")
    message = the_error(run("train", *own, "--test", wide), "train")
    assert message == f"{wide}: the series have 3 channels, the training series 2"
    unknown = write_ts(tmp_path / "unknown.ts", make_series(6, 1, classes=("down", "up", "other")))
    message = the_error(run("train", *own, "--test", unknown), "train")
    assert message == f'{unknown}: class "other" does not occur in the training series'
    assert not (tmp_path / "run").exists()


def test_refit_belongs_to_the_honest_protocol(sets, tmp_path):
    answer = run("train", *SETTINGS, "--protocol", "paper", "--set", "run.refit=true", "--run", tmp_path / "run")
    assert answer.returncode == 2
    assert "run.refit: belongs to the honest protocol" in answer.stderr


def test_what_a_preset_has_for_the_honest_protocol_does_not_bar_the_other(tmp_path):
    for preset in ("series/default", "uea/JapaneseVowels-tuned"):
        keys = run("train", preset, "--protocol", "paper", "--keys").stdout
        assert "run.refit = false" in keys
        assert 'train.keep = "best"' in keys
        assert "run.refit = true" in run("train", preset, "--keys").stdout
    answer = run("train", "series/default", "--protocol", "paper", "--set", "run.refit=true", "--run", tmp_path / "run")
    assert "run.refit: belongs to the honest protocol" in answer.stderr


def test_without_test_nothing_of_it_is_read(sets, honest, tmp_path):
    folder = tmp_path / "run"
    output = done(run("train", *SETTINGS, "--data", sets["damaged"], "--run", folder, "--set", "run.test=false"))
    assert output.startswith("no test (PrimalFormer on Tiny, protocol honest")
    assert result(folder)["test"] is None
    assert facts(folder) == facts(honest)
