"""primal.LanguageModel: a trained run in a Python program, the same as `primal generate` and `primal predict`."""

import csv
import io
import json
import math
import threading

import pytest
from language_files import TINY_LANGUAGE, make_wikitext, train_bytes, write_text
from series_files import done, run, settings

import primal


@pytest.fixture(scope="module", params=["primal,primal", "softmax,primal"])
def trained(request, tmp_path_factory):
    return train_bytes(tmp_path_factory.mktemp("trained"), request.param)


@pytest.fixture(scope="module")
def model(trained):
    return primal.LanguageModel.load(trained)


def written_by_the_program(trained, *arguments):
    return json.loads(done(run("generate", trained, *arguments, "--json", cwd=trained.parent)))["texts"]


def test_says_what_it_is(model):
    assert (model.unit, model.vocabulary_size) == ("bytes", 257)
    assert model.tokens("ab") == [97, 98]
    assert repr(model) == "LanguageModel(bytes, vocabulary_size=257)"


def test_writes_what_the_program_writes(trained, model):
    options = {"tokens": 40, "temperature": 0.8, "top_k": 30, "top_p": 0.9, "repetition": 1.2, "seed": 5}
    flags = [str(word) for key, value in options.items() for word in ("--" + key.replace("_", "-"), value)]
    assert [model.generate("the cat", **options)] == written_by_the_program(trained, "--prompt", "the cat", *flags)
    three = written_by_the_program(trained, "--prompt", "the cat", "--samples", "3", *flags)
    assert model.samples("the cat", 3, **options) == three


def test_a_stream_is_the_text_piece_by_piece(model):
    stream = model.stream("the cat", tokens=30, seed=3)
    assert "".join(stream) == model.generate("the cat", tokens=30, seed=3)
    assert next(stream, None) is None
    assert stream.tokens == 1 + 7 + 30


def test_a_stream_reads_on(model):
    stream = model.stream("the", temperature=0)
    stream.read(" cat")
    assert next(stream) == next(model.stream("the cat", temperature=0))


def test_a_stream_goes_on_bit_for_bit(model, tmp_path):
    stream = model.stream("the cat", seed=9)
    for _ in range(5):
        next(stream)
    stream.save(tmp_path / "state")
    later = model.stream(seed=9)
    later.load(tmp_path / "state")
    assert [next(later) for _ in range(10)] == [next(stream) for _ in range(10)]


def test_scores_are_those_of_predict(trained, model, tmp_path):
    text = write_text(tmp_path / "more.txt", count=5, seed=3).read_text()
    rows = done(run("predict", trained, "--input", tmp_path / "more.txt", cwd=trained.parent))
    surprise = [float(row["surprise"]) for row in csv.DictReader(io.StringIO(rows))]
    scores = model.score(text)
    assert [score.surprise for score in scores] == pytest.approx(surprise, abs=1e-4)
    assert "".join(score.text for score in scores) == text
    assert model.perplexity(text) == pytest.approx(math.exp(sum(surprise) / len(surprise)), rel=1e-4)


def test_threads_have_streams_of_their_own(model):
    texts = {}

    def write(seed):
        texts[seed] = "".join(model.stream("the cat", tokens=20, seed=seed))

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {seed: model.generate("the cat", tokens=20, seed=seed) for seed in range(4)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tokens": -1}, "expected 0 tokens or more, got -1"),
        ({"temperature": -1.0}, "temperature: expected 0 or more, got -1"),
        ({"top_p": 0.0}, "expected more than 0, at most 1, got 0"),
        ({"stops": [""]}, "got an empty one"),
    ],
)
def test_wrong_options_are_value_errors(model, options, said):
    with pytest.raises(ValueError, match=said):
        model.generate("the", **options)


def test_options_that_are_none_are_type_errors(model):
    with pytest.raises(TypeError, match="sequence of texts"):
        model.generate("the", stops="cat")
    with pytest.raises(TypeError, match="temprature"):
        model.stream("the", temprature=1)


def test_words_outside_the_vocabulary(tmp_path):
    arguments = (*TINY_LANGUAGE, *settings("train.accumulate=1"), "--data", make_wikitext(tmp_path / "sets"))
    done(run("train", "language/wikitext-2", *arguments, "--run", tmp_path / "run", cwd=tmp_path))
    model = primal.LanguageModel.load(tmp_path / "run")
    with pytest.raises(ValueError, match="unicorn"):
        model.generate("the unicorn")
    assert model.generate("the unicorn", tokens=3, unknown_words=True)


def test_what_is_no_run_is_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="no run here"):
        primal.LanguageModel.load(tmp_path)
