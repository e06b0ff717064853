"""primal generate: what it writes, states that go on, and what it refuses."""

import json
import re

import pytest
from language_files import TINY_LANGUAGE, make_wikitext, train_bytes, write_text
from series_files import done, run, settings, the_error


@pytest.fixture(scope="module", params=["primal,primal", "softmax,primal"])
def model(request, tmp_path_factory):
    return train_bytes(tmp_path_factory.mktemp("model"), request.param)


@pytest.fixture(scope="module")
def word_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    arguments = (*TINY_LANGUAGE, *settings("train.accumulate=1"), "--data", make_wikitext(folder / "sets"))
    done(run("train", "language/wikitext-2", *arguments, "--run", folder / "run", cwd=folder))
    return folder / "run"


def generate(model, *arguments, **options):
    return run("generate", model, *arguments, cwd=model.parent, **options)


def told(model, *arguments, **options):
    return json.loads(done(generate(model, *arguments, "--json", **options)))


def test_the_same_seed_writes_the_same(model):
    first = done(generate(model, "--prompt", "the cat", "--tokens", "40", "--seed", "3"))
    assert first == done(generate(model, "--prompt", "the cat", "--tokens", "40", "--seed", "3"))
    assert first != done(generate(model, "--prompt", "the cat", "--tokens", "40", "--seed", "4"))


def test_temperature_zero_needs_no_seed(model):
    texts = {
        told(model, "--prompt", "the", "--temperature", "0", "--tokens", "20", "--seed", seed)["texts"][0]
        for seed in (1, 2)
    }
    assert len(texts) == 1


def test_timing_is_told_at_the_end(model):
    answer = generate(model, "--prompt", "the cat", "--tokens", "12")
    done(answer)
    assert re.search(r"read 8 tokens, \d+ tokens/s; written 12 tokens, \d+ tokens/s; state [\d.]+ KB", answer.stderr)


def test_samples_side_by_side_are_different(model):
    texts = told(model, "--prompt", "the", "--samples", "3", "--tokens", "40")["texts"]
    assert len(set(texts)) == 3


@pytest.mark.parametrize("samples", ["1", "3"])
def test_a_state_goes_on_bit_for_bit(model, word_model, samples, tmp_path):
    """With the sampling of before, and characters that are cut in two: a model that knows little writes many."""
    for run_folder in (model, word_model):
        state = tmp_path / f"{run_folder.parent.name}.state"
        begin = ("--prompt", "the cat", "--samples", samples, "--seed", "7", "--repetition", "1.2", "--top-p", "0.9")
        whole = told(run_folder, *begin, "--tokens", "60")["texts"]
        for cut in range(20, 26):
            first = told(run_folder, *begin, "--tokens", str(cut), "--save-state", state)["texts"]
            rest = told(run_folder, "--load-state", state, "--samples", samples, "--tokens", str(60 - cut))["texts"]
            assert [a + b for a, b in zip(first, rest, strict=True)] == whole


def test_other_sampling_may_be_asked_for_later(model, tmp_path):
    state = tmp_path / "state"
    done(generate(model, "--prompt", "the cat", "--tokens", "5", "--seed", "7", "--save-state", state))
    texts = {told(model, "--load-state", state, *seed)["texts"][0] for seed in ((), ("--seed", "7"), ("--seed", "8"))}
    assert len(texts) == 2


def test_a_sample_that_has_ended_stays_so(model, tmp_path):
    state = tmp_path / "state"
    stop = ("--stop", "e", "--samples", "4", "--seed", "2")
    first = told(model, "--prompt", "the cat", "--tokens", "300", *stop, "--save-state", state)["texts"]
    ended = ["e" in text for text in first]
    assert any(ended)
    rest = told(model, "--load-state", state, "--tokens", "20", *stop)["texts"]
    if not all(ended):
        assert all(bool(text) != done for text, done in zip(rest, ended, strict=True))


def test_what_was_written_is_not_lost_with_the_state(model, tmp_path):
    answer = generate(model, "--prompt", "the", "--samples", "2", "--save-state", tmp_path / "nowhere" / "state")
    assert answer.stdout.count("--- sample") == 2
    assert answer.returncode != 0
    assert "nowhere" in answer.stderr.splitlines()[-1]


