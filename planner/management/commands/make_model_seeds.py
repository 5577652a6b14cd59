"""Makes ``planner/seeds/architectures.json`` from tables of model facts."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from planner.model_facts import BUILT_ON, architecture_of, source_of
from planner.model_names import same_size

TARGET = Path(__file__).resolve().parents[2] / "seeds" / "architectures.json"


def rows_of(path: Path) -> list[dict[str, str]]:
    """Rows of one CSV file, cells stripped."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: (value or "").strip() for key, value in row.items()} for row in csv.DictReader(file)]


def whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


UNDATED = "undated"


def date_in(source: str) -> str:
    """The date that a source is of, as it states it; tables of model shapes rarely do."""
    found = re.search(r"20\d\d-\d\d(-\d\d)?", source)
    return found.group() if found else UNDATED


def seed(folder: Path) -> dict[str, Any]:
    """The content of the seed file, from the folder that holds ``facts/``."""
    facts = folder / "facts"
    published = {row["hf_id"]: row for row in rows_of(facts / "published_parameters.csv")}
    models: list[dict[str, Any]] = []
    for row in rows_of(facts / "architectures.csv"):
        count = published.get(row["hf_id"])
        architecture, not_sized = architecture_of(row, count)
        models.append(
            {
                "id": row["hf_id"],
                "attention_kind": row["attention_kind"],
                "not_sized": not_sized,
                "parameters": whole(row["params_total"]) or (int(count["parameters"]) if count else None),
                "parameters_active": whole(row["params_active"]),
                "parameters_published_source": f"{count['source']}, {count['source_date']}"
                if count
                else None,
                "max_position": architecture.max_position if architecture else whole(row["max_position"]),
                "licence": row["licence"].replace("(memory)", "(not read)") or None,
                "source": source_of(row, counted=architecture is not None),
                "source_date": date_in(row["source"]),
                "architecture": architecture.model_dump(mode="json", exclude_defaults=True)
                if architecture
                else None,
            }
        )
    spellings, named = names(rows_of(facts / "model_names.csv"), {model["id"] for model in models})
    return {"models": [*models, *(built(model, models) for model in named)], "spellings": spellings}


def built(model: dict[str, Any], shipped: list[dict[str, Any]]) -> dict[str, Any]:
    """A model known by name, with the shapes of the one that its card says it is built on."""
    if model["id"] not in BUILT_ON:
        return model
    name, tower = BUILT_ON[model["id"]]
    base = next(one for one in shipped if one["id"] == name)
    beside = tower.model_dump(mode="json", exclude_defaults=True)
    architecture = {**base["architecture"], "id": model["id"], "towers": [beside]}
    for key in ("parameters_published", "parameters_published_kind"):
        architecture.pop(key, None)
    return {
        **model, "not_sized": None, "max_position": base["max_position"], "architecture": architecture,
        "source": f"{tower.source}; language model: {base['source']}", "licence": None,
    }  # fmt: skip


NAMED_SOURCE = "named in measurements; its shapes are not known"
OTHER_SIZES = re.compile(
    r"whisper-(base|large$|large-v2|large-v3-turbo|medium|small|tiny)|bark-small|jina-embeddings|size not stated"
)
"""Names that the table of names gives to a relative of another size, in words instead of numbers."""
ROUNDED = re.compile(r"rho-math-1b \(TinyLlama architecture\)|TriLM \(about 4B\)")
"""Descriptions that say which architecture is meant and round its size."""


def names(rows: list[dict[str, str]], shipped: set[str]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Spellings of shipped models, and models that are known by name alone.

    A name that the table gives to a relative of another size is a model of its own, known by name alone;
    a description without a size is neither.
    """
    spellings: dict[str, str] = {}
    named: list[dict[str, Any]] = []
    for row in rows:
        name, target = row["model"], row["hf_id"]
        if name in shipped:
            continue
        same = same_size(name, target) and not OTHER_SIZES.search(name)
        if target and (same or ROUNDED.search(name)):
            spellings[name] = target
        elif re.fullmatch(r"[\w.-]+/[\w.-]+", name):
            kind = row["attention"]
            named.append(
                {
                    "id": name, "attention_kind": kind, "not_sized": f"{kind}, tensors not known",
                    "parameters": None, "parameters_active": None, "parameters_published_source": None,
                    "max_position": None, "licence": None, "source": NAMED_SOURCE,
                    "source_date": UNDATED, "architecture": None,
                }
            )  # fmt: skip
    return spellings, named


def text(content: dict[str, Any]) -> str:
    """The seed file: one model a line."""
    lines = [json.dumps(model, ensure_ascii=False, separators=(",", ":")) for model in content["models"]]
    spellings = json.dumps(content["spellings"], ensure_ascii=False, indent=1, sort_keys=True)
    return '{"models": [\n' + ",\n".join(lines) + '\n],\n"spellings": ' + spellings + "}\n"


class Command(BaseCommand):
    help = "Write the shipped model architectures from the folder of facts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="folder", type=Path, required=True, help="folder that holds facts/"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        content = seed(options["folder"])
        TARGET.write_text(text(content), encoding="utf-8")
        counted = sum(1 for model in content["models"] if model["architecture"])
        sized = sum(1 for model in content["models"] if model["not_sized"] is None)
        self.stdout.write(
            f"{len(content['models'])} models, {counted} counted, {sized} sized, "
            f"{len(content['spellings'])} spellings"
        )
