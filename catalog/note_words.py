"""Notes of ours on prices, which are kept as data, in the reader's language. What a source wrote stays as it is."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from catalog.wording import Text

NOTES: dict[str, Text] = {
    "GPU count by series name": _("GPU count by series name"),
    "GPU count by series name; fractional": _("GPU count by series name; a share of a GPU"),
    "GPU count (whole or slice) not derivable from the SKU name": _(
        "the GPU count, whole or a share, cannot be told from the machine's name"
    ),
    "GPU only: add the host VM": _("the GPU alone: the host comes on top"),
    "from published examples": _("from published examples"),
    "billed by size step (E4: 32 GiB)": _("billed by size step (E4: 32 GiB)"),
    "billed by size step (E10: 128 GiB)": _("billed by size step (E10: 128 GiB)"),
    "billed by size step (P10: 128 GiB)": _("billed by size step (P10: 128 GiB)"),
    "S3 price list as of 2022-07": _("S3 price list as of 2022-07"),
    "first paid step; another price may hold outside North America and Europe": _(
        "first paid step; another price may hold outside North America and Europe"
    ),
    "first step, worldwide": _("first step, worldwide"),
    "outside Asia-Pacific": _("outside Asia-Pacific"),
    "the plan's allowance is not subtracted": _("the plan's allowance is not subtracted"),
    "originating in North America, Europe and UK": _("for transfer out of North America, Europe and the UK"),
    "cores, RAM and GPUs together; local SSDs are paid apart": _(
        "cores, RAM and GPUs together; local SSDs are paid apart"
    ),
    "of the largest size; smaller sizes give less": _("of the largest size; smaller sizes give less"),
    "IOPS are bought with the volume": _("IOPS are bought with the volume"),
    "operations of 1 MiB": _("operations of 1 MiB"),
    "bought with the disk": _("bought with the disk"),
    "grows with the size: 3 IOPS per GiB": _("grows with the size: 3 IOPS per GiB"),
    "baseline is in the price per GB; more is bought by the IOPS and MiB/s; before 2025-09 at most 16,000 and "
    "1,000 MiB/s": _(
        "baseline is in the price per GB; more is bought by the IOPS and MiB/s; before 2025-09 at most 16,000 "
        "and 1,000 MiB/s"
    ),
    "the matrix names 11.0 for all of Ampere": _("the matrix names 11.0 for all of Ampere"),
}
LISTED_AS = "listed as "
"""An offer's note begins so where its source has another name for it; the name follows."""
