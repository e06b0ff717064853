"""primal data: which sets there are and what is in them."""

import pytest
from series_files import done, make_gaps, make_series, make_set, run, the_error, without_labels, write_csv, write_ts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tiny in the folder itself, Long in a folder of its name, Nested in uea/."""
    folder = tmp_path_factory.mktemp("data")
    make_set(folder)
    make_set(folder / "Long", "Long", lengths=(20, 30))
    make_set(folder / "uea" / "Nested", "Nested")
    (folder / "Half").mkdir()
    (folder / "Half" / "Half_TRAIN.ts").write_text("")
    return folder


def test_list_names_the_sets_and_where_they_are(folder, tmp_path):
    output = done(run("data", "--data", folder, "list", cwd=tmp_path))
    found = dict(line.split() for line in output.splitlines())
    assert found["Tiny"] == str(folder)
    assert found["Long"] == str(folder / "Long")
    assert found["Nested"] == str(folder / "uea" / "Nested")
    assert "Half" not in found


def test_sets_are_found_through_the_environment(folder, tmp_path):
    assert "Tiny " in done(run("data", "list", cwd=tmp_path, PRIMAL_DATA=f"/nowhere:{folder}"))


def test_the_folder_may_be_given_last(folder, tmp_path):
    assert "Tiny " in done(run("data", "list", "--data", folder, cwd=tmp_path))


def facts(output):
    """Of one part: the words after each name; the classes as name -> (cases, share)."""
    lines = [line.split() for line in output.splitlines()[1:]]
    return {line[0]: line[1:] for line in lines}


def test_info_shows_both_parts_of_a_set(folder, tmp_path):
    train, test = done(run("data", "--data", folder, "info", "Tiny", cwd=tmp_path)).split(f"{folder}/Tiny_")[1:]
    assert train.startswith("TRAIN.ts\n")
    assert test.startswith("TEST.ts\n")
    assert facts(train)["cases"] == ["60"]
    assert facts(test)["cases"] == ["30"]


def test_info_counts_lengths_missing_values_and_classes(tmp_path):
    series = make_series(30, 0)[:25]  # 9 of the first class, 8 of the others
    lengths = [len(one.values) for one in series]
    missing = sum(value is None for one in series for row in one.values for value in row)
    assert missing > 0
    for file in (write_ts(tmp_path / "a.ts", series), write_csv(tmp_path / "a.csv", series)):
        output = done(run("data", "info", file))
        assert output.startswith(f"{file}\n")
        told = facts(output)
        assert told["cases"] == ["25"]
        assert told["channels"] == (["2"] if file.suffix == ".ts" else ["2:", "c0,", "c1"])
        assert told["lengths"] == [str(min(lengths)), "to", f"{max(lengths)},", "mean", f"{sum(lengths) / 25:.1f}"]
        assert told["missing"] == [str(missing), "values"]
        assert told["classes"] == ["3"]
        assert [told[name] for name in ("down", "up", "wave")] == [["9", "36.0", "%"], *[["8", "32.0", "%"]] * 2]


def test_info_of_series_without_labels(tmp_path):
    output = done(run("data", "info", write_csv(tmp_path / "a.csv", without_labels(make_series(4, 0)))))
    assert facts(output)["cases"] == ["4"]
    assert "classes" not in output


def test_info_reads_standard_input_and_sees_times(tmp_path):
    told = facts(done(run("data", "info", "-", text=write_csv(tmp_path / "a.csv", make_gaps(4, 0)).read_text())))
    assert told["cases"] == ["4"]
    assert told["times"] == ["given", "for", "each", "step"]


def test_a_missing_set_says_what_was_looked_for_and_where(folder, tmp_path):
    message = the_error(run("data", "--data", folder, "info", "Tyny", cwd=tmp_path), "data")
    assert message.startswith('data set "Tyny": there is none of this name')
    assert f"looked in {folder}, data (not there)" in message
    assert "did you mean Tiny?" in message
    assert "PRIMAL_DATA" in message


def test_a_damaged_file_is_named_with_its_line(tmp_path):
    file = tmp_path / "a.ts"
    file.write_text("@problemName A\n@classLabel true a b\n@data\n1,2,3:a\n1,2,x:b\n")
    message = the_error(run("data", "info", file), "data")
    assert message == f'{file}:5: channel 1, value 3: expected a number, got "x"'


def test_a_file_that_is_not_there_is_named(tmp_path):
    message = the_error(run("data", "info", tmp_path / "absent.csv"), "data")
    assert message.startswith(f"{tmp_path}/absent.csv: ")


def test_info_takes_the_name_of_a_preset_too(folder, tmp_path):
    plain, preset = (done(run("data", "--data", folder, "info", name, cwd=tmp_path)) for name in ("Tiny", "uea/Tiny"))
    assert plain == preset


def test_classes_line_up_whatever_their_letters(tmp_path):
    file = tmp_path / "a.csv"
    labels = ("plain", "scho\u0308n", "zwölf", "日本")  # o and an accent of its own; characters two columns wide
    file.write_text("series,x,label\n" + "".join(f"{x},{i},{x}\n" for i, x in enumerate(labels)), encoding="utf-8")
    lines = done(run("data", "info", file)).splitlines()[-4:]
    assert [line.split()[0] for line in lines] == list(labels)
    places = [line.index(" 1 ") for line in lines]  # in characters, not in columns
    assert [place - places[0] for place in places] == [0, 1, 0, -2]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"series,x,label\ra,1,u\rb,2,v\r", "expected lines that end in LF or CR LF, got a CR alone at column 15"),
        ("series,x\r\na,1\r\n".encode("utf-16"), "expected text, got a zero byte at column 4"),
    ],
)
def test_files_of_another_kind_of_text_are_named(tmp_path, content, expected):
    file = tmp_path / "old.csv"
    file.write_bytes(content)
    assert the_error(run("data", "info", file), "data").startswith(f"{file}:1: {expected}")


def test_lines_may_end_in_more_than_one_cr(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"series,x,label\r\r\na,1,u\r\r\nb,2,v\r\r\n")
    assert facts(done(run("data", "info", file)))["cases"] == ["2"]
