"""Reads workload documents: strict JSON, every refusal one line that names the place."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from mitsumori.json_bodies import BodyRefused, read_json
from planner import kinds, stored_format
from planner.sizing.results import Comparison
from planner.sizing.workload import CommonWorkload, LlmWorkload


class WorkloadInvalid(ValueError):
    """Why a document is no workload: one line, and the path of the key to blame."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.message = message
        self.field = field


def read(text: str | bytes) -> CommonWorkload:
    """A workload out of JSON text. Raises ``WorkloadInvalid``."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        document = read_json(body, "application/json")
    except BodyRefused as refused:
        raise WorkloadInvalid(refused.message.replace("The body", "The document"), refused.field) from None
    return validate(document)


def validate(document: Any) -> CommonWorkload:
    """A workload out of a parsed document; an absent kind is interactive serving, and weights without a format are
    sized as the model's checkpoint stores them. Raises ``WorkloadInvalid``."""
    if not isinstance(document, dict):
        raise WorkloadInvalid("The document must be a JSON object.")
    kind = document.get("kind")
    if isinstance(kind, str) and kind in kinds.NOT_YET:
        raise WorkloadInvalid(f"{kind} is not sized yet; sized are {', '.join(kinds.BY_NAME)}.", "kind")
    if kind is None:
        document = document | {"kind": kinds.DEFAULT.key}
    try:
        workload = kinds.WORKLOAD.validate_python(document)
        if isinstance(workload, LlmWorkload) and document.get("weights_format") is None:
            stored = stored_format.of(workload.model)
            if stored not in (None, workload.weights_format):
                workload = kinds.WORKLOAD.validate_python(document | {"weights_format": stored})
        return workload
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = [str(part) for part in first["loc"] if part not in kinds.BY_NAME]
        raise WorkloadInvalid(_one_line(first["msg"]), ".".join(place)[:200] or "kind") from None


def _one_line(message: str) -> str:
    return " ".join(message.removeprefix("Value error, ").split())[:300]


SCHEMAS = ("workload", "comparison")


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document. Raises ``KeyError`` for another name."""
    if name == "workload":
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Workload"} | (
            kinds.WORKLOAD.json_schema(mode="validation")
        )
    if name == "comparison":
        return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Comparison.model_json_schema(
            mode="serialization", by_alias=True
        )
    raise KeyError(name)
