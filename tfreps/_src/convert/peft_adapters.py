"""Reads and writes the low-rank adapters (LoRA) of PEFT for BERT encoders.

adapter_config.json             the rank, the scale, the dropout rate and the modules
adapter_model.safetensors       per module `base_model.model.MODULE.lora_A.weight`, [r, in], and
                                `base_model.model.MODULE.lora_B.weight`, [out, r]
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.convert.array_files import open_safetensors, write_folder
from tfreps._src.convert.array_folders import ADAPTER
from tfreps._src.convert.bert_families import family_for
from tfreps._src.convert.bert_table import HuggingFaceNames, block_rows, pooler_rows
from tfreps._src.convert.table import Row, check_arrays, finite
from tfreps._src.files.json_files import read_json
from tfreps._src.models.bert import BertEncoder

WEIGHTS = "adapter_model.safetensors"
PREFIX = "base_model.model."
# Options of PEFT that change the results, and their values that tfreps supports.
PLAIN: dict[str, tuple[Any, ...]] = {
    "alpha_pattern": (None, {}),
    "bias": (None, "none"),
    "fan_in_fan_out": (None, False),
    "layer_replication": (None,),
    "lora_bias": (None, False),
    "modules_to_save": (None, []),
    "rank_pattern": (None, {}),
    "trainable_token_indices": (None,),
    "use_dora": (None, False),
    "use_rslora": (None, False),
}


class Module(NamedTuple):
    """Module that can have an adapter: its name in transformers and in tfreps, and its `LoraDense`.

    `part` and `num_parts` are the number of the part of the layer's outputs, and of all parts.
    """

    theirs: str
    ours: str
    dense: Any
    part: int
    num_parts: int


def save_adapter(
    encoder: BertEncoder,
    folder: str | os.PathLike[str],
    base_model: str | os.PathLike[str] | None = None,
) -> None:
    """Writes the adapters of an encoder; see `BertEncoder.save_adapter`."""
    arrays: dict[str, Callable[[], np.ndarray]] = {}
    names, ranks, scale, rate = [], set(), 1.0, 0.0
    for module in _modules(encoder):
        found = module.dense.adapter(module.part, module.num_parts)
        if found is None:
            continue
        a, b = (kernel.T for kernel in found)
        names.append(module.theirs)
        ranks.add(len(a))
        scale = module.dense.lora_alpha / module.dense.lora_rank
        rate = module.dense.lora_drop.rate if module.dense.lora_drop else 0.0
        arrays[f"{PREFIX}{module.theirs}.lora_A.weight"] = lambda a=a: a
        arrays[f"{PREFIX}{module.theirs}.lora_B.weight"] = lambda b=b: b
    if len(ranks) != 1:
        raise ValueError(
            "The encoder must have adapters of one rank to be written for PEFT; it has adapters "
            f"of the ranks {sorted(ranks)}. Call `enable_lora` of the encoder first."
        )
    [rank] = ranks
    alpha = float(scale * rank)
    config = {
        "base_model_name_or_path": None if base_model is None else os.fspath(base_model),
        "bias": "none",
        "inference_mode": True,
        "lora_alpha": int(alpha) if alpha.is_integer() else alpha,
        "lora_dropout": rate,
        "peft_type": "LORA",
        "r": rank,
        "target_modules": names,
        "task_type": "FEATURE_EXTRACTION",
    }
    write_folder(folder, config, arrays, ADAPTER, WEIGHTS)


def load_adapter(encoder: BertEncoder, folder: str | os.PathLike[str]) -> None:
    """Adds the adapters in a folder to an encoder; see `BertEncoder.load_adapter`."""
    file = Path(folder, ADAPTER)
    if not file.is_file():
        raise ValueError(f"{folder}: expected {ADAPTER} of PEFT; there is none. Check the path.")
    config = read_json(file)
    rank, alpha, rate = _checked(config, file)
    path = Path(folder, WEIGHTS)
    arrays = open_safetensors(path)
    prefix = f"{PREFIX}{family_for(encoder.get_config()).model_type}."
    prefix = prefix if any(name.startswith(prefix) for name in arrays.shapes) else PREFIX
    rows, chosen = [], []
    for module in _modules(encoder):
        stem = f"{prefix}{module.theirs}.lora_"
        pair = f"{stem}A.weight", f"{stem}B.weight"
        if not any(name in arrays.shapes for name in pair):
            continue
        wide, width = module.dense.kernel.shape[0], module.dense.units // module.num_parts
        shapes = (rank, wide), (width, rank)
        rows += [Row(n, s, module.ours) for n, s in zip(pair, shapes, strict=True)]
        chosen.append((module, pair))
    if not chosen:
        raise ValueError(
            f"{path} must contain adapters of modules of a BertEncoder; it contains "
            f"{', '.join(list(arrays.shapes)[:3]) or 'no arrays'}. Check that the adapter belongs "
            "to this model."
        )
    check_arrays(rows, arrays.shapes, str(path))
    values = [[finite(arrays.array(n), n, str(path)).T for n in pair] for _, pair in chosen]
    encoder.enable_lora(rank, alpha, rate, [module.ours for module, _ in chosen])
    for (module, _), (a, b) in zip(chosen, values, strict=True):
        module.dense.set_adapter(module.part, module.num_parts, a, b)


def _checked(config: dict[str, Any], file: Path) -> tuple[int, float, float]:
    """Returns the rank, alpha and dropout rate; raises a ValueError for what is not supported."""
    if config.get("peft_type") != "LORA":
        raise ValueError(
            f"{file}: `peft_type` must be 'LORA'; got {config.get('peft_type')!r}, which tfreps "
            "does not support."
        )
    for name, supported in PLAIN.items():
        if config.get(name) not in supported:
            raise ValueError(
                f"{file}: `{name}` must be {supported[-1]!r}; got {config[name]!r}, which tfreps "
                "does not support. Call `merge_and_unload()` of peft, and save the result with "
                "`save_pretrained`."
            )
    rank: Any = config.get("r")
    alpha, rate = config.get("lora_alpha", 8), config.get("lora_dropout", 0.0)
    is_rank = isinstance(rank, int) and not isinstance(rank, bool) and 1 <= rank
    if not is_rank or not isinstance(alpha, int | float) or not isinstance(rate, int | float):
        raise ValueError(
            f"{file}: `r` must be an int of at least 1, and `lora_alpha` and `lora_dropout` must "
            f"be numbers; got {rank!r}, {alpha!r} and {rate!r}."
        )
    return rank, float(alpha), float(rate)


def _modules(encoder: BertEncoder) -> list[Module]:
    """Returns the modules of an encoder that can have adapters, in their order.

    Their names in transformers differ between the families of BERT.
    """
    options = encoder.get_config()
    families = HuggingFaceNames("", family=family_for(options)), HuggingFaceNames("")
    theirs, ours = (_kernels(names, options) for names in families)
    layers = encoder._lora_modules()
    return [Module(*names, *layers[names[1]]) for names in zip(theirs, ours, strict=True)]


def _kernels(names: HuggingFaceNames, options: dict[str, Any]) -> list[str]:
    """Returns the names of the modules with a kernel in the Transformer layers and the pooler."""
    rows = sum((block_rows(names, options, n) for n in range(options["num_layers"])), [])
    rows += pooler_rows(names, options) if options["pooler"] else []
    return [row.foreign.removesuffix(".weight") for row in rows if row.ours.endswith("/kernel")]
