"""Files travel between primal and the official `safetensors` package in both directions."""

import json
import re
import struct

import pytest
import safetensors
import safetensors.torch
import torch

import primal  # noqa: F401  registers torch.ops.primal_util

DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "U16": torch.uint16,
    "I32": torch.int32,
    "U32": torch.uint32,
    "I64": torch.int64,
    "U64": torch.uint64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F32": torch.float32,
    "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "C64": torch.complex64,
}


def bits(tensor):
    """The bytes of a tensor, so that NaN equals NaN."""
    return tensor.contiguous().flatten().view(torch.uint8).tolist() if tensor.numel() else []


def any_bits(dtype):
    """[2, 32] values of every byte pattern; booleans are 0 or 1."""
    if dtype == torch.bool:
        return (torch.arange(64) % 3 == 0).view(2, 32)
    return (torch.arange(64 * dtype.itemsize) * 37 % 256).to(torch.uint8).view(dtype).view(2, 32)


def tensors_of(dtype):
    """Shapes that need care: [2, 32], three elements, a scalar, and none at all."""
    full = any_bits(dtype)
    return {"full": full, "odd": full[0, :3].clone(), "scalar": full[1, 5].clone(), "empty": full[:0].clone()}


ALL = {f"{code}.{name}": x for code, dtype in DTYPES.items() for name, x in tensors_of(dtype).items()}


def save(path, tensors, metadata=None):
    pairs = [text for pair in (metadata or {}).items() for text in pair]
    torch.ops.primal_util.save_safetensors(str(path), list(tensors), list(tensors.values()), pairs)


def load(path):
    names, tensors, pairs = torch.ops.primal_util.load_safetensors(str(path))
    return dict(zip(names, tensors, strict=True)), dict(zip(pairs[::2], pairs[1::2], strict=True))


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, x in expected.items():
        assert actual[name].dtype == x.dtype, name
        assert actual[name].shape == x.shape, name
        assert bits(actual[name]) == bits(x), name


@pytest.mark.parametrize("code", DTYPES)
def test_the_official_package_reads_our_file(tmp_path, code):
    save(tmp_path / "x", tensors_of(DTYPES[code]), {"format": "pt"})
    assert_same(safetensors.torch.load_file(tmp_path / "x"), tensors_of(DTYPES[code]))
    with safetensors.safe_open(tmp_path / "x", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert file.get_slice("full").get_dtype() == code


@pytest.mark.parametrize("code", DTYPES)
def test_we_read_the_official_packages_file(tmp_path, code):
    safetensors.torch.save_file(tensors_of(DTYPES[code]), tmp_path / "x", {"format": "pt", "é": "\n\0😀"})
    tensors, metadata = load(tmp_path / "x")
    assert_same(tensors, tensors_of(DTYPES[code]))
    assert metadata == {"format": "pt", "é": "\n\0😀"}


@pytest.mark.parametrize("metadata", [None, {"k\t": 'é"\\/\x01\x7f😀'}])
def test_both_writers_give_the_same_bytes(tmp_path, metadata):
    safetensors.torch.save_file(ALL, tmp_path / "official", metadata)
    save(tmp_path / "ours", ALL, metadata)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "official").read_bytes()


def test_a_file_may_have_no_tensors(tmp_path):
    save(tmp_path / "x", {})
    assert safetensors.torch.load_file(tmp_path / "x") == {}
    assert load(tmp_path / "x") == ({}, {})


def test_loaded_tensors_are_independent_of_the_file(tmp_path):
    save(tmp_path / "x", {"w": torch.ones(5)})
    first, second = load(tmp_path / "x")[0]["w"], load(tmp_path / "x")[0]["w"]
    first.fill_(7)
    (tmp_path / "x").unlink()
    assert second.tolist() == [1] * 5
    assert first.tolist() == [7] * 5


def test_a_parameter_and_a_transposed_view_are_written_as_they_read(tmp_path):
    weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
    save(tmp_path / "x", {"w": weight, "t": weight.t()})
    loaded = safetensors.torch.load_file(tmp_path / "x")
    assert torch.equal(loaded["w"], weight)
    assert torch.equal(loaded["t"], weight.t())


def header_file(path, header, data=b""):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "data_size", "message"),
    [
        ({"w": entry("F32", [2, 2], 0, 12)}, 12, 'tensor "w": data [0, 12) but shape [2, 2] of F32 needs 16 bytes'),
        ({"w": entry("F32", [1], 0, 4)}, 3, 'tensor "w": data [0, 4) end beyond the 3 data bytes of the file'),
        ({"w": entry("U8", [1], 1, 2)}, 2, 'tensor "w": data [1, 2) leave a hole after byte 0 of the data'),
        ({"w": entry("U8", [1], 0, 1)}, 2, "1 trailing bytes after the 1 of the tensors"),
        ({"w": entry("F7", [1], 0, 1)}, 1, 'tensor "w": unknown dtype "F7"'),
        ({"__metadata__": {"k": 1}}, 0, '__metadata__ "k": expected a string, got 1'),
    ],
)
def test_what_the_official_package_refuses_is_a_value_error_here(tmp_path, header, data_size, message):
    path = tmp_path / "x"
    header_file(path, header, bytes(data_size))
    with pytest.raises(safetensors.SafetensorError):
        safetensors.torch.load_file(path)
    with pytest.raises(ValueError, match="^" + re.escape(f"{path}: {message}")):
        load(path)


def test_a_missing_file_is_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="none: cannot open: No such file or directory"):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    ("names", "tensors", "metadata", "message"),
    [
        (["a"], [], [], "1 names for 0 tensors"),
        (["a", "a"], [torch.ones(1), torch.ones(1)], [], 'tensor "a" is given twice'),
        ([], [], ["k"], "metadata must be pairs of key and value, got 1 strings"),
        ([], [], ["k", "1", "k", "2"], 'metadata "k" are given twice'),
        (["__metadata__"], [torch.ones(1)], [], 'tensor "__metadata__": the name is reserved for the metadata'),
        (["w"], [torch.ones(1, device="meta")], [], 'tensor "w": is on meta, expected cpu'),
        (["w"], [torch.eye(2).to_sparse()], [], 'tensor "w": is sparse or nested, expected a dense tensor'),
        (["w"], [torch.ones(1, dtype=torch.complex128)], [], 'tensor "w": the format has no dtype for ComplexDouble'),
    ],
)
def test_what_cannot_be_written_is_a_value_error(tmp_path, names, tensors, metadata, message):
    with pytest.raises(ValueError, match="^" + re.escape(f"{tmp_path / 'x'}: {message}")):
        torch.ops.primal_util.save_safetensors(str(tmp_path / "x"), names, tensors, metadata)
    assert list(tmp_path.iterdir()) == []
