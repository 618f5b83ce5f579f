from __future__ import annotations

import json
import struct
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from _weights import field, gguf, safetensors, text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mxenv.errors import ModelError
from mxenv.inventory import Stored
from mxenv.models import _gguf, _safetensors
from mxenv.models._checkpoint import checkpoint

LLAMA = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}
PLAIN = {"lm_head.weight": ("BF16", (4, 8)), "ids": ("I64", (3,))}
QUANTISED = {
    **{f"q.{name}": ("I32", (2, 2)) for name in ("qweight", "qzeros")},
    "q.scales": ("BF16", (2,)),
}
GGUF = gguf(
    {"a": (12, (256, 2)), "b": (0, (8,)), "odd": (99, (8,))},
    [
        field("tokens", 9, struct.pack("<IQ", 8, 2) + text("x") + text("y")),
        field("scores", 9, struct.pack("<IQ", 6, 3) + bytes(12)),
        field("deep", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 4, 1) + bytes(4)),
        field("general.architecture", 8, text("qwen2")),
        field("count", 10, bytes(8)),
    ],
)


def one(shape: Any, offsets: Any) -> bytes:
    """Return a file of one tensor of numbers of four bytes, of which 64 are there."""
    return _file({"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}})


def many(*tensors: tuple[Any, Any, Any]) -> bytes:
    """Return a file of tensors, each with its type, shape and place among 64 bytes."""
    return _file(
        {
            f"t{number}": {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            for number, (dtype, shape, offsets) in enumerate(tensors)
        }
    )


def _file(header: Any) -> bytes:
    content = json.dumps(header).encode()
    return struct.pack("<Q", len(content)) + content + bytes(64)


def folder(tmp_path: Path, config: Any = None, **files: bytes) -> Path:
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, content in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(content)
    return tmp_path


class TestSafetensors:
    def test_types_shapes_and_sizes_are_read(self, tmp_path: Path) -> None:
        folder(tmp_path, m__safetensors=safetensors(PLAIN))
        tensors = _safetensors.header(tmp_path / "m.safetensors")
        assert {name: (t.dtype, t.shape, t.bytes) for name, t in tensors.items()} == {
            "lm_head.weight": ("BF16", (4, 8), 64),
            "ids": ("I64", (3,), 24),
        }

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "is cut, or not safetensors: a header of 0 bytes, in a file of 0"),
            (b"1234567", "is cut, or not safetensors"),
            (struct.pack("<Q", 1 << 63), f"a header of {1 << 63} bytes, in a file of 8"),
            (struct.pack("<Q", 9) + b"{}", "a header of 9 bytes, in a file of 10"),
            (struct.pack("<Q", 2) + b"{]", "its header is not understood"),
            (struct.pack("<Q", 2) + b"[]", "its header is not understood"),
            (struct.pack("<Q", 1000) + b"[" * 1000, "its header is not understood"),
            (struct.pack("<Q", 7) + b'{"a":1}', "'a' is no object"),
            (struct.pack("<Q", 8) + b'{"a":{}}', "'data_offsets'"),
            (safetensors(PLAIN)[:-1], "its tensors end 1 bytes after the file does"),
            (one([4], [0, 8]), "'a' has 8 bytes, which its shape does not"),
            (one([2], [8, 16]), "its tensors overlap, or leave holes between them"),
            (one([-2], [0, 8]), "'a' has a size that cannot be"),
            (one([2.0], [0, 8]), "'a' has a size that cannot be"),
            (one([float("inf")], [0, 8]), "'a' has a size that cannot be"),
            (one([1 << 63], [0, 8]), "'a' has a size that cannot be"),
            (one("12", [0, 8]), "'a' has no list of numbers where one should be"),
            (one([1] * 65, [0, 8]), "'a' has no list of numbers where one should be"),
            (one([2], [0, 8, 9]), "too many values to unpack"),
            (one([2], [0, 8.0]), "'a' has no list of numbers where one should be"),
            (one([[2]], [0, 8]), "'a' has a size that cannot be"),
            (many(("F32", [2], [0, 8]), ("F32", [2.0], [8, 16])), "'t1' has a size that cannot be"),
            (many((7, [2], [0, 8])), "'t0' has a type that is no name"),
            (many(*[("F32", [2], at) for at in ([0, 8], [0, 8], [16, 24])]), "its tensors overlap"),
            (many(*[("F32", [2], at) for at in ([0, 8], [4, 12], [12, 20])]), "tensors overlap"),
        ],
    )
    def test_what_is_damaged_is_refused_in_one_line(
        self, tmp_path: Path, content: bytes, said: str
    ) -> None:
        folder(tmp_path, m__safetensors=content)
        with pytest.raises(ModelError) as caught:
            _safetensors.header(tmp_path / "m.safetensors")
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_tensors_may_be_listed_in_any_order_and_be_empty(self, tmp_path: Path) -> None:
        at = ([8, 16], [0, 8], [8, 8], [16, 16])
        content = many(*[("F32", [(last - first) // 4], [first, last]) for first, last in at])
        folder(tmp_path, m__safetensors=content)
        tensors = _safetensors.header(tmp_path / "m.safetensors")
        assert [tensor.bytes for tensor in tensors.values()] == [8, 8, 0, 0]

    def test_offsets_that_run_backwards_are_refused(self, tmp_path: Path) -> None:
        head = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}).encode()
        folder(tmp_path, m__safetensors=struct.pack("<Q", len(head)) + head + bytes(8))
        with pytest.raises(ModelError, match="'a' ends before it begins"):
            _safetensors.header(tmp_path / "m.safetensors")

    def test_a_length_that_is_a_lie_takes_no_memory(self, tmp_path: Path) -> None:
        folder(tmp_path, m__safetensors=struct.pack("<Q", 90_000_000) + b"{}")
        tracemalloc.start()
        try:
            with pytest.raises(ModelError):
                _safetensors.header(tmp_path / "m.safetensors")
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()

    @settings(max_examples=150, deadline=None)
    @given(st.integers(0, 400), st.binary(max_size=8))
    def test_no_damage_is_anything_but_an_error(self, place: int, instead: bytes) -> None:
        content = safetensors({**PLAIN, **QUANTISED})
        content = content[:place] + instead + content[place + len(instead) :]
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "m.safetensors")
            path.write_bytes(content)
            try:
                tensors = _safetensors.header(path)
            except ModelError as error:
                tensors, said = {}, str(error)
            else:
                said = ""
            assert "\n" not in said
            assert all(tensor.bytes >= 0 for tensor in tensors.values())


class TestGguf:
    def test_types_are_counted_with_their_sizes(self, tmp_path: Path) -> None:
        folder(tmp_path, m__gguf=GGUF)
        header = _gguf.header(tmp_path / "m.gguf")
        assert header.architecture == "qwen2"
        assert [(f.scheme, f.note, f.weights, f.tensors, f.bytes) for f in header.formats] == [
            ("plain", "F32", "fp32", 1, 32),
            ("gguf", "Q4_K", "int4", 1, 288),
            ("gguf", "type 99", "unknown", 1, 0),
        ]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "it does not begin with GGUF"),
            (b"GGML" + bytes(40), "it does not begin with GGUF"),
            (gguf({}, version=9), "version 9 is not known"),
            (b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 0), f"{1 << 62} tensors"),
            (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 62), f"{1 << 62} fields"),
            (gguf({}, [struct.pack("<Q", 1 << 62)]), f"a text of {1 << 62} bytes"),
            (gguf({}, [field("a", 77, b"")]), "a value of the type 77"),
            (gguf({}, [field("a", 9, struct.pack("<IQ", 77, 1))]), "a value of the type 77"),
            (
                gguf({}, [field("a", 9, struct.pack("<IQ", 6, 1 << 60))]),
                "bytes of values, in a file",
            ),
            (gguf({}, [field("a", 9, struct.pack("<IQ", 9, 1) * 12)]), "arrays nested too deeply"),
            (gguf({}, [field("a", 9, struct.pack("<IQ", 8, 1 << 60))]), "4194304 texts and lists"),
            (gguf({}, [field("a", 9, struct.pack("<IQ", 8, 1 << 20))]), "ends within its header"),
            (gguf({"a": (0, (1 << 40, 1 << 40))}), f"a tensor of {1 << 80} numbers"),
            (gguf({"a": (0, (1,) * 9)}), "a tensor of 9 dimensions"),
            (GGUF[:-3], "ends within its header"),
        ],
    )
    def test_what_is_damaged_is_refused_in_one_line(
        self, tmp_path: Path, content: bytes, said: str
    ) -> None:
        folder(tmp_path, m__gguf=content)
        with pytest.raises(ModelError) as caught:
            _gguf.header(tmp_path / "m.gguf")
        assert said in str(caught.value)

    def test_every_cut_is_an_error(self, tmp_path: Path) -> None:
        for end in range(len(GGUF)):
            folder(tmp_path, m__gguf=GGUF[:end])
            with pytest.raises(ModelError):
                _gguf.header(tmp_path / "m.gguf")


