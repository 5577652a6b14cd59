"""The four examples of the start page: whole questions, each a link into the workbench."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Example:
    key: str
    title: str | Promise
    text: str | Promise
    figures: str | Promise
    query: str


EXAMPLES: tuple[Example, ...] = (
    Example(
        "chat",
        _("Internal chat assistant"),
        _(
            "An 8B model answers colleagues during working hours. First words within a second, then "
            "faster than one reads."
        ),
        _("Llama 3.1 8B · 8 at once, 32 at peak · weekdays, 12 h"),
        "in=800&in_max=8000&out=300&users=8&users_peak=32&hours=12&days=21",
    ),
    Example(
        "rag",
        _("RAG answerer"),
        _(
            "Long prompts with retrieved passages, short cited answers. A part of each prompt repeats "
            "and comes from the cache."
        ),
        _("Qwen2.5 32B in FP8 · 6,000 tokens in, 400 out · always on"),
        ""
        ""
        "model=Qwen/Qwen2.5-32B-Instruct&weights=fp8&in=6000&in_max=16000&out=400&users=6&users_peak=20&hit=30&ttft=2",
    ),
    Example(
        "batch",
        _("Nightly batch summarisation"),
        _(
            "200,000 documents are summarised each night. It may be interrupted and start again, so "
            "spot machines count."
        ),
        _("Llama 3.1 8B · 200,000 requests · done within 8 h"),
        "kind=llm_batch&in=2000&out=200&requests=200000&deadline=8&objective=cost&tiers=on_demand,spot",
    ),
    Example(
        "agent",
        _("Coding agent with long context"),
        _(
            "A 70B model reads whole files and works in many steps. Context is long, most of it repeats "
            "from step to step."
        ),
        _("Llama 3.3 70B in FP8 · 32,000 tokens in, up to 128,000 · 4 at once"),
        ""
        "model=meta-llama/Llama-3.3-70B-Instruct&weights=fp8&kv=fp8&in=32000&in_max=120000&out=800&out_max=8000"
        "&users=4&users_peak=8&hit=80&ttft=10",
    ),
)
