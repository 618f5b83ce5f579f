from __future__ import annotations

import json
from pathlib import Path

import jsonschema

import mxenv
from mxenv import inventory_file
from mxenv.inventory import Assumption, Hit, Inventory, Kernel, Phase, Stored, Use

SCHEMA = Path(mxenv.__file__).parent / "schemas" / "inventory.schema.json"


def test_a_whole_inventory_is_what_its_schema_says() -> None:
    inventory = Inventory(
        name="demo",
        reader="huggingface",
        source="sha256:0",
        inputs=(("input_ids", "i64 1x64"),),
        tools=(("torch", "2.8.0"),),
        packages=(("mamba_ssm", ""),),
        uses=(Use(operator="aten::mm.default", phase=Phase.DECODE, dtypes=("bf16",)),),
        kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.FORWARD),),
        formats=(Stored(scheme="gptq", weights="int4"),),
        hits=(Hit(file="a.cu", line=3, kind="cuda-kernel"),),
        assumptions=(Assumption(kind="value", subject="aten::item.default"),),
        gaps=("no shapes",),
    )
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(inventory_file.to_json(inventory)), schema)
