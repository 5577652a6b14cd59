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
    if kind == "llama4":
        return (Tower(name="vision_tower", parameters=_llama4(number, hidden), source=SOURCE),)
    if kind == "mllama":
        return (Tower(name="vision_tower", parameters=_mllama(number, vision, hidden), source=SOURCE),)
    width = number("hidden", "hidden_size", "embed_dim", "vt_hidden_size")
    layers = number("layers", "depth", "num_hidden_layers", "num_layers", "vt_num_hidden_layers")
    inner = number("intermediate", "intermediate_size", "vt_intermediate_size", default=4 * width)
    patch = number("head_dim", "patch_size", "spatial_patch_size", default=14)
    if kind == "minimax_m3_vl":
        parameters = _minimax3(vision, width, layers, inner, patch, hidden)
    elif kind == "kimi_k3":
        parameters = _kimi3(number, width, layers, inner, patch, hidden)
    elif kind.startswith(("qwen3_vl", "qwen3_5")):
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


def _kimi3(number: Callable[..., int], width: int, layers: int, inner: int, patch: int, hidden: int) -> int:
    """Kimi K3's encoder: no biases, attention wider than the rest, four patches merged before projecting."""
    wide = number("hidden", "qkv_hidden_size", default=width)
    rows, columns = number("index", "init_pos_emb_height", default=64), number("index", "init_pos_emb_width",
                                                                             default=64)  # fmt: skip
    block = 4 * width * wide + 2 * width * inner + 2 * width
    merged = 4 * width
    total = layers * block + width * 3 * patch * patch + rows * columns * width + width
    return total + merged * merged + merged * hidden


def _minimax3(vision: Mapping[str, Any], width: int, layers: int, inner: int, patch: int, hidden: int) -> int:
    """MiniMax M3's encoder over pairs of frames, a projector, and a merger of four patches."""
    for key in ("img_token_compression_config", "projection_dim", "num_channels", "image_size", "vocab_size"):
        vision.get(key)
    projector = width * hidden + hidden + hidden * hidden + hidden
    merger = 4 * hidden * hidden + hidden + hidden * hidden + hidden
    return _blocks(width, layers, inner) + width * 3 * 2 * patch * patch + 2 * width + projector + merger


def _llama4(number: Callable[..., int], hidden: int) -> int:
    """Llama 4's encoder with its pixel shuffle; missing keys mean the family's defaults."""
    width = number("hidden", "hidden_size", default=1408)
    layers = number("layers", "num_hidden_layers", default=34)
    inner = number("intermediate", "intermediate_size", default=5632)
    patch = number("head_dim", "patch_size", default=14)
    image = number("positions", "image_size", default=336)
    between = number("hidden", "projector_output_dim", default=4096)
    shuffled = number("hidden", "projector_input_dim", default=4096)
    tokens = (image // patch) ** 2 + 1
    encoder = _blocks(width, layers, inner) + width * 3 * patch * patch + width + tokens * width + 4 * width
    return encoder + 4 * width * shuffled + shuffled * between + between * hidden


def _mllama(number: Callable[..., int], vision: Mapping[str, Any], hidden: int) -> int:
    """Llama 3.2's encoder: local and global layers, learned positions for tiles, a projector."""
    width = number("hidden", "hidden_size", default=1280)
    layers = number("layers", "num_hidden_layers", default=32)
    wide_layers = number("layers", "num_global_layers", default=8)
    inner = number("intermediate", "intermediate_size", default=5120)
    patch = number("head_dim", "patch_size", default=14)
    image = number("positions", "image_size", default=560)
    tiles = number("head_dim", "max_num_tiles", default=4)
    shapes = vision.get("supported_aspect_ratios")
    out = number("hidden", "vision_output_dim", default=6 * width)
    ratios = 1 + (len(shapes) if isinstance(shapes, list) and shapes else 8)
    block = 4 * width * width + 2 * width * inner + inner + width + 4 * width
    tokens = (image // patch) ** 2 + 1
    positions = tokens * width + ratios * tiles * tokens * width + 1
    tile_positions = 2 * (ratios * tiles * width + 1)
    edges = width + width * 3 * patch * patch + 4 * width
    encoder = (layers + wide_layers) * block + 2 * wide_layers + edges + positions + tile_positions
    return encoder + out * hidden + hidden


def whisper_encoder(number: Callable[..., int], width: int) -> int:
    """Whisper's encoder: two convolutions, positions, layers whose keys have no bias, a norm."""
    layers = number("layers", "encoder_layers")
    inner = number("intermediate", "encoder_ffn_dim", default=4 * width)
    bands = number("hidden", "num_mel_bins", default=80)
    positions = number("positions", "max_source_positions", default=1500)
    convolutions = 3 * bands * width + width + 3 * width * width + width
    return convolutions + positions * width + _blocks(width, layers, inner) - layers * width + 2 * width


def _qwen3(number: Callable[..., int], vision: Mapping[str, Any], width: int, layers: int, inner: int,
           patch: int) -> int:  # fmt: skip
    """Qwen3-VL: encoder, one merger, and one deep-stack merger for each listed layer."""
    out = number("hidden", "out_hidden_size")
    merged = width * number("index", "spatial_merge_size", default=2) ** 2
    channels = number("index", "in_channels", default=3)
    frames = number("index", "temporal_patch_size", default=2)
    positions = number("positions", "num_position_embeddings", default=2304)
    listed = vision.get("deepstack_visual_indexes")
    stacks = len(listed) if isinstance(listed, list) else 3
    merger = merged * merged + merged + merged * out + out
    embed = width * channels * frames * patch * patch + width + positions * width
    return _blocks(width, layers, inner) + embed + merger + 2 * width + stacks * (merger + 2 * merged)
