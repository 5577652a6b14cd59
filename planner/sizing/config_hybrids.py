"""Layers of the families with attention of their own kinds, as their configs name them, and where every family's layers
are read."""

from __future__ import annotations

from planner.sizing.architecture import (
    Absent,
    Compressed,
    Dense,
    Grouped,
    Indexer,
    LayerGroup,
    Mixer,
    Moe,
)
from planner.sizing.config_layers import LayerOf, Reader, known
from planner.sizing.config_recurrent import bamba, delta_net, jamba, kimi_linear, mamba, mamba2, nemotron_h
from planner.sizing.config_text import ConfigError, UnsupportedArchitecture


def _indexer(reader: Reader) -> Indexer:
    return Indexer(
        heads=reader.number("heads", "index_n_heads"), dim=reader.number("head_dim", "index_head_dim")
    )


SELECTED = 2048
"""Cached tokens a query looks at where a config with an indexer does not say (DeepSeek V3.2)."""


def _sparse_latent(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    types = reader.listed("indexer_types", count)
    reader.listed("layer_types", count)
    selected = reader.number("window", "index_topk", default=SELECTED)
    mixer = reader.attention(index, count, hidden, heads).model_copy(update={"selected": selected})
    if types is None or types[index] != "shared":
        mixer = mixer.model_copy(update={"indexer": _indexer(reader)})
    return LayerGroup(count=1, attention=mixer, mlp=reader.mlp(index, hidden))


def _compressed(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    ratios = reader.listed("compress_ratios", count)
    if ratios is None:
        raise ConfigError("config_missing_key", "compress_ratios is missing", key="compress_ratios")
    return compressed_layer(reader, index, ratios[index], hidden, heads)


def compressed_layer(reader: Reader, index: int, ratio: object, hidden: int, heads: int) -> LayerGroup:
    """One layer of DeepSeek V4; the first ``num_hash_layers`` route by token and have no router bias."""
    if isinstance(ratio, bool) or not isinstance(ratio, int) or not 0 <= ratio <= 100_000:
        raise ConfigError("config_out_of_range", "compress_ratios must hold numbers from 0 to 100000",
                          key="compress_ratios", low=0, high=100_000)  # fmt: skip
    known(reader, "num_key_value_heads", "qk_rope_head_dim")
    mixer = Compressed(
        heads=heads,
        head_dim=reader.number("head_dim", "head_dim"),
        query_rank=reader.number("rank", "q_lora_rank"),
        output_groups=reader.number("heads", "o_groups"),
        output_rank=reader.number("rank", "o_lora_rank"),
        window=reader.optional("window", "sliding_window"),
        ratio=ratio,
        indexer=_indexer(reader) if ratio == 4 else None,
        selected=reader.optional("window", "index_topk") if ratio == 4 else None,
    )
    mlp = reader.mlp(index, hidden)
    if isinstance(mlp, Moe):
        hashed = index < reader.number("index", "num_hash_layers", default=0)
        mlp = mlp.model_copy(update={"router_bias": not hashed})
    streams = reader.number("index", "hc_mult", default=4)
    return LayerGroup(count=1, attention=mixer, mlp=mlp, streams=streams)


CHUNK = 8192
"""Llama 4's chunks of attention where a config does not say."""
CROSS_TOKENS = 4 * 1601
"""Encoder positions of one image in Llama 3.2 Vision: 4 tiles of 40 × 40 patches and one class token."""
AUDIO_TOKENS = 1500
"""Encoder positions of half a minute of sound in Whisper."""


def _llama4(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    # Its norm of queries and keys has no weights.
    chunk: int | None = reader.number("window", "attention_chunk_size", default=CHUNK)
    rotary = reader.config.get("no_rope_layers")
    every = reader.number("index", "no_rope_layer_interval", default=4) or 4
    is_whole = (index + 1) % every == 0
    if isinstance(rotary, list) and len(rotary) >= count:
        is_whole = not rotary[index]
    if is_whole:
        chunk = None  # Layers without rotary positions attend to everything.
    mixer = reader.attention(index, count, hidden, heads)
    mixer = mixer.model_copy(update={"qk_norm": "none", "chunk": chunk})
    step = reader.number("index", "interleave_moe_layer_step", default=1) or 1
    width = reader.number("intermediate", "intermediate_size")
    dense_width = reader.number("intermediate", "intermediate_size_mlp", default=2 * width)
    mlp: Dense | Moe = reader.dense(hidden, dense_width)
    if (index + 1) % step == 0:
        mlp = Moe(
            experts=reader.number("experts", "num_local_experts", "num_experts"),
            experts_per_token=reader.number("experts", "num_experts_per_tok", default=1),
            intermediate=width,
            shared_intermediate=width,
        )
    return LayerGroup(count=1, attention=mixer, mlp=mlp)


def _mllama(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    crossing = reader.config.get("cross_attention_layers")
    mixer = reader.attention(index, count, hidden, heads)
    if not isinstance(crossing, list):
        raise ConfigError(
            "config_missing_key", "cross_attention_layers is missing", key="cross_attention_layers"
        )
    scalars = 0
    if index in crossing:
        mixer = mixer.model_copy(update={"cross": True, "qk_norm": "head", "encoder_tokens": CROSS_TOKENS})
        scalars = 2
    return LayerGroup(count=1, attention=mixer, mlp=reader.mlp(index, hidden), scalars=scalars)


def _minimax_m3(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    known(reader, "n_shared_experts")
    mixer = reader.attention(index, count, hidden, heads)
    sparse = reader.within("sparse_attention_config")
    chosen = sparse.listed("sparse_attention_freq", count)
    if sparse.flag("use_sparse_attention", True) and (chosen is None or chosen[index]):
        indexer = Indexer(
            heads=sparse.number("heads", "sparse_num_index_heads"),
            dim=sparse.number("head_dim", "sparse_index_dim"),
            weighted=False,
        )
        mixer = mixer.model_copy(update={"indexer": indexer})
    mlp = reader.mlp(index, hidden)
    if isinstance(mlp, Dense):
        mlp = reader.dense(hidden, reader.number("intermediate", "dense_intermediate_size"))
    return LayerGroup(count=1, attention=mixer, mlp=mlp)


def _step(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    mixer = reader.attention(index, count, hidden, heads)
    if mixer.window is not None:
        # Layers with a window have their own number of heads, which no other key tells.
        other = reader.within("attention_other_setting")
        mixer = mixer.model_copy(
            update={
                "heads": other.number("heads", "num_attention_heads"),
                "kv_heads": other.number("heads", "num_attention_groups"),
            }
        )
    if reader.flag("use_head_wise_attn_gate", True):
        mixer = mixer.model_copy(update={"output_gate": "head"})
    return LayerGroup(count=1, attention=mixer, mlp=reader.mlp(index, hidden))


def _searched(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    """Layers that an architecture search chose one by one (Nemotron NAS): some without attention or MLP."""
    blocks = reader.listed("block_configs", count)
    block = blocks[index] if blocks is not None else None
    if not isinstance(block, dict) or not all(
        isinstance(block.get(key), dict) for key in ("attention", "ffn")
    ):
        raise ConfigError("config_missing_key", "block_configs is missing", key="block_configs")
    attention, ffn = block["attention"], block["ffn"]
    if attention.get("replace_with_linear") or ffn.get("replace_with_linear"):
        raise UnsupportedArchitecture(reader.family_name, "replace_with_linear")
    mixer: Mixer = Absent()
    mlp: Dense | Absent = Absent()
    if not attention.get("no_op"):
        shared = attention.get("n_heads_in_group")
        if (
            isinstance(shared, bool)
            or not isinstance(shared, int)
            or not 0 < shared <= heads
            or heads % shared
        ):
            raise ConfigError("config_out_of_range", f"n_heads_in_group must divide the {heads} heads",
                              key="n_heads_in_group", low=1, high=heads)  # fmt: skip
        mixer = Grouped(heads=heads, kv_heads=heads // shared, head_dim=max(1, hidden // heads))
    if not ffn.get("no_op"):
        factor = ffn.get("ffn_mult")
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= 64:
            raise ConfigError("config_out_of_range", "ffn_mult must be from 0 to 64", key="ffn_mult", low=0,
                              high=64)  # fmt: skip
        # Two thirds of the multiple, rounded up to 256, as the family's code does.
        mlp = Dense(intermediate=-(-max(1, int(2 * factor * hidden / 3)) // 256) * 256)
    return LayerGroup(
        count=1, attention=mixer, mlp=mlp, norms=(mixer.kind != "absent") + (mlp.kind != "absent")
    )


def _decoder_of_two(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    """Whisper's decoder: attention to its own tokens, then to the encoder's output."""
    own = Grouped(
        heads=heads, kv_heads=heads, head_dim=max(1, hidden // heads), qkv_bias=True, key_bias=False,
        output_bias=True,
    )  # fmt: skip
    width = reader.number("intermediate", "decoder_ffn_dim")
    return LayerGroup(
        count=1, attention=own, mlp=reader.dense(hidden, width), norms=3,
        cross=own.model_copy(update={
            "cross": True,
            "encoder_tokens": reader.number("positions", "max_source_positions", default=AUDIO_TOKENS),
        }),
    )  # fmt: skip


LAYERS: dict[str, LayerOf] = {
    "nemotron_h": nemotron_h,
    "jamba": jamba,
    "bamba": bamba,
    "granitemoehybrid": bamba,
    "mamba": mamba,
    "falcon_mamba": mamba,
    "mamba2": mamba2,
    "qwen3_next": delta_net,
    "qwen3_5": delta_net,
    "qwen3_5_moe": delta_net,
    "kimi_linear": kimi_linear,
    "deepseek_v32": _sparse_latent,
    "glm_moe_dsa": _sparse_latent,
    "deepseek_v4": _compressed,
    "llama4": _llama4,
    "mllama": _mllama,
    "minimax_m3": _minimax_m3,
    "step3p7": _step,
    "nemotron_nas": _searched,
    "whisper": _decoder_of_two,
}
"""How one layer of these families is read; all others have one attention and one MLP a layer."""
