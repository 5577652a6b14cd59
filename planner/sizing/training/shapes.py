"""The usual shape of a decoder of which only the number of parameters is known."""

from __future__ import annotations

from functools import lru_cache

from planner.sizing.architecture import Architecture, Dense, LayerGroup, Moe, parameter_count
from planner.sizing.mixers import Grouped

HEAD_DIM = 128
LAYERS_BY_HIDDEN = (
    (768, 12), (1024, 24), (1536, 24), (2048, 24), (2560, 32), (3072, 28), (4096, 32), (5120, 40), (6144, 48),
    (7168, 60), (8192, 80), (12288, 96), (16384, 126), (20480, 128), (25600, 160),
)  # fmt: skip
"""Hidden sizes and layers of the usual models from GPT-2 over GPT-3 and Llama to models of 10¹² parameters
(GPT-3, arXiv 2005.14165, table 2.1; Llama 3, arXiv 2407.21783, table 3)."""
SMALL, SMALL_VOCABULARY, VOCABULARY = 2e9, 50_000, 128_000
GATED_RATIO = 3.5
PLAIN_RATIO = 4.0
SOURCE = "usual shape for the number of parameters"


def _dense(
    hidden: int, layers: int, vocab: int, intermediate: int, gated: bool, grouped: bool, tied: bool
) -> Architecture:
    heads = max(1, hidden // (HEAD_DIM if hidden >= 2048 else 64))
    kv = max(1, heads // 4) if grouped else heads
    attention = Grouped(heads=heads, kv_heads=kv, head_dim=hidden // heads)
    return Architecture(
        id=SOURCE, family="decoder", hidden=hidden, vocab=vocab, tied=tied,
        layers=(LayerGroup(count=layers, attention=attention, mlp=Dense(intermediate=intermediate, gated=gated)),),
        source=SOURCE,
    )  # fmt: skip


@lru_cache(maxsize=512)
def usual(
    parameters: float, vocab: int | None = None, *, gated: bool = True, tied: bool | None = None
) -> Architecture:
    """A dense decoder of about this many parameters: the nearest usual hidden size, layers that fit the count.

    Correct within one layer's parameters. Grouped-query attention where the MLP is gated; models below two billion
    parameters have a small vocabulary and use it twice, as small models do.
    """
    small = parameters < SMALL
    vocab = vocab or (SMALL_VOCABULARY if small else VOCABULARY)
    tied = small if tied is None else tied
    ratio = GATED_RATIO if gated else PLAIN_RATIO

    def made(hidden: int, layers: int) -> Architecture:
        width = int(round(ratio * hidden / 128) * 128)
        return _dense(hidden, layers, vocab, width, gated, gated and hidden >= 3072, tied)

    hidden, _ = min(LAYERS_BY_HIDDEN, key=lambda pair: abs(parameter_count(made(*pair)) - parameters))
    one = parameter_count(made(hidden, 2)) - parameter_count(made(hidden, 1))
    fitted = max(1, round((parameters - (parameter_count(made(hidden, 1)) - one)) / one))
    found = made(hidden, fitted)
    return found.model_copy(update={"id": _name(found)})


def _name(arch: Architecture) -> str:
    """A name that is the same in every language: "decoder-6.94B"."""
    return f"decoder-{parameter_count(arch) / 1e9:.3g}B"


EXPERTS_PER_TOKEN = 8


@lru_cache(maxsize=512)
def usual_with_experts(parameters: float, active: float, vocab: int = 150_000) -> Architecture:
    """A decoder with routed experts, eight a token, of about this many parameters in all and active ones."""
    base = usual(active, vocab)
    group = base.layers[0]
    hidden, layers = base.hidden, group.count
    intermediate = group.mlp.intermediate if isinstance(group.mlp, Dense) else hidden
    each = max(64, round(intermediate / EXPERTS_PER_TOKEN / 64) * 64)
    spare = max(0.0, parameters - (parameter_count(base) - layers * 3 * hidden * intermediate))
    experts = max(EXPERTS_PER_TOKEN, round(spare / (layers * 3 * hidden * each)))
    mlp = Moe(experts=experts, experts_per_token=EXPERTS_PER_TOKEN, intermediate=each)
    found = base.model_copy(update={"layers": (group.model_copy(update={"mlp": mlp}),)})
    return found.model_copy(update={"id": _name(found)})
