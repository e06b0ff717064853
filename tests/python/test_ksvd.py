"""primal ksvd: kernel SVD of tables in files, their features, and features of new rows."""

import json
import re

import pytest
import torch
from browser import needs_browser, open_page
from safetensors.torch import load_file, save_file
from series_files import done, run, the_error

FILES = {"left", "right", "singular values", "model", "page"}


def write_table(path, values, header=True):
    names = ",".join(f"c{i}" for i in range(values.shape[1])) + "\n" if header else ""
    path.write_text(names + "".join(",".join(map(repr, row)) + "\n" for row in values.tolist()))
    return path


def read_table(path):
    """A CSV file with a header."""
    names, *lines = path.read_text().splitlines()
    values = torch.tensor([[float(cell) for cell in line.split(",")] for line in lines], dtype=torch.float64)
    assert names.count(",") + 1 == values.shape[1]
    return values


def ksvd(*arguments):
    return json.loads(done(run("ksvd", *arguments, "--json")))


@pytest.fixture(scope="module")
def x():
    return torch.randn(60, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def z():
    return torch.randn(45, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2)) + 0.5


@pytest.fixture(scope="module")
def files(tmp_path_factory, x, z):
    folder = tmp_path_factory.mktemp("tables")
    return write_table(folder / "x.csv", x), write_table(folder / "z.csv", z, header=False)


def distances(x, z):
    return torch.cdist(x, z, compute_mode="donot_use_mm_for_euclid_dist")


def kernel_matrix(name, x, z, width):
    squared = distances(x, z).square()
    return {
        "linear": lambda: x @ z.T,
        "cosine": lambda: torch.nn.functional.normalize(x) @ torch.nn.functional.normalize(z).T,
        "poly": lambda: (x @ z.T + 1).square(),
        "rbf": lambda: torch.exp(-squared / width**2),
        "sne": lambda: torch.softmax(-squared / width**2, 1),
    }[name]()


