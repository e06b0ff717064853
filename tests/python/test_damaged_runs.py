"""Files of a run that were damaged since they were written: what is noticed, and what it costs."""

import json
import shutil

import pytest
from series_files import assert_same_run, done, newest, result, run, the_error


def cut(file):
    file.write_bytes(file.read_bytes()[:-10])


DAMAGES = {
    "truncated model": ("model.safetensors", cut),
    "truncated optimizer": ("optimizer.safetensors", cut),
    "no state": ("state.json", lambda file: file.unlink()),
    "truncated state": ("state.json", cut),
    "state without a field": ("state.json", lambda file: file.write_text("{}")),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_named(data, unfinished, name, damage):
    damage(newest(unfinished) / name)
    answer = run("train", "--resume", unfinished, "--data", data)
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1].startswith(f"primal train: {newest(unfinished) / name}: ")
    assert "exception" not in answer.stderr
    assert not (unfinished / "result.json").exists()


def test_a_damaged_checkpoint_costs_a_finished_run_nothing(data, whole, tmp_path):
    folder = tmp_path / "finished"
    shutil.copytree(whole, folder)
    cut(newest(folder) / "model.safetensors")
    config, epochs = (folder / "config.toml").read_text(), result(folder)["epochs"] + 1
    message = the_error(run("train", "--resume", folder, "--data", data, "--set", f"train.epochs={epochs}"), "train")
    assert message.startswith(f"{newest(folder) / 'model.safetensors'}: ")
    assert result(folder) == result(whole)
    assert (folder / "config.toml").read_text() == config


def test_a_damaged_checkpoint_can_be_left_out(data, whole, unfinished):
    cut(newest(unfinished) / "model.safetensors")
    message = run("train", "--resume", unfinished, "--data", data).stderr
    advice = f"; remove {newest(unfinished)} to go on from the checkpoint before it\n"
    assert message.endswith(advice)
    shutil.rmtree(newest(unfinished))
    answer = run("train", "--resume", unfinished, "--data", data)
    done(answer)
    assert "starts anew" not in answer.stderr
    assert_same_run(unfinished, whole)


@pytest.mark.parametrize("torn", ['{"kind": "train", "st', '{"kind": "train"}'])
def test_a_line_that_a_crash_has_cut_off_does_not_glue_to_the_next(data, whole, unfinished, torn):
    with (unfinished / "metrics.jsonl").open("a") as file:
        file.write(torn)
    # As if the crash had come after the checkpoint was written.
    state = json.loads((newest(unfinished) / "state.json").read_text())
    del state["checksums"]
    state["metric_bytes"] = (unfinished / "metrics.jsonl").stat().st_size
    (newest(unfinished) / "state.json").write_text(json.dumps(state))
    done(run("train", "--resume", unfinished, "--data", data))
    assert_same_run(unfinished, whole)


def flip_a_bit(path):
    """In the last tensor: the header stays as it is."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
def test_a_damaged_bit_of_a_checkpoint_is_noticed(name, data, unfinished):
    flip_a_bit(newest(unfinished) / name)
    message = the_error(run("train", "--resume", unfinished, "--data", data), "train")
    assert message.startswith(f"{newest(unfinished) / name}: is damaged: its checksum is ")
    assert message.endswith(f"; remove {newest(unfinished)} to go on from the checkpoint before it")


def test_a_damaged_bit_of_the_kept_weights_is_noticed(data, whole, unfinished, tmp_path):
    damaged = shutil.copytree(whole, tmp_path / "damaged")
    for folder in (damaged, unfinished):
        flip_a_bit(folder / "best" / "model.safetensors")
    best = damaged / "best" / "model.safetensors"
    for command in (("eval", damaged, "--data", data), ("predict", damaged, "--input", data / "Tiny_TEST.ts")):
        assert the_error(run(*command), command[0]).startswith(f"{best}: is damaged: its checksum is ")
    message = the_error(run("train", "--resume", unfinished, "--data", data), "train")
    assert message.endswith("; the run needs it at its end: restore it from a copy, or begin a new run")


def test_a_state_that_is_no_longer_one_does_not_hide_other_damage(data, whole, tmp_path):
    damaged = shutil.copytree(whole, tmp_path / "damaged")
    (damaged / "best" / "state.json").write_text("")
    message = the_error(run("eval", damaged, "--data", data), "eval")
    assert message == f"{damaged / 'best' / 'state.json'}: is damaged: expected a JSON object"


def test_an_empty_configuration_is_not_taken_for_one(data, unfinished):
    (unfinished / "config.toml").write_text("")
    message = the_error(run("train", "--resume", unfinished, "--data", data), "train")
    expected = "is not the configuration of a run, or damaged: run.protocol is missing"
    assert message == f"{unfinished / 'config.toml'}: {expected}"


def test_a_configuration_of_another_model_does_not_cost_the_checkpoint(data, unfinished):
    config = unfinished / "config.toml"
    config.write_text(config.read_text().replace("rank = 4", "rank = 5"))
    answer = run("train", "--resume", unfinished, "--data", data)
    assert answer.returncode == 2
    assert answer.stderr.endswith("; config.toml or the data are not those of this checkpoint\n")


@pytest.mark.parametrize("damage", ['{"step": 72}', '{"step": 72, "sums": {}, "best": {}}', "[]"])
def test_a_checkpoint_whose_state_is_not_whole_costs_a_finished_run_nothing(data, whole, tmp_path, damage):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    (newest(folder) / "state.json").write_text(damage)
    before = {name: (folder / name).read_bytes() for name in ("result.json", "config.toml")}
    message = the_error(run("train", "--resume", folder, "--data", data, "--set", "train.length=8 epochs"), "train")
    assert "state.json" in message
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_damaged_data_json_is_named(data, unfinished):
    file = unfinished / "data.json"
    file.write_text('{"fingerprint": 5}')
    message = the_error(run("train", "--resume", unfinished, "--data", data), "train")
    assert message == f'{file}: field "fingerprint": expected a string, got 5'
