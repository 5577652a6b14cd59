"""What one size of a provider is, whatever the region: facts that prices do not repeat."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.offers import Provider


class MachineKind(models.TextChoices):
    GPU = "gpu", _("with GPUs")
    CPU = "cpu", _("without GPUs")
    OTHER = "other", _("with accelerators of another kind")
    HOST = "host", _("dedicated host")


class MachineType(models.Model):
    """A size as its provider names it. Nothing here decides whether an offer can be compared."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="machine_types")
    sku = models.CharField(max_length=120)
    kind = models.CharField(max_length=8, choices=MachineKind.choices)
    vcpu = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    ram_gib = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    cpu = models.CharField(max_length=80, blank=True)
    """The family where it was read from such a machine, else its maker."""
    cpu_architecture = models.CharField(max_length=12, blank=True)
    clock_ghz = models.DecimalField(max_digits=5, decimal_places=2, null=True, blank=True)
    """Sustained, as the provider states it."""
    disk_gib = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    """Local disks together; unknown where the source says nothing, which is not none."""
    disk_kind = models.CharField(max_length=20, blank=True)
    """What the local disks are, as the source calls them: ``ssd``, ``nvme ssd``, ``hdd``."""
    disk_count = models.PositiveSmallIntegerField(null=True, blank=True)
    storage_iops_baseline = models.PositiveIntegerField(null=True, blank=True)
    storage_iops_maximum = models.PositiveIntegerField(null=True, blank=True)
    """Operations a second that the machine itself allows towards network storage, whatever the volumes would give."""
    storage_bytes_per_s_baseline = models.PositiveBigIntegerField(null=True, blank=True)
    storage_bytes_per_s_maximum = models.PositiveBigIntegerField(null=True, blank=True)
    """A machine reaches its maximum for part of a day only, where it is above the baseline."""
    network = models.CharField(max_length=60, blank=True)
    fabric = models.CharField(max_length=80, blank=True)
    source = models.CharField(max_length=400, blank=True)
    observed = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ("provider", "sku")
        constraints = [models.UniqueConstraint(fields=["provider", "sku"], name="catalog_machine_type_once")]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.sku}"
