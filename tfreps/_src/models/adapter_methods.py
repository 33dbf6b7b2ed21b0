"""AdapterMethods: low-rank adapters (LoRA) of `BertEncoder`, with the names of PEFT."""

import os
import re
from collections.abc import Sequence
from typing import Any

from tfreps._src.files.argument_checks import check_dropout, check_integers, check_positive
from tfreps._src.layers.ops.lora_dense import LoraDense
from tfreps._src.models.preset_methods import FILES


class AdapterMethods:
    """Mixin for `BertEncoder` with the methods for adapters."""

    blocks: Any
    pooler_dense: Any
    trainable_weights: Any

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        lora_dropout: float = 0.0,
        target_modules: Sequence[str] | None = None,
    ) -> None:
        """Freezes all weights, and adds low-rank adapters (LoRA), by default to all layers.

            kernel = frozen_kernel + lora_alpha / rank * lora_kernel_a @ lora_kernel_b

        `lora_kernel_b` starts as zeros, so that the outputs do not change. Only the adapters are
        trained. `save` stores the sums `kernel`, so the loaded model has ordinary weights, which
        are all trainable. The optimizer state of the adapters is not stored. `save_adapter` writes
        the adapters alone.

        Args:
            rank: int. Width of the adapters, at least 1: the columns of `lora_kernel_a` and the
                rows of `lora_kernel_b`.
            lora_alpha: float above 0. The product is multiplied by `lora_alpha / rank`. If `None`,
                it is `rank`. Defaults to `None`.
            lora_dropout: float in [0, 1). Dropout rate of the inputs of the adapters in training.
                Defaults to 0.0.
            target_modules: list of str. Names of the modules with an adapter, as in PEFT: a module
                is chosen if its name is one of them or ends with one of them after a period. The
                names are those of `BertModel`: `encoder.layer.N.` followed by
                `attention.self.query`, `attention.self.key`, `attention.self.value`,
                `attention.output.dense`, `intermediate.dense` or `output.dense`; and
                `pooler.dense`. If `None`, every kernel of the Transformer layers has an adapter,
                and query, key and value, whose kernels are one in tfreps, share one. Defaults to
                `None`.

        Raises:
            ValueError: If an option is out of range, a name belongs to no module, or the encoder
                already has adapters.

        Reference: Hu et al., 2022, "LoRA: Low-Rank Adaptation of Large Language Models"; the
        library PEFT, `LoraConfig`.

        Example:
        >>> from tfreps.models import BertEncoder
        >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
        >>> bert.enable_lora(rank=2, lora_alpha=4, target_modules=["query", "value"])
        >>> sorted({weight.name for weight in bert.trainable_weights})
        ['lora_kernel_a', 'lora_kernel_b']
        """
        check_integers(1, rank=rank)
        check_positive(or_none=True, lora_alpha=lora_alpha)
        check_dropout(lora_dropout=lora_dropout)
        modules = self._lora_modules()
        if any(dense.lora_enabled for dense, _, _ in modules.values()):
            raise ValueError(
                "The encoder already has adapters, because `enable_lora` or `load_adapter` was "
                "called before. Call only one of them, and only once."
            )
        names = [name for name in modules if name != "pooler.dense"]
        if target_modules is not None:
            names = _matching(modules, target_modules)
        parts: dict[int, list[int]] = {}
        for name in names:
            dense, part, _ = modules[name]
            parts.setdefault(id(dense), []).append(part)
        for weight in self.trainable_weights:
            weight.trainable = False
        for dense, _, num_parts in modules.values():
            if id(dense) in parts and not dense.lora_enabled:
                own = parts[id(dense)] if num_parts > 1 and target_modules is not None else []
                how = {"lora_dropout": lora_dropout, "parts": own, "num_parts": num_parts}
                dense.enable_lora(rank, lora_alpha, **how)

    def _lora_modules(self) -> dict[str, tuple[LoraDense, int, int]]:
        """Returns a dict from the names of modules, as in `BertModel`, to their dense layers.

        The layer comes with the number of the part of its outputs, and the number of its parts.
        """
        found = {}
        for number, block in enumerate(self.blocks):
            attention, before = block.attention, f"encoder.layer.{number}."
            for part, name in enumerate(("query", "key", "value")):
                found[f"{before}attention.self.{name}"] = attention.query_key_value, part, 3
            found[f"{before}attention.output.dense"] = attention.combine, 0, 1
            found[f"{before}intermediate.dense"] = block.expand, 0, 1
            found[f"{before}output.dense"] = block.contract, 0, 1
        if self.pooler_dense is not None:
            found["pooler.dense"] = self.pooler_dense, 0, 1
        return found

    def save_adapter(
        self, folder: str | os.PathLike[str], base_model: str | os.PathLike[str] | None = None
    ) -> None:
        """Writes the adapters of `enable_lora` or `load_adapter` to a folder for PEFT.

        The folder contains `adapter_config.json` and `adapter_model.safetensors`.
        `PeftModel.from_pretrained` of PEFT adds them to the model that `save_pretrained` wrote
        before `enable_lora` was called, and `load_adapter` adds them to an encoder.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.
            base_model: str or path-like. Name or path of the model without adapters, which the
                config states. If `None`, it states none. Defaults to `None`.

        Raises:
            ValueError: If the encoder has no adapters, or `save_pretrained` does not support it.
        """
        FILES["save_adapter"](self, folder, base_model)

    def load_adapter(self, folder: str | os.PathLike[str]) -> None:
        """Adds the adapters in a folder of PEFT (LoRA) to the encoder, and freezes its weights.

        Args:
            folder: str or path-like. Folder with `adapter_config.json` and
                `adapter_model.safetensors`, for an encoder with the weights of the base model.

        Raises:
            ValueError: If the encoder already has adapters, if a file is missing or damaged, if the
                adapters are not of the kind LoRA, change more than the modules that `enable_lora`
                lists, such as a head, or have other sizes than the encoder, or if an option of PEFT
                is not supported, such as `use_dora`. The message names it.

        Reference: PEFT, "tuners/lora".

        Example:
        >>> from tfreps.models import BertEncoder
        >>> options = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 1, "num_heads": 2}
        >>> bert = BertEncoder(**options)
        >>> bert.enable_lora(rank=2, lora_alpha=4, target_modules=["query", "value"])
        >>> bert.save_adapter("adapter")
        >>> BertEncoder(**options).load_adapter("adapter")
        """
        FILES["load_adapter"](self, folder)


def _matching(names, targets):
    """Returns the names that are equal to a target or end with a period and a target."""
    if isinstance(targets, str):
        raise ValueError(f"`target_modules` must be a list of names; got the string {targets!r}.")
    for target in targets:
        if not any(f".{name}".endswith(f".{target}") for name in names):
            known = ", ".join(dict.fromkeys(re.sub(r".*layer\.\d+\.", "", name) for name in names))
            raise ValueError(
                f"`target_modules` must contain names of modules of the encoder, such as {known}; "
                f"got {target!r}."
            )
    found = [n for n in names if any(f".{n}".endswith(f".{target}") for target in targets)]
    if not found:
        raise ValueError("`target_modules` must contain at least one name; got [].")
    return found
