"""The operations checklist in words, for page and paper alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from planner.figures import money_known
from planner.sizing.results import Comparison
from reports import checklist as lists
from reports.checklist import Checklist, Layout


@dataclass(frozen=True)
class EntryView:
    code: str
    label: str
    text: str
    done: bool


@dataclass(frozen=True)
class SectionView:
    title: str
    entries: tuple[EntryView, ...]


@dataclass(frozen=True)
class ServiceView:
    name: str
    data_class: str
    place: str
    transfer: str
    retention: str
    rule: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.name, self.data_class, self.place, self.transfer, self.retention, self.rule)


@dataclass(frozen=True)
class LayoutView:
    workload: str
    name: str
    machines: str
    availability: str
    downtime: str
    monthly: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.workload, self.name, self.machines, self.availability, self.downtime, self.monthly)


@dataclass(frozen=True)
class ChecklistView:
    """Ready to be shown; ``targets`` are the inputs, ``verdicts`` what they mean."""

    sections: tuple[SectionView, ...]
    services: tuple[ServiceView, ...]
    targets: tuple[tuple[str, str], ...]
    verdicts: tuple[str, ...]
    layouts: tuple[LayoutView, ...]
    questions: tuple[str, ...]
    open_count: int


def section(code: str) -> str:
    return {
        "combination": _("Driver, framework and runtime"),
        "access": _("Who may read, and who may change"),
        "checkpoints": _("Checkpoints"),
        "backup": _("Backup and restore"),
        "monitoring": _("Monitoring"),
    }[code]


def entry(code: str) -> str:
    return {
        "driver": _("GPU and driver"),
        "framework": _("Framework, with CUDA or ROCm"),
        "runtime": _("Runtime and version"),
        "verified_where": _("Where this combination was verified"),
        "cpu_governor": _("CPU governor"),
        "roll_back": _("How to roll back, and to what"),
        "models_read": _("Models: who reads"),
        "models_change": _("Models: who changes"),
        "data_read": _("Data: who reads"),
        "data_change": _("Data: who changes"),
        "logs_read": _("Logs: who reads"),
        "logs_change": _("Logs: who changes"),
        "admin_read": _("Admin interface: who reads"),
        "admin_change": _("Admin interface: who changes"),
        "checkpoint_serving": _("Weights for serving: which revision, and where"),
        "checkpoint_resuming": _("Full state for resuming: what it holds, and where"),
        "backup_what": _("What is backed up"),
        "backup_where": _("Where the backup lies"),
        "monitor_gpus": pgettext("to be watched", "GPUs"),
        "monitor_nodes": _("Nodes"),
        "monitor_links": _("Links"),
        "monitor_jobs": _("Progress of jobs"),
    }[code]


def service_name(name: str) -> str:
    """A name that was typed, or one of those that a kind of workload brings."""
    return {
        "@requests": _("Requests and answers"),
        "@weights": _("Storage of weights"),
        "@logs": _("Logs and metrics"),
        "@training_data": _("Training data"),
        "@checkpoints": _("Storage of checkpoints"),
        "@job_inputs": _("Inputs of the job"),
        "@job_results": _("Results of the job"),
    }.get(name, name)


def service_heads() -> tuple[str, ...]:
    return (
        _("Service"),
        _("Data class"),
        _("Place"),
        _("Transfer path"),
        _("Retention"),
        _("Rule"),
    )


def layout_heads() -> tuple[str, ...]:
    return (
        _("Workload"),
        _("Layout"),
        _("Machines"),
        _("Availability"),
        _("Away, hours a month"),
        _("per month"),
    )


def view(checklist: Checklist, comparisons: Sequence[tuple[str, Comparison]]) -> ChecklistView:
    sections = tuple(
        SectionView(
            section(code),
            tuple(
                EntryView(each, entry(each), checklist.entries.get(each, ""), each in checklist.done)
                for each in codes
            ),
        )
        for code, codes in lists.ENTRIES
    )
    found = [(name, lists.layouts(comparison, checklist)) for name, comparison in comparisons]
    return ChecklistView(
        sections=sections,
        services=tuple(
            ServiceView(
                service_name(each.name), each.data_class, each.place, each.transfer, each.retention, each.rule
            )
            for each in checklist.services
        ),
        targets=_targets(checklist),
        verdicts=_verdicts(checklist, [each for _name, each in found]),
        layouts=tuple(_layout(name, each) for name, some in found for each in some),
        questions=checklist.questions,
        open_count=sum(1 for each in lists.ENTRY_CODES if each not in checklist.done),
    )


def _layout(workload: str, layout: Layout) -> LayoutView:
    is_redundant = layout.machines > layout.needed
    return LayoutView(
        workload=workload,
        name=_("redundant") if is_redundant else _("no spare"),
        machines=str(layout.machines),
        availability=percent(layout.availability),
        downtime=f"{layout.downtime_hours:.2f}",
        monthly=_("unknown")
        if layout.monthly is None
        else money_known(layout.monthly, layout.currency, complete=layout.is_complete),
    )


def percent(share: float) -> str:
    """With as many nines as it has, and never rounded up to 100 %."""
    for decimals in (2, 3, 4, 5, 6):
        text = f"{share * 100:.{decimals}f}"
        if float(text) < 100:
            return f"{text} %"
    return "> 99.999999 %"


def _hours(value: float | None) -> str:
    return _("not given") if value is None else f"{value:g} h"


def _share(value: float | None) -> str:
    return _("not given") if value is None else f"{value * 100:.6g} %"


def _targets(checklist: Checklist) -> tuple[tuple[str, str], ...]:
    tested = checklist.restore_tested_on
    return (
        (_("Availability asked for"), _share(checklist.availability_target)),
        (_("Availability of one machine"), _share(checklist.machine_availability)),
        (_("Back after a failure within"), _hours(checklist.recovery_hours)),
        (_("Data that may be lost"), _hours(checklist.tolerated_loss_hours)),
        (_("Backup every"), _hours(checklist.backup_interval_hours)),
        (_("Restore tested on"), tested.isoformat() if tested else _("never")),
        (_("The tested restore took"), _hours(checklist.restore_hours)),
    )


def _verdicts(checklist: Checklist, found: Sequence[Sequence[Layout]]) -> tuple[str, ...]:
    restore = {
        "kept": _("The tested restore keeps the recovery time."),
        "missed": _("The tested restore takes longer than the recovery time asked for."),
        "not_tested": _("No restore was tested yet: the recovery time is a hope."),
        "no_target": _("No recovery time was asked for, so the restore is held against nothing."),
    }
    loss = {
        "kept": _("The backup interval keeps what may be lost."),
        "missed": _("Backups are further apart than what may be lost."),
        "not_tested": _("How often backups are made is not written down."),
        "no_target": _("How much data may be lost was not said."),
    }
    told = [restore[lists.restore_verdict(checklist)], loss[lists.loss_verdict(checklist)]]
    available = {
        "one": _("The layout without a spare keeps the availability asked for."),
        "redundant": _(
            "Without a spare the availability asked for is missed; the redundant layout keeps it."
        ),
        "none": _("Even the redundant layout misses the availability asked for."),
        "unknown": _(
            "The availability of one machine is not known, so no layout can be held against the target."
        ),
        "no_target": _("No availability was asked for."),
    }
    verdicts = dict.fromkeys(lists.availability_verdict(each, checklist) for each in found)
    told += [available[each] for each in verdicts]
    if any(found):
        told.append(
            _("Machines are taken to fail independently; a cause that takes several at once makes it worse.")
        )
    return tuple(told)
