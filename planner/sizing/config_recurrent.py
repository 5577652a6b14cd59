"""Layers of the families that mix states with attention, as their configs name them: Mamba, delta nets, KDA."""

from __future__ import annotations

from planner.sizing.architecture import (
    Absent,
    Dense,
    GatedDelta,
    Grouped,
    Kda,
    LayerGroup,
    Mamba,
    Mamba2,
    Mixer,
    Moe,
)
from planner.sizing.config_layers import Reader, known
from planner.sizing.config_text import ConfigError, UnsupportedArchitecture, printable

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
    known(reader, "expand", "intermediate_size", "n_shared_experts", "time_step_rank")
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


def nemotron_h(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    kinds = nemotron_kinds(reader)
    if kinds is None or len(kinds) < count:
        raise ConfigError(
            "config_missing_key", "hybrid_override_pattern is missing", key="hybrid_override_pattern"
        )
    return nemotron_layer(reader, kinds[index], hidden, heads)


def jamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
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


def bamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
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


def mamba(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
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


def mamba2(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
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


def delta_net(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    known(reader, "full_attention_interval")
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


def kimi_linear(reader: Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
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
