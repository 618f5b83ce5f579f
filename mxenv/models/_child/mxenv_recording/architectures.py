"""How a configuration becomes a model without weights."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch

from mxenv_recording.refusal import Missing, Refusal, line

CONFIG = "config.json"
HEADS = (
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
    "AutoModelForSpeechSeq2Seq",
    "AutoModelForImageTextToText",
    "AutoModelForMaskedLM",
    "AutoModelForImageClassification",
    "AutoModel",
)
"""How a model is made if its configuration names no class; the first that knows it."""
LEFT_OUT = ("quantization_config", "compression_config", "auto_map", "transformers_version")
"""What a configuration says that changes no operator of the model as it is written."""
ATTENTION = (None, "sdpa", "eager")
"""What computes attention, if a model takes it: its own choice first."""
DTYPES = {
    "float16": torch.float16,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float": torch.float32,
    "float64": torch.float64,
}


def configuration(asked: dict[str, Any]) -> Any:
    """Return the configuration as transformers knows it."""
    try:
        from transformers import AutoConfig  # noqa: PLC0415 - its absence is told
        from transformers.models.auto.configuration_auto import (  # noqa: PLC0415 - the same
            CONFIG_MAPPING,
        )
    except ModuleNotFoundError as error:
        raise Missing((error.name or "transformers").partition(".")[0]) from None
    said = asked["config"]
    kind = said.get("model_type")
    own = isinstance(said.get("auto_map"), dict)
    if own and asked["trust"]:
        with told(CONFIG):
            return AutoConfig.from_pretrained(asked["folder"], trust_remote_code=True)
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        _unknown(kind, own=own)
    kept = {name: value for name, value in said.items() if name not in LEFT_OUT}
    with told(CONFIG):
        return CONFIG_MAPPING[kind].from_dict(kept)


def _unknown(kind: Any, *, own: bool) -> None:
    import transformers  # noqa: PLC0415 - it is there: it was asked before

    if own:
        hint = "--trust-remote-code runs the code that comes with it: look at that first"
        said = "the model brings its own code, and nobody has said to run it"
        raise Refusal(said, hint=hint, where=CONFIG)
    if kind is None:
        hint = "give a callable that makes the model and its inputs, as module:callable"
        raise Refusal("the configuration names no model_type", hint=hint, where=CONFIG)
    raise Refusal(
        f"transformers {transformers.__version__} knows no model_type {str(kind)[:60]!r}",
        hint="install a newer one, or name an interpreter that has it: --python",
        where=CONFIG,
    )


@contextlib.contextmanager
def told(where: str) -> Iterator[None]:
    """Tell whatever a model's code raises as a refusal."""
    try:
        yield
    except (Refusal, Missing):
        raise
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name and not error.__cause__:
            raise Missing(error.name.partition(".")[0]) from None
        raise Refusal(f"it needs what is not installed: {line(error)}") from None
    except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
        said = f"no model can be made of it: {line(error)}"
        raise Refusal(said, where=where, hint="see whether its values fit together") from None


def dtype_of(config: Any, default: torch.dtype = torch.float32) -> torch.dtype:
    """Return the number format that a configuration computes in."""
    for part in (config, getattr(config, "text_config", None)):
        for name in ("dtype", "torch_dtype"):
            said = getattr(part, name, None)
            if isinstance(said, torch.dtype):
                return said
            if isinstance(said, str) and said.replace("torch.", "") in DTYPES:
                return DTYPES[said.replace("torch.", "")]
    return default


def model_of(
    config: Any, asked: dict[str, Any], *, dtype: torch.dtype, device: str, notes: Any
) -> Any:
    """Return a model with weights that nobody has set."""
    made = _maker(config, asked, notes)
    problem: BaseException | None = None
    for attention in ATTENTION:
        with contextlib.suppress(Exception):
            config._attn_implementation = attention
        try:
            with _made_in(dtype, device):
                model = made(config)
                # Who leaves weights without values also leaves apart those that are one.
                getattr(model, "tie_weights", lambda: None)()
                return model
        except (ValueError, ImportError) as error:
            # A model that has no such attention says so by one of these.
            problem = problem or error
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            problem = error
            break
    assert problem is not None  # noqa: S101 - the loop ends by a model or by an error
    with told("config.json"):
        raise problem


