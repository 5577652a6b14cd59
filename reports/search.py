"""One search over what a reader may see: models, accelerators, providers, regions, machines; own plans and quotes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, urlencode

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import User
from catalog.facts import AcceleratorFact, accelerators
from catalog.identify import identify
from catalog.models import Offer, PrivateOffer, Provider, Region
from planner import architectures, presenters
from reports.models import Plan

TEXT_MAXIMUM = 200
PER_GROUP = 6
MACHINE_LETTERS_MINIMUM = 3
"""Names of machines are looked through in the database: one or two letters would find thousands."""

Reader = User | AnonymousUser


@dataclass(frozen=True)
class Hit:
    """One thing that was found: where it is, what it is called, and what tells it from others."""

    address: str
    title: str
    detail: str = ""


@dataclass(frozen=True)
class Group:
    """Hits of one kind. ``more`` leads to all of them where there are more than are shown."""

    key: str
    label: str
    hits: tuple[Hit, ...]
    more: str = ""


@dataclass(frozen=True)
class Page:
    """A page of the product, by its title and by what people call the things on it."""

    name: str
    title: str | Promise
    words: str = ""
    """In both languages: who reads one often knows the other's terms."""


PAGES: tuple[Page, ...] = (
    Page("planner:workbench", gettext_lazy("Workbench"), "workload size sizing compare ワークロード 見積"),
    Page("planner:model", gettext_lazy("Import a model"), "config json gguf safetensors upload own モデル"),
    Page(
        "planner:inverse",
        gettext_lazy("What fits this machine"),
        "context longest length users concurrency how many reach fit gpu 文脈 コンテキスト 最長 同時 利用者",
    ),
    Page(
        "planner:hosting",
        gettext_lazy("Ways to pay and to host"),
        "managed per token tokens price api serverless reserved upfront buy own purchase break-even cost "
        "マネージド トークン単価 従量 予約 購入 損益分岐",
    ),
    Page(
        "planner:evidence",
        gettext_lazy("How well the speeds hold"),
        "accuracy error evidence measured measurements benchmark validation 精度 誤差 実測 検証",
    ),
    Page("catalog:accelerators", gettext_lazy("Accelerators"), "gpu card hardware カード"),
    Page("catalog:side_by_side", gettext_lazy("Accelerators side by side"), "gpu compare 比較"),
    Page(
        "catalog:offers",
        gettext_lazy("Offers"),
        "price prices rent cloud instance machine 価格 料金 インスタンス",
    ),
    Page("catalog:sources", gettext_lazy("Price sources"), "prices refresh fetched age 出典 更新"),
    Page("reports:plans", gettext_lazy("Plans"), "saved quotation pdf share 見積書 共有"),
)


def search(text: str, reader: Reader, at: datetime) -> list[Group]:
    """Groups with at least one hit, the reader's own plans first. Nothing is found for an empty text."""
    asked = unicodedata.normalize("NFKC", text[:TEXT_MAXIMUM]).strip()
    if not asked:
        return []
    groups = (
        _plans(asked, reader), _quotes(asked, reader, at), _models(asked), _accelerators(asked),
        _providers(asked), _regions(asked), _machines(asked), _pages(asked),
    )  # fmt: skip
    return [group for group in groups if group.hits]


def _query(**values: str) -> str:
    return urlencode(values, quote_via=quote, safe="/")


def _group(key: str, label: str, hits: Iterable[Hit], more: str = "") -> Group:
    found = tuple(hits)
    return Group(key, label, found[:PER_GROUP], more if len(found) > PER_GROUP else "")


def _plans(text: str, reader: Reader) -> Group:
    label = _("Plans")
    if not isinstance(reader, User):
        return Group("plans", label, ())
    found = Plan.objects.of(reader).live().matching(text).select_related("team")[: PER_GROUP + 1]
    hits = (Hit(reverse("reports:plan", args=[plan.slug]), plan.title, plan.team.name) for plan in found)
    return _group("plans", label, hits, f"{reverse('reports:plans')}?{_query(q=text)}")


def _quotes(text: str, reader: Reader, at: datetime) -> Group:
    """Private offers of the teams the reader is a member of now; nobody else's."""
    label = _("Quotes of your teams")
    if not isinstance(reader, User):
        return Group("quotes", label, ())
    own = PrivateOffer.objects.standing(at).filter(team__memberships__user=reader)
    found = own.filter(
        Q(provider_name__icontains=text) | Q(sku__icontains=text) | Q(reference__icontains=text)
    ).select_related("team")[: PER_GROUP + 1]
    hits = (
        Hit(reverse("catalog:quote", args=[one.pk]), f"{one.provider_name} {one.sku}", one.team.name)
        for one in found
    )
    return _group("quotes", label, hits, reverse("catalog:quotes"))


