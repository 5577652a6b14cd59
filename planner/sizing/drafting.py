"""A model with the draft layers of its own checkpoint loaded (multi-token prediction)."""

from __future__ import annotations

from functools import lru_cache

from planner.sizing.architecture import Architecture, Grouped, Latent, Part, layer_parameters


@lru_cache(maxsize=256)
def drafting(arch: Architecture) -> Architecture:
    """The model as an engine holds it that drafts tokens with the checkpoint's own layers.

    Draft layers weigh and keep a cache as the last layer that attends over the whole sequence; what is left of
    ``draft_parameters`` (the matrix that joins two inputs, norms, copies of the vocabulary) is whole on every
    rank. A model without draft layers is returned as it is. Leaves out: a drafter that is another model.
    """
    if not arch.draft_parameters:
        return arch
    last = next((group for group in reversed(arch.layers) if isinstance(group.attention, Grouped | Latent)),
                arch.layers[-1])  # fmt: skip
    one = layer_parameters(last, arch.hidden, norm_bias=arch.norm_bias) // last.count
    count = max(1, arch.draft_parameters // one)
    layers = (*arch.layers, last.model_copy(update={"count": count}))
    rest = max(0, arch.draft_parameters - count * one)
    parts: tuple[Part, ...] = arch.parts
    if rest >= arch.hidden:
        parts += (Part(name="draft_joint", group="mlp", rows=rest // arch.hidden, columns=arch.hidden),)
    return arch.model_copy(update={"layers": layers, "parts": parts, "draft_parameters": 0,
                                   "id": f"{arch.id} (drafting)"})  # fmt: skip
