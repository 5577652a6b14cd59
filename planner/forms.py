"""The workbench form: the only place that knows the query string, what each field means and where it goes.

Limits are those of the workload document: values go through its validation, and what it refuses is shown at
the field in the field's own unit.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote, urlencode

from django import forms
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter, ValidationError

from planner import stored_format
from planner.fields import (
    ChoiceField,
    NamesField,
    NumberField,
    SheetField,
    TickField,
    WordField,
    plain_digits,
    ungrouped,
)
from planner.models import PastedConfig
from planner.options import CURRENCIES, KV, OBJECTIVES, RUNTIMES, TIERS, WEIGHTS, Choices, variants
from planner.sizing.workload import BatchWorkload, ModelReference, ServingWorkload, Workload
from planner.stored_format import AS_STORED

_ADAPTER: TypeAdapter[ServingWorkload | BatchWorkload] = TypeAdapter(Workload)

SERVING, BATCH = "llm_serving", "llm_batch"
SERVING_ONLY = ("users", "users_peak", "rate", "ttft", "tpot")
BATCH_ONLY = ("requests", "deadline")
VIEW_FIELDS = ("sort", "page", "columns")
DIGEST = r"[0-9a-f]{64}"


class WorkbenchForm(forms.Form):
    """State of the workbench. Made by ``from_query``; ``workload()`` after ``is_valid()``."""

    template_name = "planner/_fields.html"
    use_required_attribute = False

    # What runs
    kind = ChoiceField(
        label=_("Kind"), path=("kind",), default=SERVING, widget=forms.RadioSelect(),
        choices=((SERVING, _("Interactive")), (BATCH, _("Batch"))),
    )  # fmt: skip
    model = WordField(
        label=_("Model"), path=("model", "id"), default="meta-llama/Llama-3.1-8B-Instruct",
        help_text=_("Type a part of the name; the list shows what is known."), pattern=r"[\w][\w.\-/ ]*",
    )  # fmt: skip
    revision = WordField(
        label=_("Revision"), path=("model", "revision"), max_length=64, pattern=r"[\w.\-]+",
        help_text=_("Commit or tag, kept with the plan."),
    )  # fmt: skip
    config = WordField(path=(), max_length=64, pattern=DIGEST, widget=forms.HiddenInput())
    runtime = ChoiceField(label=_("Runtime"), path=("runtime", "name"), default="vllm", choices=RUNTIMES)
    version = WordField(
        label=_("Version"), path=("runtime", "version"), max_length=20, pattern=r"[\w.]+",
        help_text=_("Empty: the newest we have constants for."),
    )  # fmt: skip
    weights = ChoiceField(
        label=_("Weights format"), path=("weights_format",), default=AS_STORED,
        choices=((AS_STORED, _("as stored")), *WEIGHTS),
    )  # fmt: skip
    kv = ChoiceField(label=_("KV cache format"), path=("kv_format",), default="auto", choices=KV)

    # How much
    in_ = NumberField(
        label=_("Input, typical"),
        path=("input_tokens", "typical"),
        default="1000",
        integer=True,
        unit=_("tokens"),
    )
    in_max = NumberField(
        label=_("Input, longest"),
        path=("input_tokens", "maximum"),
        default="8000",
        integer=True,
        unit=_("tokens"),
    )
    out = NumberField(
        label=_("Output, typical"),
        path=("output_tokens", "typical"),
        default="300",
        integer=True,
        unit=_("tokens"),
    )
    out_max = NumberField(
        label=_("Output, longest"),
        path=("output_tokens", "maximum"),
        default="1000",
        integer=True,
        unit=_("tokens"),
    )
    users = NumberField(
        label=_("At once, average"), path=("concurrency", "average"), default="8", unit=_("requests")
    )
    users_peak = NumberField(
        label=_("At once, peak"), path=("concurrency", "peak"), default="32", unit=_("requests")
    )
    rate = NumberField(
        label=_("Or: requests per second"), path=("request_rate_per_s",), unit="1/s",
        help_text=_("If given, it wins over the average at once."),
    )  # fmt: skip
    requests = NumberField(
        label=_("Requests in the job"),
        path=("request_count",),
        default="100000",
        integer=True,
        unit=_("requests"),
    )
    deadline = NumberField(
        label=_("Done within"), path=("deadline_hours",), default="12", blank="none", unit=_("h"),
        help_text=_("Empty: no deadline."),
    )  # fmt: skip
    hit = NumberField(
        label=_(
            "Prompt already in the prefix cache"
        ), path=("prefix_hit_fraction",), default="0", scale=100, unit="%",
        help_text=_("Share of input tokens that repeat a cached beginning."),
    )  # fmt: skip

    # Targets
    ttft = NumberField(
        label=_("First token within"), path=("targets", "ttft_s"), default="1", blank="none", unit="s",
        help_text=_("TTFT at peak, mean. Empty: no target."),
    )  # fmt: skip
    tpot = NumberField(
        label=_(
            "Then one token every"
        ), path=("targets", "tpot_s"), default="50", blank="none", scale=1000, unit="ms",
        help_text=_("TPOT at peak, mean. Empty: no target."),
    )  # fmt: skip
    objective = ChoiceField(label=_("Rank by"), path=("objective",), default="cost", choices=OBJECTIVES)
    headroom = NumberField(
        label=_("Memory headroom"), path=("headroom_fraction",), default="10", scale=100, unit="%",
        help_text=_("Left free of what the runtime may use."),
    )  # fmt: skip
    budget = NumberField(
        label=_("Budget per month"), path=("budget_per_month",), help_text=_("In the currency chosen above."),
    )  # fmt: skip

    # When and where
    hours = NumberField(label=_("Hours a day"), path=("schedule", "hours_per_day"), default="24", unit=_("h"))
    days = NumberField(
        label=_("Days a month"), path=("schedule", "days_per_month"), default="30.4167", unit=_("d")
    )
    starts = NumberField(label=_("Starts a day"), path=("schedule", "starts_per_day"), default="1")
    replicas = NumberField(label=_("Min. replicas"), path=("replicas_minimum",), default="1", integer=True)
    interruptible = ChoiceField(
        label=_("Interruption"), path=("interruptible",), default="auto", widget=forms.RadioSelect(),
        choices=(("auto", _("as the kind")), ("no", _("not affordable")), ("yes", _("affordable"))),
        help_text=_("Serving: not affordable. Batch: affordable, it can restart."),
    )  # fmt: skip
    tiers = NamesField(label=_("Terms"), path=("filters", "tiers"), default="on_demand", choices=TIERS)
    providers = NamesField(label=_("Providers"), path=("filters", "providers"))
    regions = NamesField(
        label=_("Regions"), path=("filters", "regions"), typed=True,
        help_text=_("Region codes, cities or two-letter countries, with commas. Empty: any."),
    )  # fmt: skip
    include = NamesField(label=_("Only these accelerators"), path=("filters", "include"), typed=True)
    exclude = NamesField(label=_("Not these accelerators"), path=("filters", "exclude"), typed=True)
    complete = TickField(label=_("Complete prices only"), path=("filters", "complete_prices_only"))
    age = NumberField(
        label=_("Prices at most this old"), path=("filters", "price_age_days_maximum"), integer=True, unit=_("d"),
    )  # fmt: skip
    gpus = NumberField(
        label=_("GPUs in a machine, at most"), path=("filters", "gpu_count_maximum"), integer=True
    )
    estimates = TickField(
        label=_("Also prices that the source only estimates"), path=("filters", "estimated_prices")
    )
    price_max = NumberField(label=_("At most per month"), path=("filters", "price_per_month_maximum"))
    currency = ChoiceField(label=_("Currency"), path=("currency",), default="USD", choices=CURRENCIES)

    # What is kept
    storage = NumberField(label=_("Kept on disk"), path=("storage_gb",), default="100", unit="GB")
    egress = NumberField(
        label=_("Sent out per month"), path=("egress_gb_per_month",), default="50", unit="GB"
    )

    # Engine options
    batched = NumberField(
        label="max_num_batched_tokens", path=("runtime", "options", "max_num_batched_tokens"), integer=True, unit=_(
            "tokens"
        ),
    )  # fmt: skip
    seqs = NumberField(label="max_num_seqs", path=("runtime", "options", "max_num_seqs"), integer=True)
    utilization = NumberField(
        label="gpu_memory_utilization", path=("runtime", "options", "gpu_memory_utilization"),
        help_text=_("Empty: the engine's own default for its version."),
    )  # fmt: skip

    # How the table is looked at; no part of the workload
    sort = WordField(max_length=40, widget=forms.HiddenInput())
    page = WordField(max_length=6, widget=forms.HiddenInput())
    columns = NamesField(typed=True)

    @classmethod
    def from_query(
        cls,
        query: QueryDict | None = None,
        *,
        at: datetime | None = None,
        choices: Choices | None = None,
    ) -> Self:
        """A bound form from a query string or a post; what is absent has its default, what is unknown is ignored.

        A digest in ``query`` stands for a pasted configuration; with ``at``, only if it is still kept then.
        """
        given = query if query is not None else QueryDict()
        data: MultiValueDict[str, str] = MultiValueDict()
        for name, field in cls.base_fields.items():
            key = _key(name)
            default = getattr(field, "default", "")
            if key in given:
                values = given.getlist(key)
                if isinstance(field, NumberField):
                    values = [ungrouped(plain_digits(value).strip()) for value in values]
                data.setlist(key, values)
            else:
                data.setlist(key, [default] if default else [])
        if "users" not in given and given.get("users_peak", "").strip():
            data["users"] = _average_below(str(data["users_peak"]), str(data["users"]))
        return cls(data, at=at, choices=choices)

    def __init__(
        self, *args: Any, at: datetime | None = None, choices: Choices | None = None, **kwargs: Any
    ) -> None:
        kwargs.setdefault("auto_id", "f-%s")
        super().__init__(*args, **kwargs)
        self.at = at
        self.pasted: dict[str, Any] | None = None
        self.stored: str | None = None
        """What the chosen model's checkpoint is stored in, once the form was checked and the model is known."""
        self._workload: ServingWorkload | BatchWorkload | None = None
        if choices is not None:
            self._offer(choices)

    def _offer(self, choices: Choices) -> None:
        providers = self.fields["providers"]
        providers.known = {slug: slug for slug, _name in choices.providers}  # type: ignore[attr-defined]
        providers.widget.choices = list(choices.providers)
        for name in ("include", "exclude"):
            self.fields[name].known = {item: item for item in choices.accelerators}  # type: ignore[attr-defined]
            self.fields[name].members = variants  # type: ignore[attr-defined]
        self.fields["regions"].known = dict(choices.regions)  # type: ignore[attr-defined]

    def add_prefix(self, field_name: str) -> str:
        return _key(super().add_prefix(field_name))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("config"):
            self.pasted = (
                PastedConfig.find(cleaned["config"], self.at) if self.at else _kept(cleaned["config"])
            )
        if cleaned.get("config") and self.pasted is None:
            self.add_error(
                "model",
                _(
                    "The pasted config.json of this link is not kept any more. Paste it again or name a "
                    "model."
                ),
            )
        for small, large in (("in_", "in_max"), ("out", "out_max"), ("users", "users_peak")):
            self._check_order(cleaned, small, large)
        if "kind" not in cleaned:
            return cleaned
        self._find_stored(cleaned)
        try:
            workload = _ADAPTER.validate_python(self._document(cleaned))
        except ValidationError as refused:
            self._place(refused)
        else:
            self._workload = None if self.errors else workload
        return cleaned

    def _find_stored(self, cleaned: dict[str, Any]) -> None:
        if "model" in self.errors:
            return
        document = self._document(cleaned)
        try:
            model = ModelReference.model_validate(document.get("model", {}))
        except ValidationError:
            return  # Said at its field when the whole document is read.
        self.stored = stored_format.of(model)
        weights = self.fields["weights"]
        known = [(AS_STORED, stored_format.label(self.stored)), *WEIGHTS]
        weights.widget.choices = known

    def _check_order(self, cleaned: dict[str, Any], small: str, large: str) -> None:
        if cleaned.get("kind") == BATCH and small == "users":
            return
        low = cleaned.get(small)
        high = cleaned.get(large)
        low = float(self.fields[small].default) if low is None else low  # type: ignore[attr-defined]
        high = float(self.fields[large].default) if high is None else high  # type: ignore[attr-defined]
        if small in self.errors or large in self.errors or low <= high:
            return
        self.add_error(
            large,
            _("“%(large)s” (%(high)s) is below “%(small)s” (%(low)s): it must be at least as much.")
            % {
                "large": self.fields[large].label,
                "small": self.fields[small].label,
                "high": f"{high:g}",
                "low": f"{low:g}",
            },
        )

    def _document(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The workload document of what was typed; defaults are left to the document."""
        kind = cleaned["kind"]
        document: dict[str, Any] = {}
        for name, field in self.fields.items():
            path = field.path  # type: ignore[attr-defined]
            value = cleaned.get(name)
            if not path or value is None or value in ("", ()):
                continue
            if name in (SERVING_ONLY if kind == BATCH else BATCH_ONLY):
                continue
            if name == "weights" and value == AS_STORED:
                if self.stored in (None, stored_format.SIXTEEN_BITS):
                    continue
                value = self.stored
            if name == "interruptible":
                if value == "auto":
                    continue
                value = value == "yes"
            if isinstance(field, TickField) and not value:
                continue
            place = document
            for step in path[:-1]:
                place = place.setdefault(step, {})
            place[path[-1]] = value
        if cleaned.get("config") and self.pasted is not None:
            document["model"] = {"config": self.pasted}
        return document

    def _place(self, refused: ValidationError) -> None:
        """Each refusal of the document at the field it is about."""
        by_path = {field.path: name for name, field in self.fields.items() if field.path}  # type: ignore[attr-defined]
        for error in refused.errors(include_url=False):
            steps = tuple(str(step) for step in error["loc"] if step not in (SERVING, BATCH))
            name = next(
                (by_path[steps[:length]] for length in range(len(steps), 0, -1) if steps[:length] in by_path),
                None,
            )
            if (name in self.errors) if name is not None else self.errors:
                continue
            self.add_error(name, self._message(error, name))

    def _message(self, error: Any, name: str | None) -> Any:
        context = error.get("ctx") or {}
        field = self.fields[name] if name else None
        value = self.data.get(self.add_prefix(name), "") if name else ""
        if isinstance(field, SheetField):
            for key, sentence in LIMIT_SENTENCES.items():
                if key in context:
                    limit = field.shown_limit(context[key])
                    return sentence % {"value": value[:60], "limit": limit, "unit": field.unit}
        return _("This value is not accepted: %(reason)s") % {"reason": error["msg"]}

    @property
    def families(self) -> dict[str, tuple[str, ...]]:
        """Names in the filters that were read as several accelerators, with what they were read as."""
        return {
            word: names
            for name in ("include", "exclude")
            for word, names in self.fields[name].read_as.items()  # type: ignore[attr-defined]
        }

    def workload(self) -> ServingWorkload | BatchWorkload:
        """What was asked for. Only after ``is_valid()``."""
        if self._workload is None:
            raise ValueError("the form is not valid")
        return self._workload

    def query_string(self, *, without: tuple[str, ...] = (), **changes: str | None) -> str:
        """The canonical query: fields in the form's order, defaults left out, changes made (None = default)."""
        pairs: list[tuple[str, str]] = []
        for name, field in self.fields.items():
            key = _key(name)
            if key in without or name in without:
                continue
            default = getattr(field, "default", "")
            if key in changes:
                changed = changes[key]
                text = default if changed is None else changed
            elif isinstance(field, NamesField):
                text = ",".join(
                    dict.fromkeys(
                        part.strip()
                        for value in self._typed(key)
                        for part in value.split(",")
                        if part.strip()
                    )
                )
                text = text or default
            elif isinstance(field, TickField):
                text = "1" if field.clean(self.data.get(key)) else ""
            else:
                text = str(self.data.get(key, "") or "").strip()
                if not text and getattr(field, "blank", None) is None:
                    text = default
                if isinstance(field, NumberField) and field.says_default(text):
                    text = default
            if text != default:
                pairs.append((key, text))
        return urlencode(pairs, quote_via=quote, safe=",/")

    def _typed(self, key: str) -> list[str]:
        """Every value that was typed under this key."""
        return self.data.getlist(key) if isinstance(self.data, MultiValueDict) else []

    def is_changed(self, *names: str) -> bool:
        """Whether any of these fields differs from its default: a folded group with news stands open."""
        query = QueryDict(self.query_string())
        return any(_key(name) in query for name in names) or any(name in self.errors for name in names)


def _average_below(peak: str, average: str) -> str:
    """The average where only a peak was given: the usual one, and never more than the peak."""
    try:
        return peak if 0 < float(peak) < float(average) else average
    except ValueError:
        return average  # Said at the field of the peak.


def _kept(digest: str) -> dict[str, Any] | None:
    kept = PastedConfig.objects.filter(digest=digest).first()
    return json.loads(kept.text) if kept else None


def _key(name: str) -> str:
    """Name in the query of a field whose Python name ends in an underscore."""
    return name.rstrip("_")


LIMIT_SENTENCES = {
    "ge": _("%(value)s is too small: at least %(limit)s %(unit)s is accepted."),
    "gt": _("%(value)s is too small: more than %(limit)s %(unit)s is accepted."),
    "le": _("%(value)s is too large: at most %(limit)s %(unit)s is accepted."),
    "lt": _("%(value)s is too large: less than %(limit)s %(unit)s is accepted."),
    "max_length": _("This is longer than the %(limit)s characters that are accepted."),
}
