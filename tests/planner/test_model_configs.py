"""Published ``config.json`` files: each is read, tensor by tensor, or refused by name."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.conf import settings

from planner.architectures import find
from planner.sizing.architecture import Architecture, parameter_count
from planner.sizing.config_reader import ConfigError, Reading, parse, understand
from planner.sizing.config_text import FILE_BYTES_MAXIMUM

pytestmark = pytest.mark.model_configs

EXPECTED = Path(__file__).parents[1] / "data" / "model_configs.csv"
SUFFIX = "_config.json"
HEAD_TWICE = {"google/gemma-4-26B-A4B", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B"}


def outcomes(folder: Path) -> dict[str, Reading | ConfigError]:
    found: dict[str, Reading | ConfigError] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name.endswith("_hf_quant" + SUFFIX):
            continue
        name = path.name.removesuffix(SUFFIX).replace("--", "/", 1)
        try:
            found[name] = understand(parse(path.read_bytes(), FILE_BYTES_MAXIMUM), name=name)
        except ConfigError as problem:
            found[name] = problem
    return found


@pytest.fixture(scope="module")
def read_configs(model_configs: Path) -> dict[str, Reading | ConfigError]:
    return outcomes(model_configs)


@pytest.fixture(scope="module")
def counted(read_configs: dict[str, Reading | ConfigError]) -> dict[str, Architecture]:
    return {name: found.architecture for name, found in read_configs.items() if isinstance(found, Reading)}


def line(name: str, found: Reading | ConfigError) -> dict[str, str]:
    """One config as the table of expectations has it."""
    if isinstance(found, ConfigError):
        return {"name": name, "refused": f"{found.code} {found.params.get('key')}"}
    arch = found.architecture
    return {
        "name": name, "family": arch.family, "parameters": str(parameter_count(arch)),
        "draft_parameters": str(arch.draft_parameters), "stored_format": arch.stored_format,
        "not_sized": arch.not_sized or "", "left_aside": " ".join(found.left_aside), "refused": "",
    }  # fmt: skip


def test_each_of_the_89_configs_is_read_as_listed_or_refused_by_name(
    read_configs: dict[str, Reading | ConfigError],
) -> None:
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        expected = {
            row["name"]: {key: value for key, value in row.items() if value} for row in csv.DictReader(file)
        }
    made = {
        name: {key: value for key, value in line(name, found).items() if value}
        for name, found in read_configs.items()
    }
    assert len(made) == 89
    assert made == expected


@pytest.mark.measurements
def test_their_counts_are_the_published_ones(counted: dict[str, Architecture]) -> None:
    path = Path(settings.MEASUREMENTS_DIR) / "facts" / "published_parameters.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["hf_id"]: row for row in csv.DictReader(file)}
    seen = 0
    for name, arch in counted.items():
        row = rows.get(name)
        if row is None or row["kind"].rstrip("?") not in ("exact", "stored"):
            continue
        total = parameter_count(arch) + arch.draft_parameters
        if name in HEAD_TWICE:
            total += arch.vocab * arch.hidden
        assert total == pytest.approx(int(row["parameters"]), rel=0.005), name
        seen += 1
    assert seen == 50


def test_the_shipped_models_are_those_of_the_configs(counted: dict[str, Architecture]) -> None:
    seen = 0
    for name, arch in counted.items():
        entry = find(name)
        if entry is None or entry.architecture is None or entry.id.lower() != name.lower():
            continue
        if name == "MiniMaxAI/MiniMax-M3":  # Its config leaves out the tower that its checkpoint has.
            arch = arch.model_copy(update={"towers": entry.architecture.towers})
        assert parameter_count(entry.architecture) == parameter_count(arch), name
        kept = [(group.attention, group.mlp) for group in entry.architecture.layers]
        if entry.not_sized is None and "SWA" not in entry.attention_kind:
            assert kept == [(group.attention, group.mlp) for group in arch.layers], name
        seen += 1
    assert seen >= 60