def _maker(config: Any, asked: dict[str, Any], notes: Any) -> Any:
    """Return what makes the model: its own class, or the head that fits it best."""
    import transformers  # noqa: PLC0415 - it is there: the configuration came from it

    named = asked["config"].get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    auto = asked["config"].get("auto_map")
    if asked["trust"] and isinstance(auto, dict):
        head = _own_head(auto, names)
        if head is not None:
            made = getattr(transformers, head)
            return lambda told: made.from_config(told, trust_remote_code=True)
    for name in names:
        found = getattr(transformers, name, None)
        if isinstance(found, type) and issubclass(found, torch.nn.Module):
            return found
    for head in HEADS:
        mapping = getattr(getattr(transformers, head, None), "_model_mapping", {})
        if type(config) in mapping:
            said = f"{names[0]} is not known" if names else "no class is named"
            notes("architecture", head, f"{said}: taken for what {head} makes")
            return getattr(transformers, head).from_config
    raise Refusal(
        f"transformers {transformers.__version__} has no model of "
        f"{', '.join(names) or type(config).__name__}",
        hint="install a newer one, or name an interpreter that has it: --python",
        where=CONFIG,
    )


def _own_head(auto: dict[str, Any], names: list[str]) -> str | None:
    """Return which of the model's own classes is made: the one that it names, else any head."""
    heads = [name for name in auto if name.startswith("AutoModel")]
    for head in heads:
        if str(auto[head]).rpartition(".")[2] in names:
            return head
    return next((head for head in HEADS if head in heads), next(iter(heads), None))


@contextlib.contextmanager
def _made_in(dtype: torch.dtype, device: str) -> Iterator[None]:
    """Make tensors of ``dtype`` on ``device``, and give weights no values where none count."""
    before, spaced = torch.get_default_dtype(), torch.linspace

    def space(*args: Any, **kwargs: Any) -> Any:
        # Models take rates of dropout from it, as numbers: these have to be real ones.
        return spaced(*args, **{"device": "cpu", **kwargs})

    torch.set_default_dtype(dtype)
    torch.linspace = space  # type: ignore[assignment]
    try:
        bare = _uninitialised() if device == "meta" else contextlib.nullcontext()
        with bare, torch.device(device):
            yield
    finally:
        torch.linspace = spaced
        torch.set_default_dtype(before)


def _uninitialised() -> Any:
    try:
        from transformers.initialization import no_init_weights  # noqa: PLC0415 - transformers 5
    except ImportError:
        try:
            from transformers.modeling_utils import no_init_weights  # noqa: PLC0415 - before 5
        except ImportError:
            return contextlib.nullcontext()
    return no_init_weights()


def shrink(config: Any, *, narrow: bool) -> None:
    """Make a configuration that of a small model of the same kind."""
    for part in (getattr(config, name, None) for name in PARTS):
        if part is not None:
            shrink(part, narrow=narrow)
    depths = getattr(config, "depths", None)
    if isinstance(depths, (list, tuple)):
        # Its other numbers are those of the stages, of which none can be left out.
        config.depths = [min(depth, 2) for depth in depths]
    else:
        for name in LAYERS:
            _lower(config, name, 2)
    _lower(config, "vocab_size", 1024)
    kinds = getattr(config, "layer_types", None)
    if isinstance(kinds, list):
        with contextlib.suppress(AttributeError):  # some work it out themselves
            config.layer_types = kinds[:2]
    if narrow:
        for name, factor in WIDTHS.items():
            value = getattr(config, name, None)
            if isinstance(value, int) and value >= factor:
                setattr(config, name, value // factor)
        _lower(config, "num_key_value_heads", getattr(config, "num_attention_heads", None) or 1)


def _lower(config: Any, name: str, most: int) -> None:
    value = getattr(config, name, None)
    if isinstance(value, int) and not isinstance(value, bool) and value > most:
        setattr(config, name, most)


PARTS = ("text_config", "vision_config", "audio_config", "encoder", "decoder", "backbone_config")
LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
    "max_window_layers",
    "depth",
)
WIDTHS = {
    "intermediate_size": 4,
    "hidden_size": 4,
    "num_attention_heads": 4,
    "ffn_dim": 4,
    "num_local_experts": 2,
}
"""What makes a model wide, and how much of it a small one leaves out."""
