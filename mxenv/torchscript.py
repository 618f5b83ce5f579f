"""Which operators the code calls that TorchScript keeps of a model, and where in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = "aten"
"""The namespace of what is called by ``torch.name``."""
OF_VALUES = frozenset(
    """
    Bool Complex ComplexImplicit Delete Float FloatImplicit Generator Int IntImplicit
    ScalarImplicit Size __contains__ __derive_index __getitem__ __is__ __isnot__ __not__
    __range_length __round_to_zero_floordiv _get_cpu_capability _get_tracing_state _infer_size
    _list_to_tensor _set_item _size_if_not_equal _tensor_to_list _unwrap_optional append bin
    broadcast_shapes capitalize center chr clear confirmed_by_owner count degrees device dict
    divmod element_size endswith expandtabs extend fabs factorial find floordiv format gamma
    get get_autocast_dtype has_torch_function hash hex initial_seed insert
    is_autocast_cpu_enabled is_autocast_enabled is_grad_enabled is_non_overlapping_and_dense
    is_owner is_scripting is_strides_like_format isalnum isalpha isdecimal isdigit isidentifier
    islower isnumeric isprintable isspace istitle isupper items join keys len list ljust
    local_value lower lstrip manual_seed mathremainder modf oct ord owner owner_name partition
    percentFormat pop popitem radians remove replace reverse rfind rindex rjust rpartition
    rsplit rstrip save seed set_grad_enabled setdefault sorted splitlines startswith str strip
    swapcase title to_here update upper wait warn zfill
    """.split()  # noqa: SIM905 - a name a line would be three pages
)
"""Those that work on numbers, texts, lists and tables, and never on tensors."""
NAMELESS = frozenset({"prim", "prims"})
"""Namespaces of what the interpreter itself does."""
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?' + "|" + r"'[^'\\]*(?:\\.[^'\\]*)*'?"
"""A text, or what is left of a file that ends in one: so no part of it is looked at twice."""
_CALL = re.compile(
    rf"(?P<text>{_STRING})|\bops\.(?P<space>\w+)\.(?P<op>\w+)\(|\btorch\.(?P<name>\w+)\(",
    re.DOTALL,
)


def calls(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the operator of every call in ``code``: ``aten::add``.

    Which overload is called is decided by the types of arguments, and stands nowhere.
    """
    line, counted = 1, 0
    for match in _CALL.finditer(code):
        if match["text"] is not None:
            continue
        space, name = match["space"] or OWN, match["op"] or match["name"]
        if space in NAMELESS or (space == OWN and name in OF_VALUES):
            continue
        line += code.count("\n", counted, match.start())
        counted = match.start()
        yield line, f"{space}::{name}"
