"""The format a model's checkpoint is stored in: what the form sizes unless another format is chosen."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner import architectures, wording
from planner.options import WEIGHTS
from planner.sizing.architecture import ModelError
from planner.sizing.workload import ModelReference

AS_STORED = "stored"
"""The choice of the form; the workload document always names the format itself."""
SIXTEEN_BITS = "bf16"


def of(model: ModelReference) -> str | None:
    """The format that "as stored" means for this model; None where the model is not known.

    Checkpoints in 32 bits are served in 16, as every engine does unless it is told otherwise.
    """
    try:
        stored = architectures.resolve(model).stored_format
    except ModelError:
        return None
    return stored if stored in dict(WEIGHTS) and stored != "fp32" else SIXTEEN_BITS


def label(stored: str | None) -> str:
    """Words of the choice, with the format where it is known."""
    if stored is None:
        return _("as stored")
    return _("as stored (%(format)s)") % {"format": wording.FORMATS[stored]}


def note(stored: object, chosen: object) -> str:
    """What to know where a quantised checkpoint would have to be converted; empty where it is served as it is."""
    if stored == chosen or stored in (None, "bf16", "fp16", "fp32") or stored not in wording.FORMATS:
        return ""
    return _(
        "The checkpoint is stored in %(stored)s; this answer is for %(chosen)s, which would have to be made from it."
    ) % {
        "stored": wording.FORMATS[str(stored)],
        "chosen": wording.FORMATS.get(str(chosen), chosen),
    }
