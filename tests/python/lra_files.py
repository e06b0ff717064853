"""Small made-up sets of the Long Range Arena's tasks as their files, and a model that trains on them in no time.

make_lra_sets(tmp_path / "data")
run("train", "lra/text", *TINY_LRA, "--data", tmp_path / "data", "--run", tmp_path / "run")
"""

import random

from series_files import settings

# Four steps, an evaluation after every second.
TINY_LRA = (
    *("--threads", "1"),
    *settings("model.width=8", "model.heads=2", "model.feed_forward=16", "model.hidden=8", "model.rank=4"),
    *settings("train.batch=8", "train.accumulate=1", "train.length=4 steps", "train.evaluate=2 steps"),
    "--set",
    "schedule.warmup=2 steps",
)
# The TEST of each task in make_lra_sets().
TESTS = {
    "text": "imdb/imdb_test.tsv",
    "listops": "lra/listops/basic_test.tsv",
    "retrieval": "aan/new_aan_pairs.test.tsv",
    "image": "cifar-10/test_batch.bin",
}
GOOD, BAD = ("good", "fine", "great"), ("dull", "poor", "awful")
PICTURE = 32 * 32


def make_reviews(count, seed):
    """(label, text) of each; the two classes have no word in common."""
    draw = random.Random(seed)
    labels = [i % 2 for i in range(count)]
    return [(label, " ".join(draw.choices(GOOD if label else BAD, k=draw.randint(2, 9)))) for label in labels]


def write_reviews(path, reviews):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{label}\t5\t{i}_5\t{text}\n" for i, (label, text) in enumerate(reviews)))
    return path


def write_expressions(path, count, seed):
    """ListOps: the largest of some digits."""
    draw = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["Source\tTarget"]
    for _ in range(count):
        digits = draw.choices(range(10), k=draw.randint(2, 8))
        lines.append(f"( [MAX {' '.join(map(str, digits))} ] )\t{max(digits)}")
    path.write_text("\n".join(lines) + "\n")


def write_pairs(path, count, seed):
    """Related texts repeat the same word."""
    draw = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for i in range(count):
        word, other = draw.sample(GOOD + BAD, 2)
        second = word if i % 2 else other
        lines.append(f"{i % 2}.0\t{i}\t{i}\t{f'{word} ' * draw.randint(2, 5)}\t{f'{second} ' * draw.randint(2, 5)}\n")
    path.write_text("".join(lines))


def write_pictures(path, count, seed):
    """CIFAR-10: each class has a brightness of its own, and a black frame above and below."""
    draw = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    records = b""
    for i in range(count):
        middle = bytes(20 + 20 * (i % 10) + draw.randint(0, 9) for _ in range(PICTURE - 128))
        records += bytes([i % 10]) + 3 * (bytes(64) + middle + bytes(64))
    path.write_bytes(records)


def make_lra_sets(folder):
    """Every task but pathfinder, where the program looks for them in `folder`."""
    write_reviews(folder / "imdb" / "imdb_train.tsv", make_reviews(60, 0))
    write_reviews(folder / "imdb" / "imdb_test.tsv", make_reviews(24, 1))
    for seed, (part, count) in enumerate({"train": 40, "val": 10, "test": 12}.items()):
        write_expressions(folder / "lra" / "listops" / f"basic_{part}.tsv", count, seed)
    for seed, (part, count) in enumerate({"train": 40, "eval": 10, "test": 12}.items()):
        write_pairs(folder / "aan" / f"new_aan_pairs.{part}.tsv", count, seed)
    for i in range(1, 6):
        write_pictures(folder / "cifar-10" / f"data_batch_{i}.bin", 10, i)
    write_pictures(folder / "cifar-10" / "test_batch.bin", 12, 0)
    return folder
