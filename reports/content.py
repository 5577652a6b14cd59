"""The content of a plan version as one canonical document, and its fingerprint.

Canonical: JSON with sorted keys, no spaces, UTF-8 as it is and numbers as Python writes them; the same content
gives the same bytes in every database. Address, owner, author and time of export are the envelope around it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from planner.sizing.results import Comparison
from reports.models import PlanVersion, PlanWorkload

FORMAT = "mitsumori-plan"
FORMAT_VERSION = 1


def canonical(document: Any) -> str:
    """Canonical JSON text of a document; NaN and Infinity are refused."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def comparison_text(comparison: Comparison) -> str:
    return canonical(comparison.model_dump(mode="json", by_alias=True))


def read_comparison(workload: PlanWorkload) -> Comparison:
    """The stored answer of a workload, as it was saved; nothing is computed."""
    return Comparison.model_validate_json(workload.comparison_text)


def content_text(version: PlanVersion, workloads: Iterable[PlanWorkload]) -> str:
    """The canonical content of a version, from what is stored: exactly what the fingerprint covers.

    The comparisons are already canonical, so they are set in as they are: no figure passes through a parser.
    """
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "title": version.title,
        "prepared_for": version.prepared_for,
        "note": version.note,
        "priced_at": version.priced_at.isoformat(),
        "engine_version": version.engine_version,
        "catalog_version": version.catalog_version,
    }
    if version.checklist_text:
        head["checklist"] = json.loads(version.checklist_text)
    parts = [
        f'{{"comparison":{workload.comparison_text},"inputs":{workload.inputs_text},'
        f'"kind":{canonical(workload.kind)},"name":{canonical(workload.name)}}}'
        for workload in workloads
    ]
    # "workloads" sorts after every key of the head, so appending it keeps the text canonical.
    return f'{canonical(head)[:-1]},"workloads":[{",".join(parts)}]}}'


def fingerprint(version: PlanVersion, workloads: Iterable[PlanWorkload]) -> str:
    """SHA-256 of the content."""
    return sha256(content_text(version, workloads))


def is_whole(version: PlanVersion) -> bool:
    """Whether what is stored still is what was fingerprinted."""
    return fingerprint(version, version.answers) == version.fingerprint
