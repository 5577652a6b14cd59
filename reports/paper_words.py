"""Words that stand on every paper: its labels, and what is said of the method."""

from __future__ import annotations

from django.utils.translation import gettext as _


def labels() -> dict[str, str]:
    return {
        "quotation": _("QUOTATION OF COMPUTE"),
        "per_month": _("per month"),
        "per_term": _("per 12 months at these prices"),
        "rank": _("Rank"),
        "offer": _("Offer"),
        "layout": _("Layout"),
        "price_read": _("Price read on"),
        "reliefs": _("What each condition costs on the first candidate's machine"),
        "condition": _("Condition given up"),
        "machines": _("Machines"),
        "asked": _("What was asked"),
        "model": _("The model as it was understood"),
        "first": _("The first candidate in figures"),
        "bill": _("The month, line by line"),
        "what": _("What"),
        "how": _("How it is counted"),
        "amount": _("Amount"),
        "source": _("Source"),
        "unknown": _("unknown"),
        "total": _("Total per month"),
        "comparison": _("Comparison"),
        "rejected": _("Rejected"),
        "shortfall": _("By how much"),
        "help": _("What would help"),
        "sources": _("Prices: sources and dates"),
        "address": _("Address"),
        "read_on": _("Read on"),
        "prices": _("Prices"),
        "assumptions": _("Assumptions"),
        "assumption": _("Assumption"),
        "value": _("Value"),
        "unit": _("Unit"),
        "method": _("Method and uncertainty"),
        "checklist": _("Operations checklist"),
        "layouts": _("One server and a redundant layout"),
        "services": _("Services and data"),
        "questions": _("Open questions"),
        "open": _("open"),
        "said": _("What the team decided and said"),
        "said_for": _("For the team itself: readers of a link do not get this part."),
        "comments": _("Comments"),
        "who": _("Who"),
        "about": _("About"),
        "text": _("Text"),
    }


def method() -> list[str]:
    return [
        _(
            "Memory is counted tensor by tensor from the model's published shape, with the KV cache of the load asked "
            "for, activations and the runtime's own overhead."
        ),
        _(
            "Decode speed follows the bytes that are read per step and the memory bandwidth; prefill follows the "
            "arithmetic. Both are multiplied by efficiencies that were fitted on published measurements."
        ),
        _(
            # xgettext:no-python-format
            "Every predicted figure is a mean with an 80 % range: of ten measurements, about eight fall inside. No "
            "percentile is given."
        ),
        _(
            "Prices are list prices without tax, or private offers as they were made, each as read on its date. A "
            "total with ≥ holds a line whose price is not known."
        ),
        _(
            "Each line is rounded half up to the unit of the currency, and the total is the sum of the rounded lines."
        ),
    ]
