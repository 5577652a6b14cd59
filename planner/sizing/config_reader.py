"""Reads a Hugging Face ``config.json`` into an architecture. The input may be anything: nothing is trusted.

Only numbers and names are read, each within a stated range; unknown keys are ignored and no code is loaded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from planner.sizing.architecture import (
    Architecture,
    Dense,
    Grouped,
    Latent,
    LayerGroup,
    Moe,
    Tower,
    parameter_count,
)
from planner.sizing.config_text import (
    TEXT_BYTES_MAXIMUM,
    ConfigError,
    UnsupportedArchitecture,
    check_shape,
    parse,
    printable,
)
from planner.sizing.families import FAMILIES, NOT_COVERED, WRAPPERS, Family
from planner.sizing.stored_formats import stored_formats
from planner.sizing.towers import GEMMA4, read_towers

__all__ = ["TEXT_BYTES_MAXIMUM", "ConfigError", "UnsupportedArchitecture", "parse", "read"]

PARAMETERS_MAXIMUM = 10**14


LIMITS: dict[str, tuple[int, int]] = {
    "layers": (1, 2_000),
    "hidden": (1, 200_000),
    "heads": (1, 8_192),
    "head_dim": (1, 8_192),
    "intermediate": (1, 2_000_000),
    "vocab": (1, 5_000_000),
    "experts": (1, 10_000),
    "rank": (1, 100_000),
    "window": (1, 100_000_000),
    "positions": (1, 1_000_000_000),
    "index": (0, 2_000),
}
"""The accepted range of each kind of number."""


def read(
    document: str | bytes | Mapping[str, Any], *, name: str = "config", source: str = "config.json"
) -> Architecture:
    """The architecture that a ``config.json`` describes. Raises ``ConfigError`` for anything it cannot be."""
    config = parse(document) if isinstance(document, str | bytes) else dict(document)
    check_shape(config)
    return _Reader(config, name, source).architecture()


class _Reader:
    """One config on its way to an architecture."""

    def __init__(self, config: dict[str, Any], name: str, source: str) -> None:
        self.outer = config
        self.name = name
        self.source = source
        inner = next(
            (config[key] for key in ("text_config", "llm_config", "language_config") if key in config), None
        )
        if inner is not None and not isinstance(inner, dict):
            raise ConfigError("config_wrong_type", "text_config must be an object", key="text_config")
        self.config: dict[str, Any] = {**config, **inner} if inner else config
        self.family_name = self._family_name(inner)
        self.family: Family = FAMILIES[self.family_name]

    def _family_name(self, inner: dict[str, Any] | None) -> str:
        names = [source.get("model_type") for source in (inner or {}, self.outer)]
        architectures = self.outer.get("architectures")
        listed = architectures if isinstance(architectures, list) else []
        for name in names:
            if name is None:
                continue
            if not isinstance(name, str):
                raise ConfigError("config_wrong_type", "model_type must be text", key="model_type")
            if name in NOT_COVERED:
                raise UnsupportedArchitecture(printable(name), NOT_COVERED[name])
        for name in names:
            found = WRAPPERS.get(name, name) if name else None
            if found in FAMILIES:
                return str(found)
        for text in listed:
            if isinstance(text, str):
                plain = re.sub(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel)$", "", text[:100]).lower()
                for family in FAMILIES:
                    if plain == family.replace("_", ""):
                        return family
        named = next((str(name) for name in [*names, *listed] if isinstance(name, str) and name), "")
        if not named:
            raise ConfigError("config_missing_key", "model_type is missing", key="model_type")
        raise UnsupportedArchitecture(printable(named))

    # Reading one key, each with its range.

    def number(self, kind: str, *keys: str, default: int | None = None, required: bool = True) -> int:
        for key in keys:
            value = self.config.get(key)
            if value is None:
                continue
            low, high = LIMITS[kind]
            if isinstance(value, bool) or not isinstance(value, int):
                raise ConfigError("config_wrong_type", f"{key} must be a whole number from {low} to {high}",
                                  key=key, low=low, high=high)  # fmt: skip
            if not low <= value <= high:
                raise ConfigError("config_out_of_range", f"{key} must be from {low} to {high}",
                                  key=key, low=low, high=high)  # fmt: skip
            return value
        if default is None and required:
            raise ConfigError("config_missing_key", f"{keys[0]} is missing", key=keys[0])
        return default if default is not None else 0

    def optional(self, kind: str, *keys: str) -> int | None:
        found = self.number(kind, *keys, required=False)
        return found or None

    def flag(self, key: str, default: bool) -> bool:
        value = self.config.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError("config_wrong_type", f"{key} must be true or false", key=key)
        return value

    def architecture(self) -> Architecture:
        hidden = self.number("hidden", "hidden_size", "n_embd", "d_model", "dim")
        count = self.number("layers", "num_hidden_layers", "n_layer", "n_layers", "num_layers")
        heads = self.number("heads", "num_attention_heads", "n_head", "n_heads")
        attention = [self._attention(index, count, hidden, heads) for index in range(count)]
        mlps = [self._mlp(index, hidden) for index in range(count)]
        norms = self.family.norms
        if self.family_name == "falcon" and self.flag("new_decoder_architecture", False):
            norms = 2
        equal = Counter(zip(attention, mlps, strict=True))
        groups = [
            LayerGroup(count=times, attention=one, mlp=other, norms=norms)
            for (one, other), times in equal.items()
        ]
        positions = 0
        longest = self.optional("positions", "max_position_embeddings", "n_positions", "seq_length",
            "max_seq_len",
                                "model_max_length")  # fmt: skip
        if self.family.learned_positions:
            positions = (longest or 2048) + self.family.positions_extra
        quantised = self.config.get("quantization_config") or self.outer.get("quantization_config")
        dtype = self.config.get("torch_dtype") or self.config.get("dtype")
        stored = stored_formats(quantised, dtype, count)
        arch = Architecture(
            id=self.name,
            family=self.family_name,
            hidden=hidden,
            vocab=self.number("vocab", "vocab_size", "n_vocab"),
            tied=self.flag("tie_word_embeddings", self.family.tied),
            layers=tuple(groups),
            norm_bias=self.family.norm_bias,
            final_norms=self.family.final_norms,
            head_bias=self.family.head_bias,
            learned_positions=positions,
            towers=self._towers(hidden),
            max_position=longest,
            stored_format=stored.format,
            stored_kv_format=stored.kv_format,
            stored_kept=stored.kept,
            stored_linear_bits=stored.linear_bits,
            attention_kind=attention_kind(groups),
            source=self.source,
        )
        if parameter_count(arch) > PARAMETERS_MAXIMUM:
            raise ConfigError("config_out_of_range",
                f"the model would have more than {PARAMETERS_MAXIMUM} parameters",
                              key="num_hidden_layers", low=LIMITS["layers"][0],
                              high=LIMITS["layers"][1])  # fmt: skip
        return arch

    def _towers(self, hidden: int) -> tuple[Tower, ...]:
        if self.family_name == "gemma4_text":
            return (Tower(name="vision_tower", parameters=GEMMA4, source="published parameter counts"),)
        vision = self.outer.get("vision_config")
        if vision is None:
            return ()
        if not isinstance(vision, dict):
            raise ConfigError("config_wrong_type", "vision_config must be an object", key="vision_config")
        kind = self.outer.get("model_type")
        reader = _Reader.__new__(_Reader)
        reader.config = vision
        number: Callable[..., int] = reader.number
        listed = self.outer.get("vision_feature_layer")
        features = len(listed) if isinstance(listed, list) and listed else 1
        return read_towers(str(kind), number, vision, hidden, features)

    def _window(self, index: int, count: int) -> int | None:
        config = self.config
        types = config.get("layer_types")
        window = config.get("sliding_window") or config.get("sliding_window_size")
        if window is None or window is False:
            return None
        size = self.number("window", "sliding_window", "sliding_window_size")
        if isinstance(types, list) and types:
            if len(types) < count:
                raise ConfigError("config_out_of_range", f"layer_types must name {count} layers",
                    key="layer_types",
                                  low=count, high=count)  # fmt: skip
            kind = types[index]
            if not isinstance(kind, str):
                raise ConfigError(
                    "config_wrong_type", "layer_types must be a list of text", key="layer_types"
                )
            if kind in ("full_attention", "global_attention", "global"):
                return None
            if kind in ("sliding_attention", "sliding", "local"):
                return size
            raise UnsupportedArchitecture(self.name, printable(kind))
        unless = self.family.window_unless
        if unless is not None and not self.flag(unless, False):
            return None
        if unless is not None:
            # Qwen: the layers below max_window_layers keep full attention.
            return size if index >= self.number("index", "max_window_layers", default=count) else None
        pattern = config.get("hybrid_layer_pattern")
        if isinstance(pattern, list) and len(pattern) >= count:
            return size if pattern[index] else None
        every = (
            self.optional("index", "sliding_window_pattern", "_sliding_window_pattern")
            or self.family.window_every
        )
        if every is not None:
            if self.family_name in ("gemma2", "gpt_oss"):
                return size if index % every == 0 else None
            return size if (index + 1) % every else None
        return size

    def _attention(self, index: int, count: int, hidden: int, heads: int) -> Grouped | Latent:
        if self.optional("rank", "kv_lora_rank") is not None:
            return Latent(
                heads=heads,
                query_rank=self.optional("rank", "q_lora_rank"),
                kv_rank=self.number("rank", "kv_lora_rank"),
                nope_dim=self.number("head_dim", "qk_nope_head_dim"),
                rope_dim=self.number("head_dim", "qk_rope_head_dim"),
                value_dim=self.number("head_dim", "v_head_dim"),
            )
        family = self.family
        window = self._window(index, count)
        kv_heads = self._kv_heads(heads)
        head_dim = self.number("head_dim", "head_dim", "kv_channels", "attention_head_dim",
                               default=max(1, hidden // heads))  # fmt: skip
        shared = False
        if window is None and self.config.get("global_head_dim") is not None:
            head_dim = self.number("head_dim", "global_head_dim")
            kv_heads = self.number("heads", "num_global_key_value_heads", default=kv_heads)
            shared = self.flag("attention_k_eq_v", False)
        value_dim = self.optional("head_dim", "v_head_dim")
        if window is not None and self.config.get("swa_num_key_value_heads") is not None:
            kv_heads = self.number("heads", "swa_num_key_value_heads")
        if kv_heads > heads or heads % kv_heads:
            raise ConfigError("config_out_of_range",
                f"num_key_value_heads must divide the {heads} attention heads",
                              key="num_key_value_heads", low=1, high=heads)  # fmt: skip
        both = self.config.get("attention_bias")
        plain_bias = family.qkv_bias
        if both is None:
            both = self.config.get("use_bias")
        if isinstance(both, bool):
            plain_bias = both
        plain_bias = self.flag("use_qkv_bias", plain_bias)
        qk_norm = family.qk_norm
        if self.flag("use_qk_norm", False) and qk_norm == "none":
            qk_norm = "head"
        output = family.output_bias
        if isinstance(both, bool) and self.family_name in (
            "llama",
            "granite",
            "qwen3",
            "qwen3_moe",
            "starcoder2",
        ):
            output = both
        sinks = family.sinks or (window is not None and self.flag("add_swa_attention_sink_bias", False))
        return Grouped(
            heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window,
            value_head_dim=value_dim if value_dim not in (None, head_dim) else None,
            qkv_bias=plain_bias, output_bias=output, qk_norm=qk_norm, sinks=sinks, shared_key_value=shared,
        )  # fmt: skip

    def _kv_heads(self, heads: int) -> int:
        if self.family_name == "falcon" and not self.flag("new_decoder_architecture", False):
            return 1 if self.flag("multi_query", True) else heads
        if self.family_name == "gpt_bigcode":
            return 1 if self.flag("multi_query", True) else heads
        return self.number("heads", "num_key_value_heads", "num_kv_heads", default=heads)

    def _dense(self, hidden: int, width: int | None = None) -> Dense:
        family = self.family
        if width is None:
            factor = family.intermediate_factor
            width = self.number("intermediate", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                default=factor * hidden if factor else None)  # fmt: skip
            if family.halved_intermediate:
                width = max(1, width // 2)
        bias = self.flag("mlp_bias", self.flag("use_bias", family.mlp_bias))
        return Dense(intermediate=width, gated=family.gated, bias=bias)

    def _mlp(self, index: int, hidden: int) -> Dense | Moe:
        experts = self.optional("experts", "n_routed_experts", "num_local_experts", "num_experts",
                                "moe_num_experts")  # fmt: skip
        if experts is None or (experts == 1 and self.family_name != "mixtral"):
            return self._dense(hidden)
        if index < self.number("index", "first_k_dense_replace", default=0):
            return self._dense(hidden)
        only = self.config.get("mlp_only_layers")
        step = self.number("index", "decoder_sparse_step", default=1) or 1
        if (isinstance(only, list) and index in only) or (index + 1) % step:
            return self._dense(hidden)
        freq = self.config.get("moe_layer_freq")
        if isinstance(freq, list) and len(freq) > index and not freq[index]:
            return self._dense(hidden)
        width = self.number("intermediate", "moe_intermediate_size", "intermediate_size")
        shared = self.number("experts", "n_shared_experts", "num_shared_experts", default=0)
        shared_width = self.number("intermediate", "shared_expert_intermediate_size", default=0)
        per_token = self.number("experts", "num_experts_per_tok", "experts_per_token",
            "num_experts_per_token",
                                "top_k_experts", "moe_top_k")  # fmt: skip
        if per_token > experts:
            raise ConfigError("config_out_of_range", f"num_experts_per_tok must be from 1 to {experts}",
                              key="num_experts_per_tok", low=1, high=experts)  # fmt: skip
        family = self.family
        return Moe(
            experts=experts, experts_per_token=per_token, intermediate=width, gated=family.gated,
            bias=family.moe_bias, shared_intermediate=shared_width or shared * width,
            shared_gate=family.shared_gate,
            router_bias=family.router_bias,
            router_scales=(hidden + experts) if family.router_scales_hidden else 0,
            dense=self._dense(hidden) if family.experts_beside_dense else None,
        )  # fmt: skip


def attention_kind(groups: list[LayerGroup]) -> str:
    """MHA, GQA, MQA or MLA, with SWA where layers have a window."""
    first = groups[0].attention
    if isinstance(first, Latent):
        return "MLA"
    kind = "MQA" if first.kv_heads == 1 else "MHA" if first.kv_heads == first.heads else "GQA"
    windows = {group.attention.window is not None for group in groups}
    if windows == {True}:
        return f"{kind}+SWA"
    return f"{kind}+SWA-hybrid" if windows == {True, False} else kind
