"""In which number formats a model's configuration says that its weights are held.

What each way to pack them is called is that of the libraries that write them: transformers'
``quantization_config``, and what ModelOpt and compressed-tensors say in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.inventory import Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UNKNOWN = "unknown"
NAMES = {
    "float64": "fp64",
    "double": "fp64",
    "float32": "fp32",
    "float": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "int8": "int8",
}
"""What ``torch_dtype`` may say, with ``torch.`` before it or without."""


@frozen
class Declared:
    """What a configuration says of the weights."""

    formats: tuple[Stored, ...] = ()
    """Each without tensors; empty if nothing is packed."""
    dtype: str = ""
    """What the model computes in."""
    said: tuple[str, ...] = ()
    """What it says that nobody here understands."""


def declared(config: Mapping[str, object]) -> Declared:
    """Return what ``config.json`` says of number formats; of what it does not say, nothing."""
    inner = _table(config.get("text_config"))
    dtype = _dtype(config) or _dtype(inner)
    found = (
        _table(config.get("quantization_config"))
        or _table(config.get("compression_config"))
        or _table(inner.get("quantization_config"))
    )
    if not found:
        return Declared(dtype=dtype)
    method = found.get("quant_method")
    if not isinstance(method, str):
        bits = "load_in_4bit", "load_in_8bit"
        method = "bitsandbytes" if any(found.get(name) is True for name in bits) else ""
    stored = tuple(dict.fromkeys(_formats(method, found, dtype)))
    unknown = [f"{method or 'a way to pack weights without a name'}: not known here"]
    return Declared(
        formats=stored,
        dtype=dtype,
        said=tuple(unknown if any(one.weights == UNKNOWN for one in stored) else ()),
    )


def _dtype(config: Mapping[str, object]) -> str:
    for name in ("dtype", "torch_dtype"):
        value = config.get(name)
        if isinstance(value, str) and value:
            return NAMES.get(value.removeprefix("torch."), UNKNOWN)
    return ""


def _formats(method: str, said: Mapping[str, object], dtype: str) -> Iterator[Stored]:
    match method:
        case "gptq" | "awq" | "auto-round" | "auto_round" | "gptq_marlin":
            size = said.get("group_size", said.get("q_group_size"))
            bits = said.get("bits", said.get("w_bit"))
            note = f"group {size}" if isinstance(size, int) else ""
            yield Stored(scheme=method, weights=_int(bits), activations=dtype, note=note)
        case "fp8" | "fbgemm_fp8":
            how = said.get("activation_scheme")
            block = said.get("weight_block_size")
            scheme = "fp8-block" if block else method
            note = f"activations {how}" if isinstance(how, str) else ""
            yield Stored(scheme=scheme, weights="fp8", activations="fp8", note=note)
        case "bitsandbytes" if said.get("load_in_4bit") is True:
            kind = str(said.get("bnb_4bit_quant_type", "fp4"))
            weights = kind if kind in {"nf4", "fp4"} else UNKNOWN
            yield Stored(scheme=f"{method}-{kind[:40]}", weights=weights, activations=dtype)
        case "bitsandbytes":
            yield Stored(scheme=f"{method}-int8", weights="int8", activations="int8")
        case "compressed-tensors":
            yield from _groups(said, dtype)
        case "mxfp4":
            yield Stored(scheme=method, weights="fp4", activations=dtype)
        case "modelopt" | "modelopt_fp4":
            yield _modelopt(said, dtype)
        case "eetq":
            yield Stored(scheme=method, weights="int8", activations=dtype)
        case "hqq" | "quanto" | "torchao" | "aqlm" | "vptq" | "spqr" | "higgs" | "bitnet":
            bits = said.get(
                "bits", said.get("nbits", _table(said.get("quant_config")).get("nbits"))
            )
            yield Stored(scheme=method, weights=_int(bits), activations=dtype)
        case _:
            yield Stored(scheme=method or UNKNOWN, weights=UNKNOWN, activations=dtype)


def _groups(said: Mapping[str, object], dtype: str) -> Iterator[Stored]:
    """Yield what each group of modules of compressed-tensors is held in."""
    groups = [_table(group) for group in _table(said.get("config_groups")).values()]
    if not groups:
        yield Stored(scheme="compressed-tensors", weights=UNKNOWN, activations=dtype)
    for group in groups:
        weights = _number(_table(group.get("weights")))
        inputs = _table(group.get("input_activations"))
        how = "activations dynamic" if inputs.get("dynamic") is True else ""
        yield Stored(
            scheme="compressed-tensors",
            weights=weights or UNKNOWN,
            activations=_number(inputs) or dtype,
            note=how,
        )


def _modelopt(said: Mapping[str, object], dtype: str) -> Stored:
    algorithm = said.get("quant_algo") or _table(said.get("quantization")).get("quant_algo")
    known = {
        "FP8": ("fp8", "fp8"),
        "NVFP4": ("fp4", "fp4"),
        "W4A16": ("int4", dtype),
        "W4A8_AWQ": ("int4", "fp8"),
        "W4A16_AWQ": ("int4", dtype),
        "W8A8_SQ_PER_CHANNEL": ("int8", "int8"),
    }
    weights, activations = known.get(str(algorithm), (UNKNOWN, dtype))
    return Stored(
        scheme="modelopt", weights=weights, activations=activations, note=str(algorithm or "")
    )


def _number(said: Mapping[str, object]) -> str:
    """Return the format that ``{"type": "float", "num_bits": 8}`` describes, if it does."""
    bits = said.get("num_bits")
    if said.get("type") == "float" and isinstance(bits, int) and bits in {4, 8}:
        return f"fp{bits}"
    return _int(bits) if said.get("type", "int") == "int" and bits is not None else ""


def _int(bits: object) -> str:
    return f"int{bits}" if isinstance(bits, int) and bits in {2, 3, 4, 8} else UNKNOWN


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
