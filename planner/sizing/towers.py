"""Parameters of the vision encoders and projectors that stand beside a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.sizing.architecture import Tower

SOURCE = "tensor lists of the published checkpoints, from vision_config"


GEMMA4 = 573_045_552
"""Published total of Gemma 4 26B-A4B less its language model and the second copy of its tied head."""


def read_towers(
    kind: str, number: Callable[..., int], vision: Mapping[str, Any], hidden: int, feature_layers: int = 1
) -> tuple[Tower, ...]:
    """The towers of a ``config.json`` with a ``vision_config``; ``number`` reads one of its keys within a
    range."""
    width = number("hidden", "hidden_size", "embed_dim")
    layers = number("layers", "depth", "num_hidden_layers", "num_layers")
    inner = number("intermediate", "intermediate_size", default=4 * width)
    patch = number("head_dim", "patch_size", "spatial_patch_size", default=14)
    if kind.startswith("qwen3_vl"):
        parameters = _qwen3(number, vision, width, layers, inner, patch)
    elif kind in ("mistral3", "pixtral"):
        parameters = _pixtral(width, layers, inner, patch, hidden, kind == "mistral3")
    else:
        image = number("positions", "image_size", default=896)
        encoder = _siglip(width, layers, inner, patch, image)
        if kind.startswith("kimi"):
            # A norm, then four patches at once through two layers.
            merged = 4 * width
            parameters = encoder + 2 * width + merged * merged + merged + merged * hidden + hidden
        elif kind.startswith("llava"):
            joined = feature_layers * width
            parameters = encoder + joined * hidden + hidden + hidden * hidden + hidden
        else:
            parameters = encoder + width * hidden + width
    return (Tower(name="vision_tower", parameters=parameters, source=SOURCE),)


def _blocks(width: int, layers: int, inner: int) -> int:
    """Encoder blocks with biases everywhere and two layer norms."""
    attention = 4 * (width * width + width)
    mlp = 2 * width * inner + inner + width
    return layers * (attention + mlp + 4 * width)


def _siglip(width: int, layers: int, inner: int, patch: int, image: int) -> int:
    """SigLIP: learned positions and a final norm."""
    positions = (image // patch) ** 2
    return _blocks(width, layers, inner) + width * 3 * patch * patch + width + positions * width + 2 * width


def _pixtral(width: int, layers: int, inner: int, patch: int, hidden: int, merger: bool) -> int:
    """Pixtral's encoder: gated, without biases; Mistral 3 merges four patches before projecting."""
    block = 4 * width * width + 3 * width * inner + 2 * width
    total = layers * block + width * 3 * patch * patch + width
    if merger:
        total += 4 * width * width + width + width * hidden + hidden * hidden
    else:
        total += width * hidden + hidden + hidden * hidden + hidden
    return total


def _qwen3(number: Callable[..., int], vision: Mapping[str, Any], width: int, layers: int, inner: int,
           patch: int) -> int:  # fmt: skip
    """Qwen3-VL: encoder, one merger, and one deep-stack merger for each listed layer."""
    out = number("hidden", "out_hidden_size")
    merged = width * 4
    frames = number("index", "temporal_patch_size", default=2)
    positions = number("positions", "num_position_embeddings", default=2304)
    listed = vision.get("deepstack_visual_indexes")
    stacks = len(listed) if isinstance(listed, list) else 3
    merger = merged * merged + merged + merged * out + out
    embed = width * 3 * frames * patch * patch + width + positions * width
    return _blocks(width, layers, inner) + embed + merger + 2 * width + stacks * (merger + 2 * merged)
