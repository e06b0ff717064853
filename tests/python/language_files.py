"""Small made-up texts, and a language model that trains on them in no time.

text = write_text(tmp_path / "text.txt")
run("train", "language/bytes", *TINY_LANGUAGE, "--train", text, "--run", tmp_path / "run")
"""

import random

from series_files import done, run, settings

# Four steps, an evaluation after every second.
TINY_LANGUAGE = (
    *("--threads", "1"),
    *settings("model.width=16", "model.heads=2", "model.feed_forward=32", "model.rank=4", "model.layers=primal,primal"),
    *settings("data.block=32", "eval.context=16", "eval.sample_tokens=20", "train.batch=4", "model.dropout=0"),
    *settings("train.length=4 steps", "train.evaluate=2 steps", "schedule.warmup=2 steps"),
)

NOUNS = ("cat", "dog", "bird", "fish", "child")
VERBS = ("sees", "likes", "follows", "hears")


def sentences(count, seed=0):
    """Lines of a small grammar, easy to learn."""
    draw = random.Random(seed)
    return [f"the {draw.choice(NOUNS)} {draw.choice(VERBS)} the {draw.choice(NOUNS)} ." for _ in range(count)]


def write_text(path, count=400, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(sentences(count, seed)) + "\n")
    return path


def train_bytes(folder, layers):
    """A byte model that has learnt next to nothing and remembers in every way there is. -> its run directory"""
    text = write_text(folder / "text.txt")
    kinds = settings(f"model.layers={layers}", "model.memory=decay", "model.convolution=3")
    done(run("train", "language/bytes", *TINY_LANGUAGE, *kinds, "--train", text, "--run", folder / "run", cwd=folder))
    return folder / "run"


def make_wikitext(folder, name="wikitext-2"):
    """wiki.{train,valid,test}.tokens, three articles each; TEST has a word that TRAIN has not."""
    for seed, part in enumerate(("train", "valid", "test")):
        lines = []
        for article in range(3):
            lines += ["", f"= Article {article} =", "", *sentences(40, 10 * seed + article)]
        if part == "test":
            lines.append("the zebra sees the <unk> .")
        target = folder / name / f"wiki.{part}.tokens"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f" {line} \n" for line in lines))
    return folder
