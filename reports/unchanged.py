"""Whether anything that a plan's prices come from has changed since, told before it is repriced."""

from __future__ import annotations

from django.db.models import Q
from django.utils.translation import gettext as _

from catalog.models import CatalogVersion, PrivateOffer
from mitsumori import __version__
from reports.models import PlanVersion


def has_changed(version: PlanVersion) -> bool:
    """Whether a price, term or rate of the catalog, or a private offer of the team, is newer than the version's."""
    catalog = CatalogVersion.objects.filter(pk=CatalogVersion.ONLY).first()
    if catalog is not None and catalog.changed_at is not None and catalog.changed_at > version.priced_at:
        return True
    since = Q(created_at__gt=version.priced_at) | Q(ended_at__gt=version.priced_at)
    return bool(PrivateOffer.objects.filter(since, team=version.plan.team).exists())


def before_repricing(version: PlanVersion) -> str:
    """What repricing this version would do, in a sentence."""
    words = {"number": version.number, "then": version.engine_version, "now": __version__}
    if has_changed(version):
        return _("The catalog or your private offers have changed since version %(number)s.") % words
    if version.engine_version != __version__:
        return (
            _(
                "No price has changed since version %(number)s, but it was computed by engine %(then)s, and this is "
                "%(now)s."
            )
            % words
        )
    return _("No price has changed since version %(number)s: repricing would give the same figures.") % words
