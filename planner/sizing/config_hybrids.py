"""Layers of the families in which not every layer is plain attention and an MLP, as their configs name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from planner.sizing.architecture import (
    Absent,
    Compressed,
    Dense,
    GatedDelta,
    Grouped,
    Indexer,
    Kda,
    Latent,
    LayerGroup,
    Mamba,
    Mamba2,
    Mixer,
    Moe,
)
from planner.sizing.config_keys import Watched
from planner.sizing.config_text import ConfigError, UnsupportedArchitecture, printable
from planner.sizing.families import Family


class Reader(Protocol):
    """What these functions need of the reader of a config: values within their ranges."""

    outer: Watched
    config: dict[str, Any]
    family: Family
    family_name: str

    def number(self, kind: str, *keys: str, default: int | None = None, required: bool = True) -> int: ...
    def optional(self, kind: str, *keys: str) -> int | None: ...
    def flag(self, key: str, default: bool) -> bool: ...
    def within(self, key: str) -> Reader: ...
    def over_tower(self, vision: dict[str, Any]) -> Reader: ...
    def attention(self, index: int, count: int, hidden: int, heads: int) -> Grouped | Latent: ...
    def mlp(self, index: int, hidden: int) -> Dense | Moe: ...
    def dense(self, hidden: int, width: int | None = None) -> Dense: ...
    def listed(self, key: str, count: int) -> list[Any] | None: ...


def _known(reader: Reader, *keys: str) -> None:
    """These keys say nothing that others of the same config do not say."""
    for key in keys:
        reader.config.get(key)


LayerOf = Callable[[Reader, int, int, int, int], LayerGroup]
LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_kinds(reader: Reader, pattern: str = "hybrid_override_pattern", blocks: str = "layers_block_type"
                   ) -> list[str] | None:  # fmt: skip
    """The kinds of Nemotron-H's layers, one a layer, written as letters or as words."""
    text = reader.config.get(pattern)
    if isinstance(text, str) and 0 < len(text) <= 2_000:
        unknown = next((letter for letter in text if letter not in LETTERS), None)
        if unknown is not None:
            raise UnsupportedArchitecture(pattern, printable(unknown))
        return [LETTERS[letter] for letter in text]
    words = reader.config.get(blocks)
    if isinstance(words, list) and 0 < len(words) <= 2_000:
        for word in words:
            if word not in LETTERS.values():
                raise UnsupportedArchitecture(blocks, printable(str(word)))
        return list(words)
    return None


