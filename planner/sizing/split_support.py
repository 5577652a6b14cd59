"""Which ways to split a model over devices an engine has, by version. Each row has its source."""

from __future__ import annotations

from typing import Any, Literal

from planner.sizing.devices import Layout
from planner.sizing.quantities import Frozen
from planner.sizing.runtime import Runtime, version_key

Way = Literal["tensors", "layers", "experts", "requests", "context"]
"""Tensor, pipeline and expert parallelism; attention kept by requests; tokens of the cache shared by ranks."""


class SplitRule(Frozen):
    """An engine has this way from a version on; never, where there is none.

    A rule that names families holds for them alone; a model of a family that no such rule names is not split so.
    """

    runtime: str
    way: Way
    since: str | None
    families: tuple[str, ...] = ()
    source: str


LATENT_FAMILIES = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa")
"""Mixtures whose cache is latent and that engines run by the classes of DeepSeek's models."""


RULES: tuple[SplitRule, ...] = (
    SplitRule(runtime="vllm", way="layers", since="0.5.1", source="vLLM release notes 0.5.1: pipeline parallelism"),
    SplitRule(runtime="vllm", way="experts", since="0.7.2",
              source="vLLM documentation, expert parallel deployment; PR 12583 in 0.7.2"),
    SplitRule(runtime="vllm", way="requests", since="0.9",
              source="vLLM documentation 0.9, data parallel deployment: for mixtures, --data-parallel-size with "
                     "--enable-expert-parallel"),
    SplitRule(runtime="vllm", way="context", since="0.11",
              source="vLLM documentation 0.11, context parallel deployment: --decode-context-parallel-size"),
    *(SplitRule(runtime=name, way="context", since=None,
                source="documented for vLLM alone: --decode-context-parallel-size")
      for name in ("sglang", "tensorrt_llm", "llama_cpp", "lmdeploy", "tgi", "transformers", "exllama", "ollama")),
    SplitRule(runtime="sglang", way="layers", since="0.4.6",
              source="SGLang documentation, server arguments: --pp-size"),
    SplitRule(runtime="sglang", way="experts", since="0.4", source="SGLang documentation: --ep-size"),
    SplitRule(runtime="sglang", way="requests", since="0.4", families=LATENT_FAMILIES,
              source="SGLang 0.4 announcement: DP attention for MLA; documentation of DeepSeek V3.2 and GLM-5: "
                     "--enable-dp-attention"),
    SplitRule(runtime="sglang", way="requests", since="0.4.7", families=("qwen2_moe", "qwen3_moe"),
              source="SGLang documentation, server arguments: --enable-dp-attention for Qwen 2 and 3 MoE"),
    SplitRule(runtime="tensorrt_llm", way="experts", since="0.9",
              source="TensorRT-LLM documentation, expert parallelism"),
    SplitRule(runtime="tensorrt_llm", way="requests", since="0.17",
              families=("deepseek_v3", "deepseek_v32", "kimi_k2"),
              source="TensorRT-LLM documentation: enable_attention_dp"),
    SplitRule(runtime="tensorrt_llm", way="requests", since="1.0",
              families=("qwen3_moe", "llama4", "gpt_oss", "glm4_moe"),
              source="TensorRT-LLM documentation 1.0, model-feature support matrix: attention data parallelism"),
    SplitRule(runtime="llama_cpp", way="tensors", since=None,
              source="llama.cpp server documentation: --split-mode layer; row splits matrices but gains no stream"),
    SplitRule(runtime="llama_cpp", way="experts", since=None, source="llama.cpp server documentation: --split-mode"),
    SplitRule(runtime="llama_cpp", way="requests", since=None, source="llama.cpp server documentation: --split-mode"),
    SplitRule(runtime="lmdeploy", way="layers", since=None, source="LMDeploy documentation 0.16: --tp, --dp, --ep"),
    SplitRule(runtime="tgi", way="layers", since=None,
              source="Text Generation Inference documentation, tensor parallelism: --num-shard alone"),
    SplitRule(runtime="tgi", way="experts", since=None,
              source="Text Generation Inference documentation, tensor parallelism: --num-shard alone"),
    SplitRule(runtime="tgi", way="requests", since=None,
              source="Text Generation Inference documentation, tensor parallelism: --num-shard alone"),
    *(SplitRule(runtime=name, way=way, since=None, source=source)
      for name, source in (("transformers", "Transformers documentation: device_map places whole layers"),
                           ("exllama", "ExLlamaV2: gpu_split places whole layers"),
                           ("ollama", "Ollama documentation, FAQ: layers are spread over GPUs"))
      for way in ("tensors", "experts", "requests")),
)  # fmt: skip


def ways(layout: Layout) -> tuple[Way, ...]:
    """How a layout splits a model."""
    found: list[Way] = []
    if layout.tp > 1:
        found.append("tensors")
    if layout.pp > 1:
        found.append("layers")
    if layout.ep > 1:
        found.append("experts")
    if layout.dp > 1:
        found.append("requests")
    return tuple(found)


def refusal(
    runtime: Runtime, layout: Layout, family: str = "", *, context_parallel: int = 1
) -> dict[str, Any] | None:
    """Why this engine at this version does not split a model of this family so, with the source; None where it does or
    nothing is known. A family that is not given is taken to be one that the engine splits.

    ``context_parallel``: ranks that share the tokens of the cache.
    """
    wanted = list(ways(layout))
    if context_parallel > 1:
        wanted.append("context")
    for way in wanted:
        rules = [rule for rule in RULES if rule.runtime == runtime.name and rule.way == way]
        if not rules:
            continue
        meant = [rule for rule in rules if not family or not rule.families or family in rule.families]
        rule = (meant or rules)[0]
        is_known = bool(meant) and rule.since is not None
        if is_known and version_key(runtime.version) >= version_key(rule.since or ""):
            continue
        return {
            "rule": "split_needs_newer_version" if is_known else "split_not_supported",
            "runtime": runtime.name,
            "version": runtime.version,
            "way": way,
            "needs_version": rule.since if is_known else None,
            "source": rule.source,
        }
    return None
