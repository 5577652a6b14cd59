"""Filters of the catalog's lists. A value that makes no sense is told at its field and filters nothing."""

from __future__ import annotations

from datetime import date
from typing import Any, ClassVar, cast

from django import forms
from django.db.models import Case, ExpressionWrapper, F, FloatField, Q, Value, When
from django.db.models.functions import Cast, NullIf
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog import wording
from catalog.facts import RATES, AcceleratorFact, accelerators
from catalog.models import MachineType, OfferQuerySet, Provider, Region, Tier

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


WORDS = {
    "vendor": wording.VENDORS,
    "device_class": wording.DEVICE_CLASSES,
    "form_factor": wording.FORM_FACTORS,
}
"""What the choices of a filter are called, where that is not how they are written."""


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
    bandwidth_min = forms.FloatField(
        label=_("Bandwidth at least, GB/s"), required=False, min_value=0, max_value=1_000_000
    )
    link = forms.ChoiceField(label=_("Link"), required=False)
    form_factor = forms.ChoiceField(label=_("Form factor"), required=False)
    runs = forms.ChoiceField(label=_("Matrix units run"), required=False)

    def offer_choices(self) -> None:
        facts = accelerators().values()
        for name in ("vendor", "device_class", "memory_family", "form_factor"):
            values = sorted({value for fact in facts if (value := getattr(fact, name))})
            self.choose(name, [(value, wording.say(WORDS.get(name, {}), value)) for value in values])
        links = sorted({fact.link for fact in facts} - {"unknown"})
        self.choose("link", [(link, wording.say(wording.LINKS, link)) for link in links])
        self.choose("runs", [(rate, wording.RATES[rate]) for rate in RATES])

    def found(self) -> list[AcceleratorFact]:
        """The accelerators asked for, sorted; unknown figures come last whichever way it runs."""
        kept = [fact for fact in accelerators().values() if self._fits(fact)]
        name, downwards = self.sort
        figure = self.SORTS[name]
        known = sorted((fact for fact in kept if figure(fact) is not None), key=figure, reverse=downwards)
        return known + [fact for fact in kept if figure(fact) is None]

    def _fits(self, fact: AcceleratorFact) -> bool:
        for name in ("vendor", "device_class", "memory_family", "form_factor", "link"):
            if (value := self.value(name)) and getattr(fact, name) != value:
                return False
        minimum = self.value("memory_min")
        if minimum and (fact.memory_bytes is None or fact.memory_bytes < minimum * 1024**3 * 0.97):
            # 3 %: a card sold with 80 GB reports a little less.
            return False
        bandwidth = self.value("bandwidth_min")
        if bandwidth and (fact.bandwidth_bytes_per_s is None or fact.bandwidth_bytes_per_s < bandwidth * 1e9):
            return False
        if (rate := self.value("runs")) and rate not in fact.dense_rates:
            return False
        words = (self.value("q") or "").casefold().split()
        text = " ".join((fact.name, *fact.aliases, fact.architecture)).casefold()
        return all(word in text for word in words)


def past_day() -> forms.DateField:
    return forms.DateField(
        label=_("Prices as of"), required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
    )  # fmt: skip


class WithPastDay(FilterForm):
    """A form with a field ``on`` for a day that has come."""

    today: date | None

    def clean_on(self) -> date | None:
        """Nothing for today: what holds now is what lists show anyway."""
        on: date | None = self.cleaned_data["on"]
        if on is not None and self.today is not None and on > self.today:
            raise forms.ValidationError(_("This day has not come yet."))
        return None if on == self.today else on


class TermsForm(WithPastDay):
    """Of which region a provider's storage and transfer are shown, and of which day."""

    region = forms.ChoiceField(label=_("Region"), required=False)
    on = past_day()

    def __init__(self, *args: Any, regions: list[str], today: date) -> None:
        self.regions, self.today = regions, today
        super().__init__(*args)

    def offer_choices(self) -> None:
        everywhere = [] if self.regions and "" not in self.regions else [("", _("everywhere else"))]
        named = [(region, region) for region in self.regions if region]
        cast(forms.ChoiceField, self.fields["region"]).choices = [*everywhere, *named]

    @property
    def region_shown(self) -> str:
        """The one asked for; else what holds everywhere, else the first that there is."""
        return self.value("region") or next(iter(self.regions), "")