def nemotron_layer(reader: Reader, kind: str, hidden: int, heads: int) -> LayerGroup:
    """One of Nemotron-H's layers: a single branch behind one norm."""
    _known(reader, "expand", "intermediate_size", "n_shared_experts", "time_step_rank")
    mixer: Mixer = Absent()
    mlp: Dense | Moe | Absent = Absent()
    if kind == "mamba":
        mixer = Mamba2(
            heads=reader.number("heads", "mamba_num_heads"),
            head_dim=reader.number("head_dim", "mamba_head_dim"),
            groups=reader.number("heads", "n_groups", default=1),
            state=reader.number("head_dim", "ssm_state_size"),
            kernel=reader.number("head_dim", "conv_kernel", default=4),
            conv_bias=reader.flag("use_conv_bias", True),
            proj_bias=reader.flag("mamba_proj_bias", False),
        )
    elif kind == "attention":
        mixer = Grouped(
            heads=heads,
            kv_heads=reader.number("heads", "num_key_value_heads", default=heads),
            head_dim=reader.number(
                "head_dim", "head_dim", "attention_head_dim", default=max(1, hidden // heads)
            ),
        )
    elif kind == "moe":
        mlp = Moe(
            experts=reader.number("experts", "n_routed_experts", "num_experts"),
            experts_per_token=reader.number("experts", "num_experts_per_tok"),
            intermediate=reader.number("intermediate", "moe_intermediate_size"),
            gated=False,
            router_bias=True,
            shared_intermediate=reader.number(
                "intermediate", "moe_shared_expert_intermediate_size", required=False
            ),
            latent=reader.optional("hidden", "moe_latent_size"),
        )
    else:
        mlp = reader.dense(hidden)
    return LayerGroup(count=1, attention=mixer, mlp=mlp, norms=1)


def _nemotron_h(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    kinds = nemotron_kinds(reader)
    if kinds is None or len(kinds) < count:
        raise ConfigError(
            "config_missing_key", "hybrid_override_pattern is missing", key="hybrid_override_pattern"
        )
    return nemotron_layer(reader, kinds[index], hidden, heads)


def _jamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    def every(name: str, period: int, offset: int) -> bool:
        step = reader.number("index", f"{name}_layer_period", default=period) or 1
        return index % step == reader.number("index", f"{name}_layer_offset", default=offset)

    mixer: Mixer
    if every("attn", 8, 4):
        mixer = reader.attention(index, count, hidden, heads)
    else:
        mixer = Mamba(
            inner=hidden * reader.number("index", "mamba_expand", default=2),
            state=reader.number("head_dim", "mamba_d_state", default=16),
            step_rank=reader.number("rank", "mamba_dt_rank", default=-(-hidden // 16)),
            kernel=reader.number("head_dim", "mamba_d_conv", default=4),
            conv_bias=reader.flag("mamba_conv_bias", True),
            proj_bias=reader.flag("mamba_proj_bias", False),
            normed=True,
        )
    mlp = reader.mlp(index, hidden) if every("expert", 2, 1) else reader.dense(hidden)
    return LayerGroup(count=1, attention=mixer, mlp=mlp)


def _bamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    types = reader.listed("layer_types", count)
    attending = reader.config.get("attn_layer_indices")
    if types is not None:
        is_attention = types[index] in ("attention", "full_attention")
    elif isinstance(attending, list):
        is_attention = index in attending
    else:
        raise ConfigError("config_missing_key", "attn_layer_indices is missing", key="attn_layer_indices")
    mixer: Mixer
    if is_attention:
        mixer = reader.attention(index, count, hidden, heads)
    else:
        mixer = Mamba2(
            heads=reader.number("heads", "mamba_n_heads"),
            head_dim=reader.number("head_dim", "mamba_d_head"),
            groups=reader.number("heads", "mamba_n_groups", default=1),
            state=reader.number("head_dim", "mamba_d_state"),
            kernel=reader.number("head_dim", "mamba_d_conv", default=4),
            conv_bias=reader.flag("mamba_conv_bias", True),
            proj_bias=reader.flag("mamba_proj_bias", False),
        )
    shared = reader.number("intermediate", "shared_intermediate_size", required=False)
    mlp: Dense | Moe = reader.mlp(index, hidden)
    if isinstance(mlp, Moe):
        mlp = mlp.model_copy(update={"shared_intermediate": shared})
    elif shared:
        mlp = reader.dense(hidden, shared)
    return LayerGroup(count=1, attention=mixer, mlp=mlp)


def _mamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    inner = hidden * reader.number("index", "expand", default=2)
    mixer = Mamba(
        inner=reader.number("intermediate", "intermediate_size", default=inner),
        state=reader.number("head_dim", "state_size", default=16),
        step_rank=reader.number("rank", "time_step_rank", default=-(-hidden // 16)),
        kernel=reader.number("head_dim", "conv_kernel", default=4),
        conv_bias=reader.flag("use_conv_bias", True),
        proj_bias=reader.flag("use_bias", False),
    )
    return LayerGroup(count=1, attention=mixer, mlp=Absent(), norms=1)


def _mamba2(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    mixer = Mamba2(
        heads=reader.number("heads", "num_heads"),
        head_dim=reader.number("head_dim", "head_dim"),
        groups=reader.number("heads", "n_groups", default=1),
        state=reader.number("head_dim", "state_size"),
        kernel=reader.number("head_dim", "conv_kernel", default=4),
        conv_bias=reader.flag("use_conv_bias", True),
        proj_bias=reader.flag("use_bias", False),
    )
    return LayerGroup(count=1, attention=mixer, mlp=Absent(), norms=1)


def _delta_net(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    _known(reader, "full_attention_interval")
    types = reader.listed("layer_types", count)
    if types is not None:
        is_full = types[index] == "full_attention"
        if types[index] not in ("full_attention", "linear_attention"):
            raise UnsupportedArchitecture(reader.family_name, printable(str(types[index])))
    else:
        is_full = (index + 1) % (reader.number("index", "full_attention_interval", default=4) or 1) == 0
    mixer: Mixer
    if is_full:
        gate = "element" if reader.flag("attn_output_gate", True) else "none"
        mixer = reader.attention(index, count, hidden, heads).model_copy(update={"output_gate": gate})
    else:
        mixer = GatedDelta(
            key_heads=reader.number("heads", "linear_num_key_heads"),
            heads=reader.number("heads", "linear_num_value_heads"),
            key_dim=reader.number("head_dim", "linear_key_head_dim"),
            value_dim=reader.number("head_dim", "linear_value_head_dim"),
            kernel=reader.number("head_dim", "linear_conv_kernel_dim", default=4),
        )
    return LayerGroup(count=1, attention=mixer, mlp=reader.mlp(index, hidden))


def _kimi_linear(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    linear = reader.within("linear_attn_config")
    delta = linear.config.get("kda_layers")
    if not isinstance(delta, list):
        raise ConfigError("config_missing_key", "kda_layers is missing", key="kda_layers")
    linear.config.get("full_attn_layers")
    mixer: Mixer
    if index + 1 in delta:  # The list counts layers from one.
        mixer = Kda(
            heads=linear.number("heads", "num_heads"),
            head_dim=linear.number("head_dim", "head_dim"),
            kernel=linear.number("head_dim", "short_conv_kernel_size", default=4),
            full_rank_gate=linear.flag("use_full_rank_gate", False),
        )
    else:
        found = reader.attention(index, count, hidden, heads)
        mixer = found.model_copy(update={"output_gate": reader.flag("mla_use_output_gate", False)})
    mlp = reader.mlp(index, hidden)
    if isinstance(mlp, Moe):
        latent = reader.optional("hidden", "routed_expert_hidden_size")
        norm = latent is not None and reader.flag("latent_moe_use_norm", False)
        mlp = mlp.model_copy(update={"latent": latent, "latent_norm": norm})
    return LayerGroup(count=1, attention=mixer, mlp=mlp)


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
    _known(reader, "num_key_value_heads", "qk_rope_head_dim")
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
    _known(reader, "n_shared_experts")
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
    "nemotron_h": _nemotron_h,
    "jamba": _jamba,
    "bamba": _bamba,
    "granitemoehybrid": _bamba,
    "mamba": _mamba,
    "falcon_mamba": _mamba,
    "mamba2": _mamba2,
    "qwen3_next": _delta_net,
    "qwen3_5": _delta_net,
    "qwen3_5_moe": _delta_net,
    "kimi_linear": _kimi_linear,
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