class TestCheckpoint:
    def test_a_plain_model_is_what_its_tensors_are(self, tmp_path: Path) -> None:
        folder(tmp_path, LLAMA, model__safetensors=safetensors(PLAIN))
        found = checkpoint(tmp_path)
        assert (found.architecture, found.dtype, found.gaps) == ("LlamaForCausalLM", "bf16", ())
        assert found.formats == (
            Stored(scheme="plain", weights="bf16", activations="bf16", tensors=1, bytes=64),
        )
        assert found.name == tmp_path.name

    def test_a_packed_model_is_what_both_say(self, tmp_path: Path) -> None:
        config = {**LLAMA, "quantization_config": AWQ, "auto_map": {"AutoModel": "modeling.M"}}
        folder(tmp_path, config, model__safetensors=safetensors(QUANTISED))
        found = checkpoint(tmp_path)
        assert [(f.scheme, f.weights, f.activations, f.note) for f in found.formats] == [
            ("awq", "int4", "bf16", "group 128")
        ]
        assert found.own_code == ("modeling.M",)

    def test_a_configuration_alone_is_enough(self, tmp_path: Path) -> None:
        folder(tmp_path, {**LLAMA, "quantization_config": AWQ}, model__safetensors=b"rubbish")
        assert checkpoint(tmp_path / "config.json").formats[0].tensors == 0

    def test_weights_alone_are_as_well(self, tmp_path: Path) -> None:
        folder(tmp_path, m__safetensors=safetensors(PLAIN), n__gguf=GGUF)
        assert checkpoint(tmp_path / "m.safetensors").formats[0].weights == "bf16"
        assert checkpoint(tmp_path / "n.gguf").architecture == "qwen2"

    def test_what_is_pickled_is_named_and_not_read(self, tmp_path: Path) -> None:
        folder(tmp_path, LLAMA)
        for name in ("a.bin", "b.bin"):
            (tmp_path / name).write_bytes(b"PK")
        assert checkpoint(tmp_path).gaps == (
            "a.bin and 1 more was not read: it is pickled, and to load it runs code",
        )

    def test_modelopt_says_it_beside(self, tmp_path: Path) -> None:
        said = json.dumps({"quantization": {"quant_algo": "FP8"}}).encode()
        folder(tmp_path, LLAMA, hf_quant_config__json=said)
        assert checkpoint(tmp_path).formats[0].weights == "fp8"

    def test_shards_are_read_by_their_index(self, tmp_path: Path) -> None:
        index = {
            "weight_map": {"a": "m1.safetensors", "b": "m2.safetensors", "c": "m2.safetensors"}
        }
        folder(
            tmp_path,
            LLAMA,
            m1__safetensors=safetensors({"a": ("F32", (2,))}),
            m2__safetensors=safetensors({"b": ("F32", (2,))}),
        )
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
        found = checkpoint(tmp_path)
        assert found.formats[0].tensors == 2
        assert found.gaps == (
            "1 tensors that model.safetensors.index.json names are in no file, c among them",
        )
        (tmp_path / "m1.safetensors").unlink()
        assert checkpoint(tmp_path).gaps == (
            "m1.safetensors, which model.safetensors.index.json names, is not there",
        )
        (tmp_path / "m2.safetensors").unlink()
        assert checkpoint(tmp_path).gaps == ()

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("config.json", "{", "not JSON"),
            ("config.json", "[]", "not a JSON object"),
            ("config.json", "[" * 100_000, "nested too deeply"),
            ("config.json", '{"a": "\ud800"}', "not JSON"),
            ("model.safetensors.index.json", "{}", "weight_map: not a table of file names"),
            (
                "model.safetensors.index.json",
                '{"weight_map": {"a": 1}}',
                "not a table of file names",
            ),
            (
                "model.safetensors.index.json",
                '{"weight_map": {"a": "../../etc/passwd"}}',
                "'../../etc/passwd' is no file of this folder",
            ),
        ],
    )
    def test_what_is_damaged_is_refused_with_its_place(
        self, tmp_path: Path, name: str, content: str, said: str
    ) -> None:
        folder(tmp_path, LLAMA)
        (tmp_path / name).write_bytes(content.encode(errors="surrogatepass"))
        with pytest.raises(ModelError, match=said) as caught:
            checkpoint(tmp_path)
        assert str(tmp_path / name) in str(caught.value)

    def test_an_empty_folder_says_what_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="is not there") as caught:
            checkpoint(tmp_path)
        assert "config.json" in caught.value.hint

    def test_a_named_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        import os  # noqa: PLC0415 - nothing else here needs it

        os.mkfifo(tmp_path / "config.json")
        with pytest.raises(ModelError):
            checkpoint(tmp_path)

    @settings(
        max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "quantization_config",
                            "quant_method",
                            "bits",
                            "config_groups",
                            "weights",
                            "dtype",
                            "torch_dtype",
                            "text_config",
                            "architectures",
                            "auto_map",
                            "a",
                        ]
                    ),
                    inner
                    | st.sampled_from(["gptq", "fp8", "compressed-tensors", "modelopt", "hqq"]),
                    max_size=4,
                )
            ),
        )
    )
    def test_no_configuration_is_anything_but_read_or_refused(
        self, tmp_path: Path, config: Any
    ) -> None:
        folder(tmp_path, config)
        try:
            found = checkpoint(tmp_path)
        except ModelError:
            assert not isinstance(config, dict)
        else:
            assert isinstance(found.architecture, str)