class OfferFilterForm(WithPastDay):
    SORTS: ClassVar[dict[str, Any]] = {
        "price": "usd_per_hour", "gpu_price": "usd_per_gpu_hour", "gpus": "gpu_count",
        "provider": "provider_id",
        "sku": "sku", "region": "region", "accelerator": "accelerator_id", "age": "confirmed_on",
        "vcpu": "vcpu", "ram": "ram_gib", "bandwidth": "bandwidth_per_usd", "memory": "memory_per_usd",
    }  # fmt: skip
    DEFAULT_SORT = "-age"

    q = forms.CharField(label=_("Search"), required=False, max_length=100)
    kind = forms.ChoiceField(
        label=pgettext_lazy("filter of offers", "Machines"),
        required=False,
        choices=[("", _("with GPUs")), ("cpu", _("without GPUs")), ("all", _("all"))],
    )
    provider = forms.ChoiceField(label=_("Provider"), required=False)
    accelerator = forms.CharField(label=_("Accelerator"), required=False, max_length=60)
    region = forms.CharField(label=_("Region or place"), required=False, max_length=60)
    tier = forms.ChoiceField(label=_("Tier"), required=False, choices=[ANY, *Tier.choices])
    gpus = forms.IntegerField(label=_("GPUs at least"), required=False, min_value=1, max_value=10_000)
    disk_min = forms.FloatField(
        label=_("Local disk at least, GiB"), required=False, min_value=0, max_value=10_000_000
    )
    storage_min = forms.FloatField(
        label=_("Network storage at least, MB/s"), required=False, min_value=0, max_value=10_000_000
    )
    on = past_day()
    comparable = forms.ChoiceField(
        label=_("Comparable"), required=False, choices=[ANY, ("yes", _("yes")), ("no", _("no"))]
    )

    def __init__(
        self, *args: Any, providers: list[Provider], today: date | None = None, **kwargs: Any
    ) -> None:
        self.providers = providers
        self.today = today
        super().__init__(*args, **kwargs)

    def offer_choices(self) -> None:
        self.choose("provider", [(one.slug, one.name) for one in self.providers])

    def found(self, offers: OfferQuerySet) -> OfferQuerySet:
        """The offers asked for, in no order: what is counted."""
        if self.value("kind") == "cpu":
            offers = offers.filter(not_comparable="no_accelerator")
        elif self.value("kind") != "all":
            offers = offers.with_accelerator()
        for name in ("provider", "tier"):
            if value := self.value(name):
                offers = offers.filter(**{name: value})
        if value := self.value("region"):
            offers = offers.filter(Q(region__iexact=value) | _in_places(value))
        if value := self.value("accelerator"):
            offers = offers.filter(accelerator__name__iexact=value)
        if value := self.value("gpus"):
            offers = offers.filter(gpu_count__gte=value)
        for name, column, unit in (
            ("disk_min", "disk_gib", 1),
            ("storage_min", "storage_bytes_per_s_baseline", 1e6),
        ):
            if value := self.value(name):
                offers = offers.filter(_of_sizes(**{f"{column}__gte": value * unit}))
        if value := self.value("comparable"):
            offers = offers.comparable() if value == "yes" else offers.exclude(not_comparable="")
        for word in (self.value("q") or "").split()[:8]:
            # Providers and cards are few: their names are looked up there, not joined to every offer.
            offers = offers.filter(
                Q(sku__icontains=word)
                | Q(region__icontains=word)
                | Q(accelerator_as_written__icontains=word)
                | Q(
                    provider__in=list(
                        Provider.objects.filter(name__icontains=word).values_list("pk", flat=True)
                    )
                )
                | Q(accelerator__in=[name for name in accelerators() if word.casefold() in name.casefold()])
                | _in_places(word)
            )
        return offers

    def ordered(self, offers: OfferQuerySet) -> OfferQuerySet:
        """Sorted as asked, unknown figures last whichever way it runs."""
        name, downwards = self.sort
        column = self.SORTS[name]
        dollars = "usd_on" if self.value("on") else "usd_per_hour"
        figure = per_price(dollars).get(column)
        if figure is not None:
            offers = offers.annotate(**{column: figure})
        sorted_by = F(dollars if column == "usd_per_hour" else column)
        order = sorted_by.desc(nulls_last=True) if downwards else sorted_by.asc(nulls_last=True)
        return offers.order_by(order, F(dollars).asc(nulls_last=True), "pk")

    def apply(self, offers: OfferQuerySet) -> OfferQuerySet:
        return self.ordered(self.found(offers))


def _of_sizes(**wish: float) -> Q:
    """Offers of sizes of which a figure is known and large enough; what is not known does not meet a wish."""
    fitting = MachineType.objects.filter(**wish)
    sizes = Q(pk__in=[])
    for provider in fitting.order_by().values_list("provider_id", flat=True).distinct():
        sizes |= Q(provider=provider, sku__in=fitting.filter(provider=provider).order_by().values("sku"))
    return sizes


def _in_places(words: str) -> Q:
    """Offers in regions whose place, in either language, is meant."""
    named = Region.objects.filter(
        Q(name__icontains=words)
        | Q(name_ja__icontains=words)
        | Q(city__iexact=words)
        | Q(country__iexact=words)
    )
    codes: dict[str, list[str]] = {}
    for provider, code in named.values_list("provider_id", "code"):
        codes.setdefault(provider, []).append(code)
    places = Q(pk__in=[])
    for provider, regions in codes.items():
        places |= Q(provider=provider, region__in=regions)
    return places


_FLOAT = FloatField()
_DEVICES = NullIf(F("gpu_count") * F("gpu_fraction"), Value(0), output_field=_FLOAT)


def _where_comparable(figure: Any) -> Case:
    """Of offers whose price is not the machine's, or whose card is not certain, nothing is worked out."""
    return Case(When(not_comparable="", then=figure), default=None, output_field=_FLOAT)


def per_price(dollars: str) -> dict[str, Any]:
    """Figures by the column of the price in dollars, worked out for sorting only where they are asked for."""
    each = ExpressionWrapper(Cast(dollars, _FLOAT) / _DEVICES, output_field=_FLOAT)
    return {
        "usd_per_gpu_hour": each,
        "bandwidth_per_usd": _where_comparable(F("accelerator__bandwidth_bytes_per_s") / each),
        "memory_per_usd": _where_comparable(Cast("accelerator__memory_bytes", _FLOAT) / each),
    }