def test_a_prompt_may_come_from_a_file_or_a_stream(model, tmp_path):
    prompt = write_text(tmp_path / "prompt.txt", 200)
    of_file = told(model, "--prompt-file", prompt, "--tokens", "10")
    of_stream = told(model, "--prompt-file", "-", "--tokens", "10", text=prompt.read_text())
    assert of_file["texts"] == of_stream["texts"]
    assert of_file["prompt_tokens"] == prompt.stat().st_size + 1


def test_a_stop_ends_the_text(model):
    text = told(model, "--prompt", "the cat", "--tokens", "2000", "--stop", "e", "--seed", "2")["texts"][0]
    assert "e" in text
    assert text.index("e") == len(text) - 1


def test_words_outside_the_vocabulary(word_model):
    message = the_error(generate(word_model, "--prompt", "the unicorn sees"), "generate")
    assert "unicorn" in message
    done(generate(word_model, "--prompt", "the unicorn sees", "--unknown-words", "--tokens", "3"))


def test_words_are_written_with_blanks(word_model):
    text = told(word_model, "--prompt", "the cat", "--tokens", "30")["texts"][0]
    assert not re.search("  |<pad>|<unused", text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--temperature", "-1"), "temperature: expected 0 or more, got -1"),
        (("--top-p", "0"), "top-p: expected more than 0, at most 1, got 0"),
        (("--prompt-file", "nowhere.txt"), "nowhere.txt: cannot be read"),
        (("--load-state", "nowhere.state"), "nowhere.state"),
        (("--stop", ""), "expected texts to stop at, got an empty one"),
    ],
)
def test_wrong_options_are_one_line(model, arguments, said):
    assert said in the_error(generate(model, *arguments), "generate")


def test_prompts_that_cannot_be_read(word_model, tmp_path):
    for name, content, said in (
        ("invalid.txt", b"the cat\nsees \xff\n", "invalid.txt:2: "),
        ("empty.txt", b"", "empty.txt: "),
        ("zero.txt", b"the \0 cat\n", "zero.txt:1: "),
    ):
        (tmp_path / name).write_bytes(content)
        assert said in the_error(generate(word_model, "--prompt-file", tmp_path / name), "generate")


def test_states_of_others_are_refused(model, word_model, tmp_path):
    state = tmp_path / "state"
    done(generate(model, "--prompt", "the", "--tokens", "3", "--save-state", state))
    assert (
        the_error(generate(word_model, "--load-state", state), "generate") == f"{state}: is the state of another model"
    )
    message = the_error(generate(model, "--load-state", state, "--samples", "2"), "generate")
    assert message == f"{state}: is the state of 1 samples, asked for 2"
    weights = model / "best" / "model.safetensors"
    assert "expected the state of a generator" in the_error(generate(model, "--load-state", weights), "generate")
    cut = tmp_path / "cut"
    cut.write_bytes(state.read_bytes()[:-100])
    assert str(cut) in the_error(generate(model, "--load-state", cut), "generate")


def test_other_runs_cannot_write(tmp_path):
    assert "nowhere" in the_error(run("generate", tmp_path / "nowhere"), "generate")


@pytest.mark.parametrize("limits", [("model.positions=learnt",), ("model.layers=cosformer,primal",)])
def test_models_that_read_so_many_tokens_only(limits, tmp_path):
    """Learnt positions end with the block, and so do samples in the report; more is refused before it is begun."""
    text = write_text(tmp_path / "text.txt")
    options = (*TINY_LANGUAGE, *settings("eval.sample_tokens=200", *limits), "--train", text)
    done(run("train", "language/bytes", *options, "--run", tmp_path / "run", cwd=tmp_path))
    message = the_error(generate(tmp_path / "run", "--prompt", "the cat", "--tokens", "26"), "generate")
    assert message.endswith("reads at most 32 tokens; there are 8 before what is written, and --tokens 26")
    assert told(tmp_path / "run", "--prompt", "the cat", "--tokens", "25")["tokens"] <= 25


def test_padding_is_never_written(tmp_path):
    """Bytes have no id for padding: where blocks need one, it lies behind theirs."""
    text = write_text(tmp_path / "text.txt")
    options = (*TINY_LANGUAGE, *settings("data.breaks=document"), "--train", text)
    done(run("train", "language/bytes", *options, "--run", tmp_path / "run", cwd=tmp_path))
    done(generate(tmp_path / "run", "--temperature", "1000", "--tokens", "3000", "--samples", "2"))