def _models(text: str) -> Group:
    return _group("models", _("Models"), (_model(entry) for entry in architectures.search(text, PER_GROUP)))


def _model(entry: architectures.Entry) -> Hit:
    is_sized = entry.not_sized is None
    page = "planner:workbench" if is_sized else "planner:model"
    detail = presenters.model_label(
        "", architectures.counted_parameters(entry), entry.attention_kind, entry.licence, is_sized=is_sized
    )
    return Hit(f"{reverse(page)}?{_query(model=entry.id)}", entry.id, detail)


def _accelerators(text: str) -> Group:
    facts = accelerators()
    meant = identify(text)
    names = [meant.canonical] if meant.canonical else list(meant.candidates)
    words = text.casefold().split()
    names += [fact.name for fact in facts.values() if _is_named(fact, words)]
    hits = (_accelerator(facts[name]) for name in dict.fromkeys(names) if name in facts)
    return _group(
        "accelerators", _("Accelerators"), hits, f"{reverse('catalog:accelerators')}?{_query(q=text)}"
    )


def _is_named(fact: AcceleratorFact, words: list[str]) -> bool:
    named = " ".join((fact.name, *fact.aliases)).casefold()
    return all(word in named for word in words)


def _accelerator(fact: AcceleratorFact) -> Hit:
    memory = f"{fact.memory_gb:g} GB" if fact.memory_gb is not None else ""
    bandwidth = f"{fact.bandwidth_bytes_per_s / 1e9:,.0f} GB/s" if fact.bandwidth_bytes_per_s else ""
    detail = " · ".join(part for part in (fact.vendor, memory, bandwidth) if part)
    return Hit(reverse("catalog:accelerator", args=[fact.name]), fact.name, detail)


def _providers(text: str) -> Group:
    named = Provider.objects.filter(Q(name__icontains=text) | Q(slug__icontains=text))[: PER_GROUP + 1]
    address = reverse("catalog:offers")
    hits = (Hit(f"{address}?{_query(provider=one.slug)}", one.name, one.country) for one in named)
    return _group("providers", _("Providers"), hits, address)


def _regions(text: str) -> Group:
    """Places of regions, each once: what providers call their regions there is the detail."""
    named = Region.objects.filter(
        Q(code__icontains=text) | Q(name__icontains=text) | Q(name_ja__icontains=text) | Q(city__iexact=text)
    ).select_related("provider")
    places: dict[str, list[Region]] = {}
    for region in named[:200]:
        is_code = text.casefold() in region.code.casefold()
        places.setdefault(region.code if is_code else region.city or region.name or region.code, []).append(
            region
        )
    address = reverse("catalog:offers")
    hits = (
        Hit(f"{address}?{_query(region=place)}", place, _where(regions)) for place, regions in places.items()
    )
    return _group("regions", _("Regions"), hits, f"{address}?{_query(q=text)}")


def _where(regions: list[Region]) -> str:
    providers = list(dict.fromkeys(region.provider.name for region in regions))
    if len(providers) <= 3:
        return ", ".join(providers)
    return ngettext("%(n)d provider", "%(n)d providers", len(providers)) % {"n": len(providers)}


def _machines(text: str) -> Group:
    label = _("Machines")
    if len(text) < MACHINE_LETTERS_MINIMUM:
        return Group("machines", label, ())
    found = (
        Offer.objects.current()
        .filter(sku__icontains=text)
        .order_by("sku", "provider__name")
        .values_list("sku", "provider__name")
        .distinct()[: PER_GROUP + 1]
    )
    address = reverse("catalog:offers")
    hits = (Hit(f"{address}?{_query(q=sku, kind='all')}", sku, provider) for sku, provider in found)
    return _group("machines", label, hits, f"{address}?{_query(q=text, kind='all')}")


def _pages(text: str) -> Group:
    return _group("pages", _("Pages"), _named_pages(text.casefold()))


def _named_pages(text: str) -> Iterator[Hit]:
    asked = text.split()
    for page in PAGES:
        known = page.words.split()
        is_called_so = all(len(word) > 1 and any(each.startswith(word) for each in known) for word in asked)
        if text in str(page.title).casefold() or is_called_so:
            yield Hit(reverse(page.name), str(page.title))
