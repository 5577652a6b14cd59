"""The address of the workbench that asks for a workload which no person typed there, such as one of the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from planner import documents, kinds
from planner.fields import NumberField, SheetField, TickField
from planner.forms import WorkbenchForm
from planner.query_text import key_of


def query_of(document: Mapping[str, Any], at: datetime) -> str | None:
    """The canonical query string; None where the form cannot ask exactly this, as of a config in the document.

    Each field says its value of the document, and what the form makes of that is held against the document.
    """
    try:
        workload = documents.validate(dict(document))
    except documents.WorkloadInvalid:
        return None
    whole = workload.model_dump(mode="json")
    fields = kinds.of(workload.kind).fields
    texts = {key_of(name): _text(field, whole) for name, field in fields.items() if field.path}
    form = WorkbenchForm.from_query(QueryDict(urlencode(texts | {"kind": workload.kind})), at=at)
    return form.query_string() if form.is_valid() and form.workload() == workload else None


def _text(field: SheetField, document: Mapping[str, Any]) -> str:
    value: Any = document
    for step in field.path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None or value == getattr(field, "blank", None):
        return ""
    if isinstance(value, bool):
        said, denied = ("1", "") if isinstance(field, TickField) else ("yes", "no")
        return said if value else denied
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{number!r}" for name, number in value.items())
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    if isinstance(field, NumberField) and isinstance(value, int | float):
        return f"{value * float(field.scale):.12g}"
    return str(value)
