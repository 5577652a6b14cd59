"""A page that turns the questions round: what one machine holds of a model, and which models it holds."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from catalog.facts import accelerators
from planner import figures, kinds, memory_bar, reach, reach_words, refusals, wording
from planner.fields import NumberField, WordField
from planner.forms import WorkbenchForm
from planner.sizing.architecture import ModelError
from planner.sizing.inverse import Reach
from planner.sizing.runtime import UnknownRuntime
from planner.typed_numbers import number_text

UNPROCESSABLE = 422
OWN = ("accelerator", "count", "at_once", "context")
SHOWN = ("model", "runtime", "version", "weights", "kv")
"""Fields of the workbench that stand on this page; the others of a link are carried along."""
DEFAULTS = {"accelerator": "H100-SXM5", "count": "1"}
TOKENS_MAXIMUM = 10_000_000


class MachineForm(forms.Form):
    """The machine, and the two figures of which one is asked for and the other given."""

    use_required_attribute = False
    accelerator = WordField(label=gettext_lazy("Accelerator"), max_length=80)
    count = NumberField(label=gettext_lazy("GPUs in the machine"), integer=True)
    at_once = NumberField(
        label=gettext_lazy("Users at once"), integer=True, unit=gettext_lazy("requests"),
        help_text=gettext_lazy("Each at the full context. Empty: the workload's peak."),
    )  # fmt: skip
    context = NumberField(
        label=gettext_lazy("Context of each"), integer=True, unit=gettext_lazy("tokens"),
        help_text=gettext_lazy("Input and output together. Empty: the workload's longest."),
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        for name, most in (
            ("count", reach.COUNT_MAXIMUM),
            ("at_once", 1_000_000),
            ("context", TOKENS_MAXIMUM),
        ):
            value = found.get(name)
            if value is not None and not 1 <= value <= most:
                self.add_error(name, _("From 1 to %(most)s is accepted.") % {"most": f"{most:,}"})
        return found


def _machine_form(given: QueryDict) -> MachineForm:
    data = {name: given.get(name, DEFAULTS.get(name, "")) for name in OWN}
    for name in ("count", "at_once", "context"):
        data[name] = number_text(data[name])
    return MachineForm(data, auto_id="f-%s")


@require_safe
def inverse(request: HttpRequest) -> HttpResponse:
    """The form with its answer; what is refused is said at its field, and nothing typed is lost."""
    at = timezone.now()
    workload_form = WorkbenchForm.from_query(_served(request.GET), at=at)
    machine_form = _machine_form(request.GET)
    is_valid = workload_form.is_valid() & machine_form.is_valid()
    found = _answer(workload_form, machine_form) if is_valid else None
    carried = [
        (key, value) for key, value in QueryDict(workload_form.query_string()).items() if key not in SHOWN
    ]
    context = {
        "form": workload_form,
        "machine": machine_form,
        "shown": [workload_form[name] for name in SHOWN],
        "others": {name: errors for name, errors in workload_form.errors.items() if name not in SHOWN},
        "carried": carried,
        "accelerators": sorted(accelerators()),
        "answer": _view(found, request) if found is not None else None,
        "back": f"{reverse('planner:workbench')}?{workload_form.query_string()}",
    }
    status = 200 if found is not None else UNPROCESSABLE
    return render(request, "planner/inverse.html", context, status=status)


def _served(given: QueryDict) -> QueryDict:
    """The same query; of another kind of work than serving only what serving knows too."""
    kind = kinds.BY_NAME.get(given.get("kind", "") or kinds.DEFAULT.key)
    if kind is not None and kind.is_served:
        return given
    changed = given.copy()
    changed.pop("kind", None)
    return changed


def _answer(form: WorkbenchForm, machine: MachineForm) -> reach.Answer | None:
    """None where model, engine or accelerator is refused, which is then said at its field."""
    asked = machine.cleaned_data
    try:
        return reach.answer(
            form.workload(),
            accelerator=asked["accelerator"] or DEFAULTS["accelerator"],
            count=asked["count"] or 1,
            users=asked["at_once"],
            tokens=asked["context"],
        )
    except UnknownRuntime as refused:
        form.add_error("version", refusals.unknown_version(refused.params))
    except ModelError as refused:
        message = refusals.model_refusal(
            getattr(refused, "code", ""), getattr(refused, "params", {}), str(refused)
        )
        form.add_error("model", ValidationError(message.replace("%", "%%")))
    except reach.UnknownAccelerator as refused:
        machine.add_error("accelerator", _unknown(refused))
    return None


def _unknown(refused: reach.UnknownAccelerator) -> str:
    if refused.unknown_memory:
        return _("Memory or bandwidth of this accelerator is unknown, so nothing is worked out for it.")
    if refused.nearest:
        names = wording.listed(refused.nearest[:6])
        return _("This name stands for several accelerators: %(names)s.") % {"names": names}
    return _("No accelerator of this name is known.")


def _view(found: reach.Answer, request: HttpRequest) -> dict[str, Any]:
    return {
        "it": found,
        "refused": found.refused,
        "context": _context(found),
        "users": _users(found),
        "models": [
            {
                "it": one,
                "parameters": f"{figures.significant(one.parameters / 1e9)}B",
                "format": wording.FORMATS.get(one.weights_format, one.weights_format),
                "users": f"{one.users:,}",
                "link": _with_model(request, one.model, one.weights_format),
            }
            for one in found.largest_models
        ],
    }


def _with_model(request: HttpRequest, model: str, weights_format: str) -> str:
    changed = request.GET.copy()
    changed["model"], changed["weights"] = model, weights_format
    for name in ("config", "revision"):
        changed.pop(name, None)
    return f"{reverse('planner:inverse')}?{changed.urlencode()}"


def _context(found: reach.Answer) -> dict[str, Any] | None:
    one = found.longest_context
    if one is None:
        return None
    sentence = ngettext(
        "%(tokens)s tokens for %(users)s user at once", "%(tokens)s tokens for %(users)s users at once", found.users
    )  # fmt: skip
    said = sentence % {"tokens": f"{one.value:,}", "users": f"{found.users:,}"}
    return {"said": said if one.value else _("Not even one token fits."), **_reach(one)}


def _users(found: reach.Answer) -> dict[str, Any] | None:
    one = found.most_users
    if one is None:
        return None
    sentence = ngettext(
        "%(users)s user at once with %(tokens)s tokens each", "%(users)s users at once with %(tokens)s tokens each",
        one.value,
    )  # fmt: skip
    said = sentence % {"tokens": f"{found.tokens:,}", "users": f"{one.value:,}"}
    return {"said": said if one.value else _("Not one user fits."), **_reach(one)}


def _reach(one: Reach) -> dict[str, Any]:
    return {
        "it": one,
        "bar": memory_bar.memory_bar(one.split),
        "limit": reach_words.LIMITS[one.limited_by]
        if one.value or one.limited_by != "memory"
        else reach_words.LIMITS["too_much"],
        "layout": reach_words.layout(one.layout, one.replicas),
    }
