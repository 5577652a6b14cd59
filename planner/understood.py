"""What was understood of a model, field by field: its value, and whether it was read, assumed or worked out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from catalog.source_words import said
from planner import wording
from planner.architectures import CAME_FROM
from planner.model_forms import PARAMETERS_STATED, WORKED_OUT
from planner.model_import import FILE_FORMAT, STORED_TYPES
from planner.sizing.architecture import (
    Absent,
    Architecture,
    Dense,
    Grouped,
    Latent,
    LayerGroup,
    Mixer,
    Moe,
    active_parameter_count,
    parameter_count,
)
from planner.sizing.config_values import TEXT_KEYS

READ, ASSUMED, WORKED, TYPED = "read", "assumed", "worked_out", "typed"
FAMILY, FACT, UNSAID = "family", "fact", "unsaid"
ORIGINS: dict[str, str | Promise] = {
    READ: gettext_lazy("read"),
    ASSUMED: gettext_lazy("assumed"),
    WORKED: gettext_lazy("worked out"),
    TYPED: gettext_lazy("typed"),
    FAMILY: gettext_lazy("known of the family"),
    FACT: gettext_lazy("shipped fact"),
    UNSAID: gettext_lazy("not said"),
}
DIFFERENCE_TOLD = 0.02
"""Counted and stated parameters may differ by rounding; beyond this it is said aloud."""


@dataclass(frozen=True)
class Row:
    """One field of a model. ``key`` is what the source calls it, where it stands there."""

    label: str
    value: str
    origin: str
    key: str = ""

    @property
    def origin_word(self) -> str:
        return str(ORIGINS[self.origin])


@dataclass(frozen=True)
class Understood:
    """A model as it was read, ready for its table."""

    name: str
    source: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]
    left_aside: tuple[str, ...]


class _Origins:
    """Where a value stands: a key of the configuration, else what was assumed, else what the family is known for."""

    def __init__(self, arch: Architecture, config: Mapping[str, Any] | None) -> None:
        self.config: dict[str, Any] | None = None
        if config is not None:
            inner: Mapping[str, Any] = next(
                (config[key] for key in TEXT_KEYS if isinstance(config.get(key), dict)), {}
            )
            self.config = {**config, **inner}
        self.assumed = {item.key for item in arch.assumed}
        self.read = TYPED if config is not None and config.get(CAME_FROM) == "numbers" else READ
        listed = config.get(WORKED_OUT) if config is not None else None
        self.worked_out = listed if isinstance(listed, list) else []

    def row(self, label: str, value: str, *keys: str) -> Row:
        if self.config is None:
            return Row(label, value, FACT)
        for key in keys:
            if key in self.worked_out:
                return Row(label, value, WORKED, key)
            if self.config.get(key) is not None:
                return Row(label, value, self.read, key)
        for key in keys:
            if key in self.assumed:
                return Row(label, value, ASSUMED, key)
        return Row(label, value, FAMILY)


def understood(arch: Architecture, config: Mapping[str, Any] | None = None) -> Understood:
    """The table of an architecture; ``config`` is what it was read from, None for a shipped model."""
    origins = _Origins(arch, config)
    rows = [*_whole(arch, origins), *_layers(arch, origins), *_edges(arch, origins), *_counted(arch, config)]
    return Understood(
        name=arch.id,
        source=arch.source,
        rows=tuple(rows),
        warnings=tuple(_warnings(arch, config)),
        left_aside=arch.left_aside,
    )


def _whole(arch: Architecture, origins: _Origins) -> Iterator[Row]:
    if origins.read == TYPED:
        kind = _("plain decoder: grouped attention, gated MLP of three matrices, two norms a layer")
        yield Row(_("Kind of model"), kind, ASSUMED)
    else:
        yield origins.row(_("Kind of model"), arch.family, "model_type", "architectures")
    yield Row(_("Attention"), said(arch.attention_kind), WORKED)
    yield origins.row(
        _("Layers"), f"{arch.layer_count:,}", "num_hidden_layers", "n_layer", "n_layers", "num_layers",
        "decoder_layers",
    )  # fmt: skip
    yield origins.row(_("Hidden size"), f"{arch.hidden:,}", "hidden_size", "n_embd", "d_model", "dim")


def _layers(arch: Architecture, origins: _Origins) -> Iterator[Row]:
    several = len(arch.layers) > 1
    for group in arch.layers:
        where = ngettext("%(n)d layer", "%(n)d layers", group.count) % {"n": group.count} if several else ""
        for row in (*_mixer(group.attention, origins), *_mlp(group, origins)):
            label = f"{where}: {row.label}" if where else row.label
            yield Row(label, row.value, row.origin, row.key)


def _mixer(mixer: Mixer, origins: _Origins) -> Iterator[Row]:
    heads = ("num_attention_heads", "n_head", "n_heads")
    if isinstance(mixer, Grouped):
        yield origins.row(_("Attention heads"), f"{mixer.heads:,}", *heads)
        yield origins.row(
            _("KV heads"), f"{mixer.kv_heads:,}", "num_key_value_heads", "num_kv_heads", "multi_query"
        )
        yield origins.row(
            _("Size of a head"), f"{mixer.head_dim:,}", "head_dim", "kv_channels", "attention_head_dim"
        )
        if mixer.window is not None:
            size = _("%(n)s tokens") % {"n": f"{mixer.window:,}"}
            yield origins.row(_("Sliding window"), size, "sliding_window", "sliding_window_size")
        if mixer.chunk is not None:
            size = _("%(n)s tokens") % {"n": f"{mixer.chunk:,}"}
            yield origins.row(_("Attention within chunks"), size, "attention_chunk_size")
    elif isinstance(mixer, Latent):
        yield origins.row(_("Attention heads"), f"{mixer.heads:,}", *heads)
        cached = _("%(rank)s + %(rope)s values a token and layer") % {
            "rank": f"{mixer.kv_rank:,}", "rope": f"{mixer.rope_dim:,}",
        }  # fmt: skip
        yield origins.row(_("Latent cache (MLA)"), cached, "kv_lora_rank")
    elif not isinstance(mixer, Absent):
        yield Row(_("Mixer"), mixer.kind.replace("_", " "), FAMILY)


def _mlp(group: LayerGroup, origins: _Origins) -> Iterator[Row]:
    mlp = group.mlp
    if isinstance(mlp, Dense):
        width = (
            f"{mlp.intermediate:,}" if mlp.gated else _("%(n)s, not gated") % {"n": f"{mlp.intermediate:,}"}
        )
        yield origins.row(
            _("Width of the MLP"), width, "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"
        )
    elif isinstance(mlp, Moe):
        yield origins.row(
            _("Experts"),
            f"{mlp.experts:,}",
            "n_routed_experts",
            "num_local_experts",
            "num_experts",
            "moe_num_experts",
        )
        yield origins.row(
            _("Experts a token takes"), f"{mlp.experts_per_token:,}", "num_experts_per_tok", "experts_per_token",
            "num_experts_per_token", "top_k_experts", "moe_top_k",
        )  # fmt: skip
        yield origins.row(
            _("Width of an expert"), f"{mlp.intermediate:,}", "moe_intermediate_size", "intermediate_size"
        )
        if mlp.shared_intermediate:
            yield origins.row(
                _("Width of shared experts"), f"{mlp.shared_intermediate:,}", "shared_expert_intermediate_size",
                "share_expert_dim", "shared_intermediate_size", "n_shared_experts", "num_shared_experts",
            )  # fmt: skip


def _edges(arch: Architecture, origins: _Origins) -> Iterator[Row]:
    yield origins.row(_("Vocabulary"), f"{arch.vocab:,}", "vocab_size", "n_vocab")
    tied = _("the embedding again (tied)") if arch.tied else _("its own matrix")
    yield origins.row(_("Output layer"), tied, "tie_word_embeddings")
    if arch.max_position is not None:
        longest = _("%(n)s tokens") % {"n": f"{arch.max_position:,}"}
        yield origins.row(
            _("Longest context"), longest, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len",
            "model_max_length", "max_target_positions",
        )  # fmt: skip
    else:
        yield Row(_("Longest context"), _("unknown"), UNSAID)
    for tower in arch.towers:
        count = f"{tower.parameters / 1e9:,.2f}B"
        yield origins.row(_("Encoder beside it: %(name)s") % {"name": tower.name}, count, "vision_config")
    config = origins.config or {}
    if isinstance(config.get(FILE_FORMAT), str):
        known = STORED_TYPES.get(config[FILE_FORMAT])
        stored = wording.FORMATS.get(known, known) if known else config[FILE_FORMAT]
        yield Row(_("Stored in"), str(stored), READ)
    elif origins.read != TYPED:
        stored = wording.FORMATS.get(arch.stored_format, arch.stored_format)
        yield origins.row(_("Stored in"), stored, "quantization_config", "torch_dtype", "dtype")


def _counted(arch: Architecture, config: Mapping[str, Any] | None) -> Iterator[Row]:
    counted = parameter_count(arch)
    yield Row(_("Parameters"), f"{counted / 1e9:,.3f}B", WORKED)
    stated = (config or {}).get(PARAMETERS_STATED)
    if isinstance(stated, int) and stated > 0:
        share = f"{(counted - stated) / stated:+.1%}".replace("-", "\u2212")
        told = _("%(stated)s; the shapes give %(share)s") % {
            "stated": f"{stated / 1e9:,.3f}B",
            "share": share,
        }
        yield Row(_("Parameters as stated"), told, TYPED)
    if arch.has_experts:
        yield Row(
            _("Parameters a token passes through"), f"{active_parameter_count(arch) / 1e9:,.3f}B", WORKED
        )
    if arch.draft_parameters:
        yield Row(_("Draft layers, not loaded for serving"), f"{arch.draft_parameters / 1e9:,.3f}B", WORKED)


def _warnings(arch: Architecture, config: Mapping[str, Any] | None) -> Iterable[str]:
    given = config or {}
    if arch.not_sized is not None:
        yield _("It is counted, but not sized yet: %(kind)s.") % {"kind": said(arch.not_sized)}
    if given.get(CAME_FROM) == "numbers":
        yield _(
            "Sized as a plain decoder of these numbers. A model with latent attention, states or cross-attention "
            "is another: give its config.json."
        )
    stated = given.get(PARAMETERS_STATED)
    if isinstance(stated, int) and stated > 0:
        share = parameter_count(arch) / stated - 1
        if abs(share) > DIFFERENCE_TOLD:
            yield _(
                "The shapes add up to %(share)s of the parameters stated. One of the numbers is not as it is."
            ) % {"share": f"{1 + share:.1%}"}
    stored = given.get(FILE_FORMAT)
    if isinstance(stored, str) and stored not in STORED_TYPES:
        yield _(
            "The file is stored in %(format)s, which is not sized yet. Choose the format to size it in."
        ) % {"format": stored[:20]}
    if "quantization_config" in arch.left_aside:
        yield _(
            "Its quantisation mixes formats and was not understood: it is sized in 16 bits unless you choose."
        )
