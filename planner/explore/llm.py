"""Of a served LLM: memory against context by format, latency and throughput against requests at once."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from planner import wording
from planner.charts import Axis
from planner.explore.alone import Alone
from planner.explore.shapes import Curve, Curves, Mark
from planner.sizing import memory, support
from planner.sizing.llm import LlmSetting
from planner.sizing.memory import Need
from planner.sizing.options import altered
from planner.sizing.placement import Placement
from planner.sizing.quantities import GIB, Estimate
from planner.sizing.serving import OperatingPoint, operate
from planner.sizing.workload import ServingWorkload

CONTEXTS = (1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576)
FORMATS = ("bf16", "fp8", "int4_awq", "gguf_q8_0", "gguf_q4_k_m")
BEYOND = 2.0
"""How far past what there is room for, as a multiple, a curve is followed."""


def _placed(alone: Alone) -> tuple[LlmSetting, Placement] | None:
    found = alone.placed()
    if found is None or not isinstance(found[0], LlmSetting) or not isinstance(found[1], Placement):
        return None
    return found[0], found[1]


def memory_by_context(alone: Alone) -> Curves | None:
    """Memory needed on each device for the requests one replica holds, by weights format, over the context."""
    found = _placed(alone)
    if found is None:
        return None
    setting, placed = found
    held = placed.held
    device, layout = placed.machine.device, placed.layout
    longest = setting.arch.max_position or CONTEXTS[-1]
    contexts = [tokens for tokens in CONTEXTS if tokens <= longest]
    runs = support.weights_formats(setting.runtime, device, setting.arch, setting.workload.kv_format)
    own = setting.workload.weights_format
    formats = [name for name in dict.fromkeys((own, *FORMATS)) if name in runs or name == own][:4]
    curves = []
    usable = 0
    for name in formats:
        points = []
        for tokens in contexts:
            workload = setting.workload.model_copy(
                update={
                    "weights_format": name,
                    "input_tokens": setting.workload.input_tokens.model_copy(
                        update={"typical": tokens, "maximum": tokens}
                    ),
                    "output_tokens": setting.workload.output_tokens.model_copy(
                        update={"typical": 1, "maximum": 1}
                    ),
                }
            )
            need = Need.of(workload, concurrency=placed.held_each)
            split = memory.split(setting.arch, need, setting.runtime, device, layout)
            usable = split.usable_bytes if name == own else usable
            points.append((float(tokens), split.needed_bytes / GIB))
        curves.append(Curve(wording.FORMATS.get(name, name), tuple(points)))
    curves = _within(curves, usable / GIB)
    if len(curves[0].points) < 2:
        return None
    contexts = [int(tokens) for tokens, _needed in curves[0].points]
    asked = setting.workload.input_tokens.maximum + setting.workload.output_tokens.maximum
    return Curves(
        title=_("Memory against context, by weights format"),
        x=Axis(_("Context of every request"), _("tokens")),
        y=Axis(_("Needed on each GPU"), "GiB"),
        curves=tuple(curves),
        across=(Mark(usable / GIB, _("usable")),),
        upright=(Mark(float(asked), _("longest asked")),) if contexts[0] <= asked <= contexts[-1] else (),
        caption=_(
            "For the %(held)s requests that one replica holds at peak, all of this length, split over GPUs as it is. "
            "Above the line nothing fits."
        ) % {"held": f"{held:,.0f}"},
    )  # fmt: skip


def _within(curves: list[Curve], usable_gib: float) -> list[Curve]:
    """The same up to the first context that no format has room for by far: beyond, nothing is to be seen."""
    needed = zip(*([y for _x, y in curve.points] for curve in curves), strict=True)
    beyond = [number for number, found in enumerate(needed) if min(found) > BEYOND * usable_gib]
    end = max(2, beyond[0] + 1) if beyond else len(curves[0].points)
    return [Curve(curve.name, curve.points[:end]) for curve in curves]


def _under_load(alone: Alone) -> tuple[LlmSetting, Placement, list[tuple[float, OperatingPoint]]] | None:
    """One replica at rising loads, up to beyond the requests it takes at once."""
    found = _placed(alone)
    if found is None:
        return None
    setting, placed = found
    most = max(2.0, placed.point.batch_cap * BEYOND)
    loads = sorted({1.0, *(float(round(most ** (step / 14))) for step in range(1, 15))})
    points: list[Any] = [altered(placed.point, load="concurrency", load_value=load) for load in loads]
    at_loads = operate(points, setting.constants)
    return setting, placed, list(zip(loads, at_loads, strict=True))


def _at_peak(setting: LlmSetting, placed: Placement) -> tuple[Mark, ...]:
    """Where one replica stands at the peak."""
    here = placed.peak.requests_in_flight
    return (Mark(here, _("peak now")),) if here >= 1 else ()


def _curve(name: str, found: list[tuple[float, Estimate | None]], scale: float = 1.0) -> Curve | None:
    known = [(load, estimate) for load, estimate in found if estimate is not None]
    if len(known) < 2:
        return None
    return Curve(
        name,
        tuple((load, estimate.value * scale) for load, estimate in known),
        tuple((estimate.low * scale, estimate.high * scale) for _load, estimate in known),
    )


def latency_by_load(alone: Alone) -> Curves | None:
    """TPOT of one replica over the requests in flight, with the target."""
    return _latency(alone, "tpot_s", "TPOT", 1000.0, "ms")


def first_token_by_load(alone: Alone) -> Curves | None:
    """TTFT of one replica over the requests in flight, with the target."""
    return _latency(alone, "ttft_s", "TTFT", 1.0, "s")


def _latency(alone: Alone, name: str, shown: str, factor: float, unit: str) -> Curves | None:
    found = _under_load(alone)
    if found is None:
        return None
    setting, placed, points = found
    curve = _curve(shown, [(load, getattr(point, name)) for load, point in points], factor)
    if curve is None:
        return None
    targets = setting.workload.targets if isinstance(setting.workload, ServingWorkload) else None
    asked = getattr(targets, name, None)
    target = (
        (
            Mark(
                asked * factor,
                _("target %(value)s %(unit)s") % {"value": f"{asked * factor:,.6g}", "unit": unit},
            ),
        )
        if isinstance(asked, int | float)
        else ()
    )
    return Curves(
        title=_("%(name)s against requests at once") % {"name": shown},
        x=Axis(_("Requests at once on one replica"), ""),
        y=Axis(shown, unit),
        curves=(curve,),
        across=target,
        upright=_at_peak(setting, placed),
        caption=_(
            "Mean with its 80 %% range. Beyond %(cap)s requests, which is what this replica runs at once with the "
            "headroom kept free, further ones wait outside."
        ) % {"cap": f"{placed.point.batch_cap:,.0f}"},
    )  # fmt: skip


def throughput_by_load(alone: Alone) -> Curves | None:
    """Output of one replica over the requests in flight."""
    found = _under_load(alone)
    if found is None:
        return None
    setting, placed, points = found
    curve = _curve(
        _("output"),
        [
            (load, point.output_tokens_per_s if point.output_tokens_per_s.value > 0 else None)
            for load, point in points
        ],
    )
    if curve is None:
        return None
    return Curves(
        title=_("Throughput against requests at once"),
        x=Axis(_("Requests at once on one replica"), ""),
        y=Axis(_("Output of one replica"), "tokens/s"),
        curves=(curve,),
        upright=_at_peak(setting, placed),
        caption=_("Mean with its 80 %% range. Where the curve bends, more requests only wait longer.") % {},
    )
