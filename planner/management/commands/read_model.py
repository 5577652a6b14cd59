"""Says what is understood of a model: a shipped name, a config.json, a checkpoint's header, or a hub's model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from planner import architectures
from planner.refusals import model_refusal
from planner.sizing import config_reader
from planner.sizing.architecture import Architecture, ModelError, parameter_count, tensors
from planner.sizing.checkpoint_headers import HEADER_BYTES_MAXIMUM, CheckpointHeader
from planner.sizing.config_text import FILE_BYTES_MAXIMUM


def lines(arch: Architecture) -> Iterator[str]:
    """An architecture, group by group of tensors."""
    yield f"{arch.id}: {arch.family}, {arch.attention_kind}, {arch.layer_count} layers"
    yield f"parameters: {parameter_count(arch):,}"
    groups: dict[str, int] = {}
    for tensor in tensors(arch):
        groups[tensor.group] = groups.get(tensor.group, 0) + tensor.parameters
    for group, count in groups.items():
        yield f"  {group}: {count:,}"
    if arch.draft_parameters:
        yield f"draft layers, not loaded for serving: {arch.draft_parameters:,}"
    yield f"stored as: {arch.stored_format}"
    if arch.not_sized is not None:
        yield f"not sized yet: {arch.not_sized}"
    yield f"source: {arch.source}"


def told(reading: config_reader.Reading) -> Iterator[str]:
    """An architecture, what was assumed and what was left aside."""
    yield from lines(reading.architecture)
    for item in reading.assumed:
        yield f"assumed: {item.key} = {item.value}"
    if reading.left_aside:
        yield f"not understood, left aside: {', '.join(reading.left_aside)}"


def counted(header: CheckpointHeader) -> Iterator[str]:
    """The formats in a checkpoint file."""
    yield f"{header.kind}, {header.architecture or 'architecture not said'}, {header.name or 'no name'}"
    yield f"numbers stored: {header.elements:,} in {header.bytes:,} bytes"
    for row in header.formats:
        yield f"  {row.format}: {row.tensors} tensors, {row.elements:,} numbers, {row.bytes:,} bytes"


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", help="a file (config.json, GGUF, safetensors) or a model's name")
        parser.add_argument("--revision", help="branch, tag or commit on the hub; else its default branch")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for line in self._told(options["model"], options["revision"]):
                self.stdout.write(line)
        except ModelError as problem:
            raise CommandError(model_refusal(problem.code, problem.params, str(problem))) from problem

    def _told(self, name: str, revision: str | None) -> Iterator[str]:
        path = Path(name)
        if path.is_file():
            yield from self._file(path)
            return
        entry = architectures.find(name)
        if entry is None and "/" in name:
            reading, commit = architectures.from_hub(name, revision, timezone.now())
            yield from told(reading)
            yield f"revision: {commit}"
        elif entry is None:
            raise architectures.UnknownModel(name)
        elif entry.architecture is None:
            yield f"{entry.id}: {entry.attention_kind}"
            yield f"not sized yet: {entry.not_sized}"
            yield f"source: {entry.source}"
        else:
            yield from lines(entry.architecture)

    def _file(self, path: Path) -> Iterator[str]:
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES_MAXIMUM)
        if path.suffix.lower() == ".json":
            document = config_reader.parse(data, FILE_BYTES_MAXIMUM)
            yield from told(config_reader.understand(document, name=path.name, source=path.name))
            return
        found = architectures.from_header(data)
        yield from counted(found.header)
        if found.reading is not None:
            yield from told(found.reading)
