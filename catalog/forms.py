"""Filters of the catalog's lists. A value that makes no sense is told at its field and filters nothing."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from django import forms
from django.db.models import Case, DecimalField, F, Q, Value, When
from django.db.models.functions import NullIf
from django.utils.translation import gettext_lazy as _

from catalog import wording
from catalog.facts import RATES, AcceleratorFact, accelerators
from catalog.models import ExchangeRate, OfferQuerySet, Provider, Tier

ANY: tuple[str, Any] = ("", _("any"))


class FilterForm(forms.Form):
    """A form read from the query string; ``value`` gives a field's clean value or nothing."""

    SORTS: ClassVar[dict[str, Any]] = {}
    DEFAULT_SORT: ClassVar[str] = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", "f_%s")
        super().__init__(*args, **kwargs)
        self.offer_choices()
        self.is_valid()

    def offer_choices(self) -> None:
        """Fill the choices that come from facts or from the database."""

    def choose(self, name: str, choices: list[tuple[str, Any]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = [ANY, *choices]

    def value(self, name: str) -> Any:
        return self.cleaned_data.get(name)

    @property
    def sort(self) -> tuple[str, bool]:
        """Sort column from the allow-list, and whether it runs downwards."""
        asked = str(self.data.get("sort", ""))
        name = asked.removeprefix("-")
        if name not in self.SORTS:
            asked, name = self.DEFAULT_SORT, self.DEFAULT_SORT.removeprefix("-")
        return name, asked.startswith("-")


class AcceleratorFilterForm(FilterForm):
    SORTS: ClassVar[dict[str, Any]] = {
        "name": lambda fact: fact.name.casefold(),
        "memory": lambda fact: fact.memory_bytes,
        "bandwidth": lambda fact: fact.bandwidth_bytes_per_s,
        "fp16": lambda fact: fact.dense_rates.get("fp16"),
        "bf16": lambda fact: fact.dense_rates.get("bf16"),
        "fp8": lambda fact: fact.dense_rates.get("fp8"),
        "int8": lambda fact: fact.dense_rates.get("int8"),
        "link": lambda fact: fact.link_bytes_per_s,
        "power": lambda fact: fact.tdp_w,
        "year": lambda fact: fact.year,
    }
    DEFAULT_SORT = "-bandwidth"

    q = forms.CharField(label=_("Name"), required=False, max_length=100)
    vendor = forms.ChoiceField(label=_("Vendor"), required=False)
    device_class = forms.ChoiceField(label=_("Class"), required=False)
    memory_family = forms.ChoiceField(label=_("Memory kind"), required=False)
    memory_min = forms.FloatField(
        label=_("Memory at least, GiB"), required=False, min_value=0, max_value=10_000
    )
    form_factor = forms.ChoiceField(label=_("Form factor"), required=False)
    runs = forms.ChoiceField(label=_("Matrix units run"), required=False)

    def offer_choices(self) -> None:
        facts = accelerators().values()
        for name in ("vendor", "device_class", "memory_family", "form_factor"):
            values = sorted({value for fact in facts if (value := getattr(fact, name))})
            words = wording.DEVICE_CLASSES if name == "device_class" else {}
            self.choose(name, [(value, wording.say(words, value)) for value in values])
        self.choose("runs", [(rate, wording.RATES[rate]) for rate in RATES])

    def found(self) -> list[AcceleratorFact]:
        """The accelerators asked for, sorted; unknown figures come last whichever way it runs."""
        kept = [fact for fact in accelerators().values() if self._fits(fact)]
        name, downwards = self.sort
        figure = self.SORTS[name]
        known = sorted((fact for fact in kept if figure(fact) is not None), key=figure, reverse=downwards)
        return known + [fact for fact in kept if figure(fact) is None]

    def _fits(self, fact: AcceleratorFact) -> bool:
        for name in ("vendor", "device_class", "memory_family", "form_factor"):
            if (value := self.value(name)) and getattr(fact, name) != value:
                return False
        minimum = self.value("memory_min")
        if minimum and (fact.memory_bytes is None or fact.memory_bytes < minimum * 1024**3 * 0.97):
            # 3 %: a card sold with 80 GB reports a little less.
            return False
        if (rate := self.value("runs")) and rate not in fact.dense_rates:
            return False
        words = (self.value("q") or "").casefold().split()
        text = " ".join((fact.name, *fact.aliases, fact.architecture)).casefold()
        return all(word in text for word in words)


class OfferFilterForm(FilterForm):
    SORTS: ClassVar[dict[str, Any]] = {
        "price": "usd_per_hour", "gpu_price": "usd_per_gpu_hour", "gpus": "gpu_count",
        "provider": "provider_id",
        "sku": "sku", "region": "region", "accelerator": "accelerator_id", "age": "confirmed_on",
        "vcpu": "vcpu",
        "ram": "ram_gib",
    }  # fmt: skip
    DEFAULT_SORT = "-age"

    q = forms.CharField(label=_("Search"), required=False, max_length=100)
    provider = forms.ChoiceField(label=_("Provider"), required=False)
    accelerator = forms.CharField(label=_("Accelerator"), required=False, max_length=60)
    region = forms.CharField(label=_("Region"), required=False, max_length=60)
    tier = forms.ChoiceField(label=_("Tier"), required=False, choices=[ANY, *Tier.choices])
    gpus = forms.IntegerField(label=_("GPUs at least"), required=False, min_value=1, max_value=10_000)
    comparable = forms.ChoiceField(
        label=_("Comparable"), required=False, choices=[ANY, ("yes", _("yes")), ("no", _("no"))]
    )

    def __init__(self, *args: Any, providers: list[Provider], **kwargs: Any) -> None:
        self.providers = providers
        super().__init__(*args, **kwargs)

    def offer_choices(self) -> None:
        self.choose("provider", [(one.slug, one.name) for one in self.providers])

    def apply(self, offers: OfferQuerySet, rates: dict[str, ExchangeRate]) -> OfferQuerySet:
        for name, column in (("provider", "provider"), ("tier", "tier"), ("region", "region__iexact")):
            if value := self.value(name):
                offers = offers.filter(**{column: value})
        if value := self.value("accelerator"):
            offers = offers.filter(accelerator__name__iexact=value)
        if value := self.value("gpus"):
            offers = offers.filter(gpu_count__gte=value)
        if value := self.value("comparable"):
            offers = offers.comparable() if value == "yes" else offers.exclude(not_comparable="")
        for word in (self.value("q") or "").split()[:8]:
            offers = offers.filter(
                Q(sku__icontains=word)
                | Q(region__icontains=word)
                | Q(provider__name__icontains=word)
                | Q(accelerator_as_written__icontains=word)
                | Q(accelerator__name__icontains=word)
            )
        offers = _with_usd(offers, rates)
        name, downwards = self.sort
        sorted_by = F(self.SORTS[name])
        order = sorted_by.desc(nulls_last=True) if downwards else sorted_by.asc(nulls_last=True)
        return offers.order_by(order, F("usd_per_gpu_hour").asc(nulls_last=True), "pk")


def _with_usd(offers: OfferQuerySet, rates: dict[str, ExchangeRate]) -> OfferQuerySet:
    """Prices by the hour in dollars, so that sorting compares like with like; others sort as unknown."""
    amount = F("current_price__amount")
    digits = DecimalField(max_digits=20, decimal_places=6)
    cases = [When(current_price__unit="hour", current_price__currency="USD", then=amount)]
    cases += [
        When(
            current_price__unit="hour",
            current_price__currency=currency,
            then=amount / Value(rate.per_usd, digits),
        )
        for currency, rate in rates.items()
        if currency != "USD"
    ]
    offers = offers.annotate(usd_per_hour=Case(*cases, default=None, output_field=digits))
    devices = NullIf(F("gpu_count") * F("gpu_fraction"), Value(0), output_field=digits)
    return offers.annotate(usd_per_gpu_hour=Case(
        When(gpu_count__isnull=False, then=F("usd_per_hour") / devices), default=None, output_field=digits
    ))  # fmt: skip
