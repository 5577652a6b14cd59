"""What the names and shapes of a checkpoint's tensors tell of a plain decoder. Never how many heads share a matrix,
unless a norm over one head is there."""

from __future__ import annotations

import re
from collections.abc import Mapping

LAYER = re.compile(r"(?:^|\.)layers\.(\d{1,4})\.(.+)$")
EXPERT = re.compile(r"experts\.(\d{1,5})\.(?:gate_proj|w1)\.weight$")
Shape = tuple[int, ...]


def shapes_of(tensors: Mapping[str, Shape]) -> dict[str, int]:
    """Sizes under the names a ``config.json`` has for them; only those that a tensor shows.

    ``layers_seen`` are the layers in this file: of a checkpoint in several files not all. Names are those that
    Hugging Face's models give their tensors; matrices are outputs × inputs.
    """
    found: dict[str, int] = {}
    layers: set[int] = set()
    experts = -1
    for name, shape in tensors.items():
        if name.endswith("embed_tokens.weight") and len(shape) == 2:
            found["vocab_size"], found["hidden_size"] = shape
        if name in ("lm_head.weight", "output.weight"):
            found["tie_word_embeddings"] = 0
        within = LAYER.search(name)
        if within is None:
            continue
        layers.add(int(within.group(1)))
        part = within.group(2)
        if len(shape) == 2 and part in WIDTHS:
            found.setdefault(WIDTHS[part], shape[0])
        elif len(shape) == 1 and part == "self_attn.q_norm.weight":
            found["head_dim"] = shape[0]
        expert = EXPERT.search(part)
        if expert is not None and len(shape) == 2:
            experts = max(experts, int(expert.group(1)))
            found["moe_intermediate_size"] = shape[0]
    if experts >= 0:
        found["num_local_experts"] = experts + 1
    if layers:
        found["layers_seen"] = len(layers)
        found["num_hidden_layers"] = max(layers) + 1
    return _heads(found)


WIDTHS = {
    "self_attn.q_proj.weight": "query_rows",
    "self_attn.k_proj.weight": "key_rows",
    "mlp.gate_proj.weight": "intermediate_size",
    "mlp.shared_expert.gate_proj.weight": "shared_expert_intermediate_size",
}
"""Parts of a layer and the size their rows are of."""


def _heads(found: dict[str, int]) -> dict[str, int]:
    """Heads from the rows of queries and keys, where the size of one head is known and divides them.

    A norm over all queries together is as long as their rows: then nothing is known of one head.
    """
    queries, keys, size = found.pop("query_rows", 0), found.pop("key_rows", 0), found.get("head_dim", 0)
    if not size or not queries or size == queries or queries % size or keys % size:
        found.pop("head_dim", None)
        return found
    return {
        **found,
        "num_attention_heads": queries // size,
        "num_key_value_heads": keys // size or queries // size,
    }
