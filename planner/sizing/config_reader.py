"""Reads a Hugging Face ``config.json`` into an architecture. The input may be anything: nothing is trusted.

Only numbers and names are read, each within a stated range; no code is loaded. ``understand`` also says which
keys were left aside although they may shape the model, and which values were assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from planner.sizing.architecture import (
    Absent,
    Architecture,
    Assumed,
    Dense,
    Grouped,
    Latent,
    LayerGroup,
    Moe,
    parameter_count,
)
from planner.sizing.config_faults import complete
from planner.sizing.config_hybrids import LAYERS
from planner.sizing.config_keys import left_aside
from planner.sizing.config_parts import draft_parameters, read_parts, towers_beside
from planner.sizing.config_recurrent import nemotron_kinds
from planner.sizing.config_text import (
    FILE_KEYS_MAXIMUM,
    TEXT_BYTES_MAXIMUM,
    ConfigError,
    UnsupportedArchitecture,
    check_shape,
    parse,
    printable,
)
from planner.sizing.config_values import TEXT_KEYS, ConfigValues
from planner.sizing.quantities import Frozen
from planner.sizing.stored_formats import stored_formats

__all__ = [
    "TEXT_BYTES_MAXIMUM",
    "ConfigError",
    "Reading",
    "UnsupportedArchitecture",
    "parse",
    "read",
    "understand",
]

PARAMETERS_MAXIMUM = 10**14


BESIDE_LATENT = ("num_key_value_heads", "head_dim", "qk_head_dim")
"""Keys of configs with latent attention that say nothing beside its ranks."""


class Reading(Frozen):
    """What was understood of a config: the architecture, what was assumed and what was left aside."""

    architecture: Architecture
    assumed: tuple[Assumed, ...]
    left_aside: tuple[str, ...]
    """Keys that may shape the model and were not read."""


def understand(
    document: str | bytes | Mapping[str, Any], *, name: str = "config", source: str = "config.json"
) -> Reading:
    """All that a ``config.json`` says of a model, also of kinds whose memory is not sized yet.

    Raises ``ConfigError`` for anything it cannot be.
    """
    config = parse(document) if isinstance(document, str | bytes) else dict(document)
    check_shape(config, FILE_KEYS_MAXIMUM)
    return _told(_Reader(config, name, source), config)


def _told(reader: _Reader, config: dict[str, Any]) -> Reading:
    try:
        architecture = reader.architecture()
    except UnsupportedArchitecture:
        raise
    except ConfigError as first:
        raise complete(
            first,
            config,
            next((key for key in TEXT_KEYS if key in config), None),
            lambda mended: _Reader(mended, reader.name, reader.source).architecture(),
        ) from None
    assumed = tuple(Assumed(key=key, value=value) for key, value in reader.assumed.items())
    aside = reader.unread + left_aside(*reader.levels())
    architecture = architecture.model_copy(update={"assumed": assumed, "left_aside": aside})
    return Reading(architecture=architecture, assumed=assumed, left_aside=aside)


def read(
    document: str | bytes | Mapping[str, Any], *, name: str = "config", source: str = "config.json"
) -> Architecture:
    """The architecture that a ``config.json`` describes, if it can be sized.

    Raises ``ConfigError`` for anything it cannot be, ``UnsupportedArchitecture`` for kinds not sized yet.
    """
    config = parse(document) if isinstance(document, str | bytes) else dict(document)
    check_shape(config)
    reader = _Reader(config, name, source)
    if reader.family.not_sized is not None:
        raise UnsupportedArchitecture(reader.family_name, reader.family.not_sized)
    return _told(reader, config).architecture


class _Reader(ConfigValues):
    """One config on its way to an architecture."""

    def architecture(self) -> Architecture:
        hidden = self.number("hidden", "hidden_size", "n_embd", "d_model", "dim")
        kinds = nemotron_kinds(self) if self.family_name == "nemotron_h" else None
        count = self._layer_count(len(kinds) if kinds else None)
        heads = self.number("heads", "num_attention_heads", "n_head", "n_heads", "decoder_attention_heads",
                            default=1 if "mamba" in self.family_name else None)  # fmt: skip
        layer = LAYERS.get(self.family_name, _plain_layer)
        equal = Counter(layer(self, index, count, hidden, heads) for index in range(count))
        groups = [one.model_copy(update={"count": times}) for one, times in equal.items()]
        positions = 0
        longest = self.optional("positions", "max_position_embeddings", "n_positions", "seq_length",
                                "max_seq_len", "model_max_length", "max_target_positions")  # fmt: skip
        if self.family.learned_positions:
            positions = (longest or 2048) + self.family.positions_extra
        quantised = self.config.get("quantization_config")
        dtype = self.config.get("torch_dtype") or self.config.get("dtype")
        stored = stored_formats(quantised, dtype, count)
        self.unread += (
            ("quantization_config",) if isinstance(quantised, dict) and not stored.understood else ()
        )
        arch = Architecture(
            id=self.name,
            family=self.family_name,
            hidden=hidden,
            vocab=self.number("vocab", "vocab_size", "n_vocab"),
            tied=self._tied(),
            layers=tuple(groups),
            norm_bias=self.family.norm_bias,
            final_norms=self.family.final_norms,
            head_bias=self.family.head_bias,
            learned_positions=positions,
            towers=towers_beside(self, hidden),
            parts=read_parts(self, hidden, groups),
            draft_parameters=draft_parameters(self, hidden, heads, count, groups[-1]),
            not_sized=self.family.not_sized,
            max_position=longest,
            stored_format=stored.format,
            stored_kv_format=stored.kv_format,
            stored_kept=stored.kept,
            stored_linear_bits=stored.linear_bits,
            attention_kind=self.family.kind or self.family.not_sized or attention_kind(groups),
            source=self.source,
        )
        if parameter_count(arch) > PARAMETERS_MAXIMUM:
            raise ConfigError(
                "config_too_many_parameters",
                f"the model would have more than {PARAMETERS_MAXIMUM} parameters",
                billions_maximum=PARAMETERS_MAXIMUM // 10**9,
            )
        return arch

    def _layer_count(self, default: int | None) -> int:
        names = ["num_hidden_layers", "n_layer", "n_layers", "num_layers"]
        if self.family_name == "whisper":
            names.insert(0, "decoder_layers")  # The other name counts the encoder's.
        return self.number("layers", *names, default=default)

    def _tied(self) -> bool:
        if self.config.get("tie_word_embeddings") is None and not self.family.pooler:
            self.assumed["tie_word_embeddings"] = int(self.family.tied)
        return self.flag("tie_word_embeddings", self.family.tied)

    def _window(self, index: int, count: int) -> int | None:
        config = self.config
        types = config.get("layer_types")
        window = config.get("sliding_window") or config.get("sliding_window_size")
        if window is None or window is False:
            return None
        size = self.number("window", "sliding_window", "sliding_window_size")
        if isinstance(types, list) and types:
            if len(types) < count:
                raise ConfigError(
                    "config_too_short",
                    f"layer_types must name {count} layers",
                    key="layer_types",
                    count=count,
                )
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

    def attention(self, index: int, count: int, hidden: int, heads: int) -> Grouped | Latent:
        if self.optional("rank", "kv_lora_rank") is not None:
            for key in BESIDE_LATENT:
                self.config.get(key)
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
        own = {key: self.config.get(f"swa_{key}") for key in ("num_attention_heads", "num_key_value_heads")}
        if window is not None and any(value is not None for value in own.values()):
            heads = self.number("heads", "swa_num_attention_heads", default=heads)
            kv_heads = self.number("heads", "swa_num_key_value_heads", default=kv_heads)
            head_dim = self.number("head_dim", "swa_head_dim", default=head_dim)
            value_dim = self.optional("head_dim", "swa_v_head_dim") or value_dim
        if kv_heads > heads or heads % kv_heads:
            raise ConfigError(
                "config_heads_not_shared",
                f"{heads} attention heads are no multiple of num_key_value_heads, {kv_heads}",
                key="num_key_value_heads",
                heads=heads,
                kv_heads=kv_heads,
            )
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
        said = self.config.get("qk_norm_type")
        if qk_norm != "none" and said in ("per_head", "per_layer"):
            qk_norm = "head" if said == "per_head" else "full"
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
            output_norm=family.attention_output_norm,
        )  # fmt: skip

    def _kv_heads(self, heads: int) -> int:
        if self.family_name == "falcon" and not self.flag("new_decoder_architecture", False):
            return 1 if self.flag("multi_query", True) else heads
        if self.family_name == "gpt_bigcode":
            return 1 if self.flag("multi_query", True) else heads
        return self.number("heads", "num_key_value_heads", "num_kv_heads", default=heads)

    def dense(self, hidden: int, width: int | None = None) -> Dense:
        family = self.family
        if width is None:
            factor = family.intermediate_factor
            width = self.number("intermediate", "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                default=factor * hidden if factor else None)  # fmt: skip
            if family.halved_intermediate:
                width = max(1, width // 2)
        bias = self.flag("mlp_bias", self.flag("use_bias", family.mlp_bias))
        return Dense(intermediate=width, gated=family.gated, bias=bias, norm=family.mlp_norm)

    def mlp(self, index: int, hidden: int) -> Dense | Moe:
        experts = self.optional("experts", "n_routed_experts", "num_local_experts", "num_experts",
                                "moe_num_experts")  # fmt: skip
        if experts is None or (experts == 1 and self.family_name != "mixtral"):
            return self.dense(hidden)
        if index < self.number("index", "first_k_dense_replace", default=0):
            return self.dense(hidden)
        only = self.config.get("mlp_only_layers")
        step = self.number("index", "decoder_sparse_step", default=1) or 1
        if (isinstance(only, list) and index in only) or (index + 1) % step:
            return self.dense(hidden)
        kinds = self.config.get("mlp_layer_types")
        if isinstance(kinds, list) and len(kinds) > index and kinds[index] == "dense":
            return self.dense(hidden)
        freq = self.config.get("moe_layer_freq")
        if isinstance(freq, list) and len(freq) > index and not freq[index]:
            return self.dense(hidden)
        width = self.number("intermediate", "moe_intermediate_size", "intermediate_size")
        shared = self.number("experts", "n_shared_experts", "num_shared_experts", default=0)
        shared_width = self.number("shared", "shared_expert_intermediate_size", "share_expert_dim",
                                   "shared_intermediate_size", required=False)  # fmt: skip
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
            router_bias=self.flag("use_routing_bias", self.flag("use_moe_router_bias", family.router_bias)),
            router_scales=(hidden + experts) if family.router_scales_hidden else 0,
            dense=self.dense(hidden) if family.experts_beside_dense else None,
        )  # fmt: skip


def _plain_layer(reader: _Reader, index: int, count: int, hidden: int, heads: int) -> LayerGroup:
    """A layer of one attention and one MLP."""
    norms = reader.family.norms
    if reader.family_name == "falcon" and reader.flag("new_decoder_architecture", False):
        norms = 2
    attention = reader.attention(index, count, hidden, heads)
    return LayerGroup(count=1, attention=attention, mlp=reader.mlp(index, hidden), norms=norms)


def attention_kind(groups: list[LayerGroup]) -> str:
    """MHA, GQA, MQA or MLA, with SWA where layers have a window."""
    mixers = [group.attention for group in groups if not isinstance(group.attention, Absent)]
    grouped = [mixer for mixer in mixers if isinstance(mixer, Grouped)]
    if not grouped:
        return "MLA" if mixers else "none"
    first = grouped[0]
    kind = "MQA" if first.kv_heads == 1 else "MHA" if first.kv_heads == first.heads else "GQA"
    windows = {mixer.window is not None for mixer in grouped}
    if windows == {True}:
        return f"{kind}+SWA"
    return f"{kind}+SWA-hybrid" if windows == {True, False} else kind