def assert_is_svd(facts, matrix, left, right):
    """Left and right features are sqrt(n) U Lambda and sqrt(m) V Lambda with Lambda = sigma / sqrt(n m)."""
    n, m = matrix.shape
    u, sigma, vt = torch.linalg.svd(matrix)
    rank = facts["rank"]
    torch.testing.assert_close(torch.tensor(facts["singular_values"]).double(), sigma[:rank], rtol=1e-6, atol=1e-9)
    scaled = sigma[:rank] / (n * m) ** 0.5
    torch.testing.assert_close(left.abs(), (u[:, :rank] * scaled * n**0.5).abs(), rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(right.abs(), (vt[:rank].T * scaled * m**0.5).abs(), rtol=1e-6, atol=1e-9)
    torch.testing.assert_close((left / scaled) @ right.T, u[:, :rank] * sigma[:rank] @ vt[:rank], rtol=1e-6, atol=1e-8)
    assert facts["energy"] == pytest.approx(sigma.square().sum().item())
    assert facts["share"] == pytest.approx((sigma[:rank].square() / sigma.square().sum()).tolist())


@pytest.mark.parametrize("kernel", ["linear", "cosine", "poly", "rbf", "sne"])
def test_two_tables(files, x, z, tmp_path, kernel):
    rows, columns = files
    width = ("--width", "2.5") if kernel in {"rbf", "sne"} else ()
    options = ("--kernel", kernel, *width, "--rank", "4", "--output", tmp_path / "out")
    facts = ksvd("--rows", rows, "--cols", columns, *options)
    assert (facts["rows"], facts["columns"], facts["rank"], facts["sampled"]) == (60, 45, 4, None)
    assert facts["kernel"]["name"] == kernel
    assert facts["form"] == ("dual" if kernel in {"rbf", "sne"} else "primal")
    assert facts["files"].keys() == FILES
    left, right = (read_table(tmp_path / "out" / name) for name in ("left.csv", "right.csv"))
    assert_is_svd(facts, kernel_matrix(kernel, x, z, 2.5), left, right)


def test_one_table_with_itself(files, x, tmp_path):
    facts = ksvd("--rows", files[0], "--kernel", "rbf", "--rank", "3", "--output", tmp_path / "out")
    width = facts["kernel"]["width"]
    apart = distances(x, x)
    assert width == pytest.approx(apart[apart > 0].median().item())
    assert facts["files"]["right"] == facts["files"]["left"]
    assert not (tmp_path / "out" / "right.csv").exists()
    features = read_table(tmp_path / "out" / "left.csv")
    assert_is_svd(facts, kernel_matrix("rbf", x, x, width), features, features)


def test_a_matrix_of_kernel_values(tmp_path):
    matrix = torch.randn(20, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    file = write_table(tmp_path / "k.csv", matrix)
    facts = ksvd("--matrix", file, "--rank", "5", "--output", tmp_path / "out")
    left, right = (read_table(tmp_path / "out" / name) for name in ("left.csv", "right.csv"))
    assert_is_svd(facts, matrix, left, right)


def test_singular_values_as_a_file(files, tmp_path):
    facts = ksvd("--rows", files[0], "--kernel", "linear", "--rank", "3", "--output", tmp_path / "out")
    head, *lines = (tmp_path / "out" / "singular_values.csv").read_text().splitlines()
    assert head == "number,singular_value,scaled,share,together"
    rows = [list(map(float, line.split(","))) for line in lines]
    assert [row[1] for row in rows] == facts["singular_values"]
    assert [row[2] for row in rows] == facts["scaled"]
    assert [row[3] for row in rows] == pytest.approx(facts["share"])
    assert rows[-1][4] == pytest.approx(sum(facts["share"]))


@pytest.mark.parametrize("options", [(), ("--nystrom", "0.5"), ("--nystrom", "0.5", "--orthogonal")])
@pytest.mark.parametrize("kernel", ["cosine", "poly", "rbf", "sne"])
def test_training_rows_have_the_same_features_as_new_rows(files, tmp_path, kernel, options):
    rows, columns = files
    out = tmp_path / "out"
    ksvd(
        "--rows", rows, "--cols", columns, "--kernel", kernel, "--rank", "3", "--standardise", *options, "--output", out
    )
    done(run("ksvd", "--apply", out, "--rows", rows, "--output", tmp_path / "left.csv"))
    done(run("ksvd", "--apply", out / "model.safetensors", "--cols", columns, "--output", tmp_path / "right.csv"))
    for name in ("left.csv", "right.csv"):
        assert (tmp_path / name).read_text() == (out / name).read_text()


def test_new_rows_by_the_formula(files, x, z, tmp_path):
    """Of the sne kernel: a new row is divided by its own sum over the columns of the model."""
    new = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    facts = ksvd(
        *("--rows", files[0], "--cols", files[1], "--kernel", "sne", "--width", "2"), "--output", tmp_path / "out"
    )
    text = done(run("ksvd", "--apply", tmp_path / "out", "--rows", write_table(tmp_path / "new.csv", new)))
    (tmp_path / "features.csv").write_text(text)
    scaled = torch.tensor(facts["scaled"], dtype=torch.float64)
    vectors = read_table(tmp_path / "out" / "right.csv") / scaled / 45**0.5
    expected = kernel_matrix("sne", new, z, 2.0) @ vectors / 45**0.5
    torch.testing.assert_close(read_table(tmp_path / "features.csv"), expected, rtol=1e-6, atol=1e-12)


def test_new_rows_of_a_matrix(tmp_path):
    matrix = torch.randn(20, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    file = write_table(tmp_path / "k.csv", matrix)
    ksvd("--matrix", file, "--rank", "2", "--nystrom", "0.5", "--output", tmp_path / "out")
    features = done(run("ksvd", "--apply", tmp_path / "out", "--rows", file))
    assert features == (tmp_path / "out" / "left.csv").read_text()
    columns = write_table(tmp_path / "t.csv", matrix.T.contiguous())
    assert (
        done(run("ksvd", "--apply", tmp_path / "out", "--cols", columns))
        == (tmp_path / "out" / "right.csv").read_text()
    )


def test_nystrom_of_a_matrix_of_low_rank_is_exact(files, tmp_path):
    rows, columns = files
    both = [
        ksvd("--rows", rows, "--cols", columns, "--kernel", "linear", "--rank", "5", *options)
        for options in ((), ("--nystrom", "0.4", "--orthogonal"), ("--nystrom", "1"))
    ]
    for facts in both[1:]:
        assert facts["singular_values"] == pytest.approx(both[0]["singular_values"], rel=1e-9)
    assert both[1]["sampled"] == {"rows": 24, "columns": 18}
    assert both[2]["sampled"] is None


def test_samples_follow_the_seed(files):
    def values(seed):
        return ksvd("--rows", files[0], "--kernel", "rbf", "--nystrom", "0.3", "--seed", seed)["singular_values"]

    assert values(1) == values(1) != values(2)


def test_tensor_files_are_read_and_written(x, z, files, tmp_path):
    save_file({"rows": x, "columns": z}, tmp_path / "both.safetensors")
    file = tmp_path / "both.safetensors"
    options = ("--kernel", "cosine", "--rank", "3")
    facts = ksvd(
        "--rows",
        f"{file}:rows",
        "--cols",
        f"{file}:columns",
        *options,
        "--output",
        tmp_path / "a",
        "--format",
        "safetensors",
    )
    assert facts["singular_values"] == ksvd("--rows", files[0], "--cols", files[1], *options)["singular_values"]
    features = load_file(tmp_path / "a" / "left.safetensors")["features"]
    assert features.dtype == torch.float64
    assert features.shape == (60, 3)
    save_file({"rows": x.float()}, tmp_path / "short.safetensors")
    short = ("--rows", tmp_path / "short.safetensors", *options, "--format", "safetensors")
    ksvd(*short, "--output", tmp_path / "b")
    assert load_file(tmp_path / "b" / "left.safetensors")["features"].dtype == torch.float32
    exact = ksvd(*short, "--output", tmp_path / "c", "--double")
    assert load_file(tmp_path / "c" / "left.safetensors")["features"].dtype == torch.float64
    assert exact["singular_values"] == pytest.approx(ksvd("--rows", files[0], *options)["singular_values"], rel=1e-6)


def test_a_table_may_come_from_a_pipe(files):
    facts = json.loads(done(run("ksvd", "--rows", "-", "--json", text=files[0].read_text())))
    assert facts["singular_values"] == ksvd("--rows", files[0])["singular_values"]


def test_the_primal_form_gives_the_same_bytes_with_any_number_of_threads(tmp_path):
    table = torch.randn(20000, 6, generator=torch.Generator().manual_seed(6))
    save_file({"rows": table}, tmp_path / "x.safetensors")
    for threads in (1, 2, 3):
        ksvd("--rows", tmp_path / "x.safetensors", "--threads", threads, "--output", tmp_path / str(threads))
    for name in ("left.csv", "singular_values.csv", "model.safetensors"):
        assert len({(tmp_path / str(threads) / name).read_bytes() for threads in (1, 2, 3)}) == 1


def test_the_table_on_the_terminal(files, tmp_path):
    rows, columns = files
    text = done(run("ksvd", "--rows", rows, "--cols", columns, "--rank", "3", "--output", tmp_path / "out"))
    facts = ksvd("--rows", rows, "--cols", columns, "--rank", "3")
    head, titles, *lines = text.splitlines()
    assert head == f"{rows} and {columns}: cosine kernel, 60 x 45 kernel values, primal form with 5 features"
    assert titles.split() == ["number", "singular", "value", "scaled", "share", "together"]
    for i, line in enumerate(lines[:3]):
        number, value, scaled, share, *_ = line.split()
        assert int(number) == i + 1
        assert float(value) == pytest.approx(facts["singular_values"][i], rel=1e-5)
        assert float(scaled) == pytest.approx(facts["scaled"][i], rel=1e-4)
        assert float(share) == pytest.approx(100 * facts["share"][i], abs=6e-3)
    assert lines[3] == f"effective rank {facts['effective_rank']:.2f} of 3"
    assert {line[:16].strip(): line[16:] for line in lines[4:]} == {
        "left": f"{tmp_path}/out/left.csv",
        "right": f"{tmp_path}/out/right.csv",
        "singular values": f"{tmp_path}/out/singular_values.csv",
        "model": f"{tmp_path}/out/model.safetensors",
        "page": f"{tmp_path}/out/report.html",
    }
    sampled = done(run("ksvd", "--rows", rows, "--kernel", "sne", "--nystrom", "0.5"))
    assert "Nystrom from 30 rows and 30 columns\n" in sampled
    assert sampled.endswith("; singular values and shares are estimates from the sample\n")


@needs_browser
def test_a_browser_draws_the_page(files, tmp_path):
    hostile = tmp_path / "<b>'&.csv"
    hostile.write_text(files[0].read_text())
    done(run("ksvd", "--rows", hostile, "--kernel", "sne", "--nystrom", "0.5", "--output", tmp_path / "out"))
    page = open_page(tmp_path / "out" / "report.html")
    assert page.problems() == []
    assert page.tags["canvas"] == 6
    for text in ("<b>'&.csv", "Sne kernel", "Nystrom from 30 rows", "estimates from a sample", "Effective rank"):
        assert text in page.text
    done(run("ksvd", "--rows", hostile, "--rank", "1", "--output", tmp_path / "one"))
    page = open_page(tmp_path / "one" / "report.html")
    assert page.problems() == []
    assert page.tags["canvas"] == 2


def test_bad_tables_are_one_line(files, tmp_path):
    good = files[0]
    for text, message in (
        ("", "{0}: is empty, expected a table of numbers"),
        ("x,y\n", "{0}:1: expected at least one row after the header, got the end of the file"),
        ("1,2\n3,x\n", '{0}:2: column 2: expected a number, got "x"'),
        ("x,y\n1,NaN\n", '{0}:2: column 2 ("y"): expected a number, got "NaN"'),
        ("1,2\n3,-inf\n", '{0}:2: column 2: expected a finite number, got "-inf"'),
        ("1,2\n3\n", "{0}:2: expected 2 cells as in line 1, got 1"),
        ("1,2\n3,4\n", "tables: expected as many numbers in a row of both, got 5 and 2"),
    ):
        bad = tmp_path / "bad.csv"
        bad.write_text(text)
        answer = run("ksvd", "--rows", good, "--cols", bad, "--output", tmp_path / "out")
        assert the_error(answer, "ksvd") == message.format(bad)
    save_file({"a": torch.tensor([[1.0, 2.0], [3.0, float("nan")]])}, tmp_path / "nan.safetensors")
    message = the_error(run("ksvd", "--rows", tmp_path / "nan.safetensors"), "ksvd")
    assert message == f"{tmp_path}/nan.safetensors: row 2, column 2: expected a finite number, got NaN"
    assert not (tmp_path / "out").exists()


def test_wrong_arguments_are_one_line(files, tmp_path):
    rows, columns = files
    ksvd("--rows", rows, "--rank", "2", "--output", tmp_path / "out")
    two = write_table(tmp_path / "two.csv", torch.ones(3, 2))
    for arguments, message in (
        ([], "expected --rows FILE, or --matrix FILE; try --help"),
        (["--rows", rows, "--matrix", rows], "expected --rows FILE, or --matrix FILE; try --help"),
        (["--rows", tmp_path / "none.csv"], f"{tmp_path}/none.csv: .*"),
        (["--rows", tmp_path], f"{tmp_path}: is a folder, expected a table: CSV or safetensors"),
        (["--matrix", rows, "--cols", columns], "--matrix has the kernel values already; leave out --cols"),
        (["--matrix", rows, "--kernel", "rbf"], "--matrix has the kernel values already; leave out --kernel"),
        (["--rows", rows, "--kernel", "tanh"], r"--kernel: tanh not in .*"),
        (["--rows", rows, "--degree", "3"], r"--degree: expected a kernel that has it \(poly\), got cosine"),
        (["--rows", rows, "--kernel", "rbf", "--width", "0"], "--width: expected a number above 0, got 0"),
        (["--rows", rows, "--kernel", "poly", "--offset", "-1"], "kernel: expected an offset of at least 0, got -1"),
        (["--rows", rows, "--rank", "6"], "rank: expected 1 to 5, the least of rows, columns and 5 features, got 6"),
        (["--rows", rows, "--rank", "0"], "--rank: expected a whole number, at least 1, got 0; try --help"),
        (["--rows", rows, "--nystrom", "1.5"], "Nystrom: expected a share above 0 and up to 1, got 1.5"),
        (["--rows", rows, "--orthogonal"], "--orthogonal mends what a sample leaves; it needs --nystrom"),
        (["--rows", rows, "--form", "primal", "--kernel", "rbf"], "primal form: expected a kernel with at most .*"),
        (["--rows", rows, "--output", columns], f"--output: expected a folder, got the file {columns}"),
        (["--apply", tmp_path / "out"], "--apply: expected either --rows FILE or --cols FILE"),
        (
            ["--apply", tmp_path / "out", "--rows", rows, "--kernel", "rbf"],
            "--apply takes the kernel .* leave out --kernel",
        ),
        (["--apply", tmp_path / "out", "--rows", two], f"{two}: expected rows of 5 numbers as in .*, got 2"),
        (["--apply", rows, "--rows", rows], f"{rows}: .*"),
        (["--apply", tmp_path / "none", "--rows", rows], f"{tmp_path}/none: .*"),
    ):
        assert re.fullmatch(message, the_error(run("ksvd", *arguments, cwd=tmp_path), "ksvd")), arguments


def test_what_was_read_is_not_overwritten(files, tmp_path):
    (tmp_path / "out").mkdir()
    inside = tmp_path / "out" / "left.csv"
    inside.write_text(files[0].read_text())
    message = the_error(run("ksvd", "--rows", inside, "--output", tmp_path / "out"), "ksvd")
    assert message == f"--output: {inside} is the input itself, which would be lost"
    ksvd("--rows", files[0], "--output", tmp_path / "other")
    answer = run("ksvd", "--apply", tmp_path / "other", "--rows", inside, "--output", inside)
    assert the_error(answer, "ksvd") == message
    assert inside.read_text() == files[0].read_text()
