"""What a provider says of the network between machines of one size."""

from __future__ import annotations

from catalog.models.machines import MachineType


def fabric(provider: str, sku: str) -> str:
    """The network between machines of this size, as the provider names it; empty where it names none."""
    found = (
        MachineType.objects.filter(provider__slug=provider, sku=sku).values_list("fabric", flat=True).first()
    )
    return found or ""
