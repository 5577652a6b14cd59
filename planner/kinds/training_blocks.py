"""What a candidate's page says of a training run: the run, its split, checkpoints, host."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from planner.figures import Figure, duration, gib, given, ranged, significant
from planner.kinds import run_blocks
from planner.kinds.frame import Block, Cell
from planner.kinds.host_block import (
    Rows,
    derived,
    host_rows,
    local_disk,
    network_per_gpu,
    offered,
    rate,
    size,
    span,
    storage_read,
    value,
)
from planner.sizing.results import Candidate

RECOMPUTED = {0: gettext_lazy("none"), 1: gettext_lazy("selective"), 2: gettext_lazy("full")}

NOTED = 0.001
"""A share below this is told as less than it, never as 0."""


def blocks(candidate: Candidate) -> tuple[Block, ...]:
    return (
        _run_block(candidate),
        _split_block(candidate),
        _checkpoint_block(candidate),
        _host_block(candidate),
        *run_blocks.blocks(candidate),
    )


def _run_block(candidate: Candidate) -> Block:
    def row(label: str, name: str, unit: str) -> tuple[str, tuple[Cell, ...]]:
        found = candidate.figures.get(name)
        if found is None:
            return label, (_("unknown"),)
        shown = duration(found.estimate, name) if unit == "s" else ranged(found.estimate, unit, name)
        return label, (shown,)

    mfu = candidate.figures.get("mfu")
    return Block(
        title=_("The run"),
        heads=(_("predicted"),),
        rows=(
            row(_("One step"), "train_step_s", "s"),
            row(_("Steps per hour"), "steps_per_hour", "1/h"),
            row(_("Samples per second"), "samples_per_s", "1/s"),
            row(_("Tokens per second"), "tokens_per_s", "tok/s"),
            (_("Steps"), (derived(candidate, "steps", "{:,.0f}".format),)),
            row(_("Hours"), "run_hours", "h"),
            row(_("Days"), "run_days", "d"),
            row(_("GPU hours"), "gpu_hours", "h"),
            (_("MFU"), (_percent(mfu.value, mfu.low, mfu.high) if mfu else _("unknown"),)),
        ),
        note=_(
            # xgettext:no-python-format
            "With an 80 % range. MFU counts 6 operations a parameter and token, 4 where weights are frozen; of the "
            "parameters those that a token is multiplied with: neither the table of input embeddings nor experts that "
            "are not chosen, but the output head."
        ),
    )


def _percent(found: float, low: float | None, high: float | None) -> Figure:
    ends = ""
    if low is not None and high is not None:
        ends = f"{low * 100:.0f}–{min(100.0, high * 100):.0f} %"
    return Figure(f"{found * 100:.0f}", "%", ends, "mfu")


def _split_block(candidate: Candidate) -> Block:
    layout = candidate.layout

    def chosen(name: str) -> Figure:
        return given(f"{round(value(candidate, name) or 0):,}")

    def counted(name: str) -> Cell:
        return derived(candidate, name, "{:,.0f}".format)

    context = max(1, round(value(candidate, "context_parallel") or 0))
    trained = counted("trainable")
    if "trainable" not in candidate.derivations and candidate.derivations:
        trained = chosen("trainable")
    return Block(
        title=_("How it is split"),
        heads=(_("chosen"),),
        rows=(
            (_("GPUs"), (counted("gpu_count"),)),
            (_("Data parallel"), (Figure(f"{layout.dp // context:,}", opens="data_parallel"),)),
            (_("ZeRO stage"), (chosen("zero_stage"),)),
            (_("Tensor parallel"), (given(f"{layout.tp}"),)),
            (_("Pipeline parallel"), (given(f"{layout.pp}"),)),
            (_("Context parallel"), (given(f"{context}"),)),
            (_("Expert parallel"), (given(f"{layout.ep}"),)),
            (_("Micro-batch, samples"), (chosen("micro_batch"),)),
            (_("Accumulation"), (counted("accumulation"),)),
            (_("Effective batch, samples"), (counted("effective_batch"),)),
            (_("Recomputation"), (str(RECOMPUTED.get(round(value(candidate, "recompute") or 0), "–")),)),
            (_("Trained parameters"), (trained,)),
        ),
        note=_("Accumulation raises the effective batch only: neither memory nor tokens per second."),
    )


def _checkpoint_block(candidate: Candidate) -> Block:
    def share(found: float) -> str:
        return f"{found * 100:.1f} %" if not 0 < found < NOTED else f"< {NOTED * 100:.1f} %"

    rows: Rows = [
        (_("A checkpoint holds"), (derived(candidate, "checkpoint_bytes", size),)),
        (_("Written in"), (derived(candidate, "checkpoint_write_s", span),)),
        (_("Written every"), (derived(candidate, "checkpoint_interval_s", span),)),
        (_("Written in the whole run"), (derived(candidate, "checkpoint_written_bytes", size),)),
        (_("Restored in"), (derived(candidate, "restore_s", span),)),
        (_("Failures expected in the run"), (derived(candidate, "interruptions", significant),)),
        (_("Time lost to failures and writing"), (derived(candidate, "wasted_fraction", share),)),
    ]
    for label, name, form in (
        (_("Interruptions expected on spot machines"), "spot_interruptions", significant),
        (_("Done twice on spot machines"), "rework_fraction", share),
        (_("Spare machines advised"), "spare_machines", "{:.0f}".format),
    ):
        if name in candidate.figures:
            rows.append((label, (derived(candidate, name, form),)))
    return Block(
        title=_("Checkpoints and failures"),
        heads=(_("estimated"),),
        rows=tuple(rows),
        note=_("Interval by Daly. A run resumes on as many machines as before, with the same checkpoint."),
    )


def _host_block(candidate: Candidate) -> Block:
    def memory(found: float) -> str:
        return f"{gib(found)} GiB"

    rows: Rows = host_rows(candidate)
    rows += [
        (_("of it shared memory"), (derived(candidate, "host_shared_memory_bytes", memory), "")),
        (_("Page cache that helps"), (derived(candidate, "host_page_cache_bytes", memory), "")),
        (
            _("Samples per second"),
            (
                derived(candidate, "samples_per_s", significant),
                derived(candidate, "loader_samples_per_s", significant),
            ),
        ),
        (
            _("Storage, read"),
            (derived(candidate, "storage_read_bytes_per_s", rate), offered(storage_read(candidate), rate)),
        ),
        (
            _("Storage, checkpoints written"),
            (
                derived(candidate, "checkpoint_write_bytes_per_s", rate),
                offered(storage_read(candidate), rate),
            ),
        ),
        (_("Local disks"), ("", local_disk(candidate))),
    ]
    if candidate.machines_each > 1:
        known = network_per_gpu(candidate)
        assumed = derived(
            candidate,
            "fabric_offered_bytes_per_s",
            lambda found: _("%(rate)s assumed") % {"rate": rate(found)},
        )
        rows.append(
            (
                _("Network between machines, each GPU"),
                (
                    derived(candidate, "fabric_bytes_per_s", rate),
                    offered(known, rate) if known else assumed,
                ),
            )
        )
    return Block(
        title=_("Host, storage, network"),
        heads=(_("needed"), _("this offer")),
        rows=tuple(rows),
        note=_(
            "What the offer has is what its provider says of this size; where it says nothing the network is assumed."
        ),
    )
