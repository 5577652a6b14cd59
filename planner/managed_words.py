"""What services publish, in words: a sentence for each code, with its figures; what nobody published is to be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from catalog.managed import SUBJECTS, ManagedPrice, ServiceFact, Subject, service_facts
from planner.wording import Text

TITLES: dict[Subject, Text] = {
    "rates": _("Requests and tokens a minute"),
    "guarantee": _("Availability and latency"),
    "structured": _("Answers by a JSON schema"),
    "tools": _("Tool calls"),
    "seed": _("Seed"),
    "fine_tuning": _("Fine-tuned models"),
    "batch": _("Batch, for later"),
    "cached_input": _("Tokens in that are cached"),
    "retention": _("How long prompts and answers are kept"),
    "training": _("Use for training"),
    "regions": _("Where it runs"),
}

OFFERED = _("offered")
SAYS: dict[tuple[Subject, str], Text] = {
    ("rates", "by_plan_and_model"): _("limited by plan and model, for an organisation, by minute and by day"),
    ("rates", "start_and_adapt"): _(
        "at first %(prompt)s tokens in a minute, of which %(uncached)s not cached, and %(generated)s out; "
        "then they follow the use"
    ),
    ("rates", "adapt"): _(
        "follow the load and the recent use, for an organisation and model; no fixed figure"
    ),
    ("rates", "per_minute_both"): _(
        "%(requests)s requests and %(tokens)s tokens a minute where one pays by use"
    ),
    ("rates", "quota_by_account"): _(
        "tokens a minute and a day, by account, model and region; the account's console tells them"
    ),
    ("rates", "requests_per_minute"): _("%(requests)s requests a minute for making text, some models other"),
    ("rates", "tokens_and_queries"): _(
        "tokens in and out a minute and queries an hour, by the platform's tier"
    ),
    ("rates", "more_with_key"): _("more with a key than without one"),
    ("guarantee", "none_shared"): _("none promised for models that are shared"),
    ("structured", "some_models"): _("with some models"),
    ("structured", "json_schema"): OFFERED,
    ("tools", "some_models"): _("with some models"),
    ("tools", "offered"): OFFERED,
    ("seed", "offered"): OFFERED,
    ("fine_tuning", "offered"): OFFERED,
    ("fine_tuning", "own_endpoint"): _("on an endpoint of one's own, not by the token"),
    ("fine_tuning", "open_models"): _("offered for open models"),
    ("batch", "offered"): OFFERED,
    ("batch", "half_price"): _("at half the price; not halved again for cached tokens"),
    ("batch", "up_to"): _(
        "up to %(percent)s %% less, within %(hours)s hours as a rule, with limits of its own"
    ),
    ("batch", "ai_functions"): _("offered, by SQL functions"),
    ("cached_input", "uncounted"): _("do not count towards the limits"),
    ("cached_input", "discount_by_model"): _("%(percent)s %% less as a rule, by model"),
    ("cached_input", "counted_apart"): _("count towards the limit of all tokens, not that of new ones"),
    ("cached_input", "no_price_of_its_own"): _("no price of their own"),
    ("retention", "none"): _("not kept"),
    ("retention", "none_by_default"): _("not kept unless asked for"),
    ("retention", "none_by_default_cache"): _("not kept unless asked for; may be cached for a while"),
    ("retention", "none_by_default_30_days"): _(
        "not kept; files of batches for %(days)s days, and what abuse or a fault needs"
    ),
    ("retention", "chosen"): _("as set for the account: none, or as the model's terms say"),
    ("training", "opt_in"): _("only where one agrees to it"),
    ("training", "no"): _("none"),
    ("regions", "chosen_or_across"): _("in the region that is asked, or across those of a profile"),
    ("regions", "geos"): _("within a group of regions of the workspace"),
    ("regions", "eu"): _("in the European Union"),
}


@dataclass(frozen=True)
class SaidFact:
    """One subject of one service; no fact: nothing was found that is published."""

    title: Text
    text: str
    fact: ServiceFact | None


@dataclass(frozen=True)
class ServiceSheet:
    """All that is known of a service beside its prices, and what is left to ask."""

    service: str
    rows: tuple[SaidFact, ...]

    @property
    def anchor(self) -> str:
        return f"service-{slugify(self.service)}"

    @property
    def published(self) -> tuple[SaidFact, ...]:
        return tuple(row for row in self.rows if row.fact is not None)

    @property
    def to_ask(self) -> tuple[Text, ...]:
        return tuple(row.title for row in self.rows if row.fact is None)


def sheet_of(service: str) -> ServiceSheet:
    known = {fact.subject: fact for fact in service_facts().get(service, ())}
    return ServiceSheet(
        service,
        tuple(
            SaidFact(
                TITLES[subject], "" if subject not in known else said(known[subject]), known.get(subject)
            )
            for subject in SUBJECTS
        ),
    )


def for_model(price: ManagedPrice, subject: Subject) -> str:
    """What the service publishes of a subject for the price's model, in words; empty where one has to ask."""
    for fact in service_facts().get(price.service, ()):
        if fact.subject == subject and (not fact.models or price.model in fact.models):
            return said(fact)
    return ""


def said(fact: ServiceFact) -> str:
    figures: dict[str, Any] = {name: f"{figure:,}" for name, figure in fact.figures.items()}
    text = str(SAYS[fact.subject, fact.says])
    return text % figures if figures else text
