"""What an engine can run: device, weights format and cache format, by version. Each row has its source.

A format that the matrix units lack but the engine widens is supported: ``formats.compute_rate`` says that it
only saves memory there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, get_args

from planner.sizing.architecture import Architecture
from planner.sizing.devices import Device
from planner.sizing.quantities import Frozen
from planner.sizing.runtime import Runtime, version_key
from planner.sizing.workload import KvFormat, WeightsFormat

VLLM = "vLLM documentation, supported hardware of quantisation kernels (v0.9.2 to v0.32.0)"
VLLM_DEVICES = (
    "vLLM documentation, installation: CUDA 7.0 and newer, ROCm, XPU; other devices only by plugins"
)
VLLM_INT8 = "vLLM documentation, INT8 W8A8: compute capability 7.5 to 9.0, not on Blackwell"
SGLANG = "SGLang documentation, quantization and attention backends (v0.5)"
TRT = "TensorRT-LLM documentation 1.0, quantization, and Model Optimizer support matrix"
TRT_DEVICES = "TensorRT-LLM support matrix 1.0: NVIDIA Ampere, Ada, Hopper and Blackwell"
LLAMA = "llama.cpp README: back ends, and ggml types"


LAST_VERSIONS: dict[str, dict[str, str]] = {"vllm": {"mllama": "0.10.2", "qwen": "0.23", "bamba": "0.23"}}
"""The last version of an engine that ran a family of models (vLLM source, registry: _PREVIOUSLY_SUPPORTED_MODELS)."""


class Rule(Frozen):
    """What does not run. Empty fields match anything; ``needs_*`` are the least that runs."""

    code: str
    runtimes: tuple[str, ...]
    formats: tuple[str, ...] = ()
    kv_formats: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    """Beginnings of architecture names."""
    capability_below: tuple[int, int] | None = None
    """NVIDIA compute capability."""
    capability_from: tuple[int, int] | None = None
    vendors_except: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    families_except: tuple[str, ...] = ()
    formats_except: tuple[str, ...] = ()
    kv_formats_except: tuple[str, ...] = ()
    version_after: str | None = None
    """Only versions of a later minor release than this one."""
    version_below: str | None = None
    source: str


LMDEPLOY = (
    "LMDeploy documentation 0.16: supported models and quantisation (W4A16, MXFP4, KV in INT8 and INT4)"
)
TGI = "Text Generation Inference documentation 3.3: supported models, quantisation and hardware"
TRT_MODELS = "TensorRT-LLM documentation, supported models of the PyTorch backend, 1.0.0 to 1.3.0rc24"
LLAMA_MODELS = "llama.cpp README: supported models; cross-attention to images is in none of its graphs"
_TGI_FAMILIES = ("deepseek_v2", "deepseek_v3", "kimi_k2", "llama", "llama4", "phi3", "granite", "gemma", "gemma2",
                 "gemma3_text", "cohere", "cohere2", "mamba", "mistral", "mixtral", "gpt_bigcode", "phi", "baichuan",
                 "falcon", "starcoder2", "qwen2", "opt", "gpt2", "gpt_neox", "gptj", "mllama")  # fmt: skip
_RECURRENT = ("jamba", "bamba", "mamba", "mamba2", "falcon_mamba", "granitemoehybrid", "kimi_linear")
EXLLAMA = "ExLlamaV2 README: GPTQ and EXL2 weights, supported architectures"
TRANSFORMERS = "Transformers documentation 4.57: quantisation overview, KV cache strategies"
OLLAMA = "Ollama documentation: GPU support, importing GGUF models"
_EXLLAMA_FAMILIES = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text",
                     "phi3", "cohere", "cohere2", "granite", "internlm2", "starcoder2", "glm4")  # fmt: skip
_INT4 = ("int4_awq", "int4_gptq")
_GGUF = ("gguf_q4_k_m", "gguf_q8_0")
_OLD_AMD = ("CDNA 1", "CDNA1", "CDNA2", "GCN", "RDNA 1", "RDNA 2", "RDNA 3")
RULES: tuple[Rule, ...] = (
    # Devices.
    Rule(code="device_not_supported", runtimes=("vllm",), vendors=("google", "aws", "huawei", "apple"),
         source=VLLM_DEVICES),
    Rule(code="device_not_supported", runtimes=("vllm", "sglang", "tensorrt_llm", "llama_cpp"),
         architectures=("Gaudi",), source=VLLM_DEVICES),
    Rule(code="device_not_supported", runtimes=("vllm",), vendors=("nvidia",), capability_below=(7, 0),
         source=VLLM_DEVICES),
    Rule(code="device_not_supported", runtimes=("vllm", "sglang"), vendors=("amd",),
         architectures=("CDNA 1", "CDNA1", "GCN", "RDNA 1", "RDNA 2"), source=VLLM_DEVICES),
    Rule(code="device_not_supported", runtimes=("sglang",), vendors_except=("nvidia", "amd"), source=SGLANG),
    Rule(code="device_not_supported", runtimes=("sglang",), vendors=("nvidia",), capability_below=(7, 5),
         source=SGLANG),
    Rule(code="device_not_supported", runtimes=("sglang",), vendors=("amd",), architectures=("RDNA", "CDNA2"),
         source=SGLANG),
    Rule(code="device_not_supported", runtimes=("tensorrt_llm",), vendors_except=("nvidia",),
    source=TRT_DEVICES),
    Rule(code="device_not_supported", runtimes=("tensorrt_llm",), vendors=("nvidia",), capability_below=(8,
    0),
         source=TRT_DEVICES),
    Rule(code="device_not_supported", runtimes=("llama_cpp", "ollama"), vendors=("google", "aws", "huawei"),
    source=LLAMA),
    Rule(code="device_not_supported", runtimes=("lmdeploy",), vendors_except=("nvidia",), source=LMDEPLOY),
    Rule(code="device_not_supported", runtimes=("lmdeploy", "exllama"), vendors=("nvidia",),
         capability_below=(7, 0), source=LMDEPLOY),
    Rule(code="device_not_supported", runtimes=("tgi",), vendors_except=("nvidia", "amd", "intel"), source=TGI),
    Rule(code="device_not_supported", runtimes=("exllama",), vendors_except=("nvidia", "amd"), source=EXLLAMA),
    Rule(code="device_not_supported", runtimes=("transformers",), vendors=("google", "aws", "huawei"),
         source=TRANSFORMERS),
    Rule(code="device_not_supported", runtimes=("ollama",), vendors=("nvidia",), capability_below=(5, 0),
         source=OLLAMA),
    Rule(code="device_not_supported", runtimes=("ollama",), vendors=("intel",), source=OLLAMA),
    # Formats of engines whose memory alone is modelled.
    Rule(code="format_not_supported", runtimes=("lmdeploy",),
         formats_except=("bf16", "fp16", "int8", "fp8", "mxfp4", *_INT4), source=LMDEPLOY),
    Rule(code="model_not_supported", runtimes=("lmdeploy",), families=(*_RECURRENT, "nemotron_h", "deepseek_v4"),
         source=LMDEPLOY),
    Rule(code="model_not_supported", runtimes=("tgi",), families_except=_TGI_FAMILIES, source=TGI),
    Rule(code="model_not_supported", runtimes=("tensorrt_llm",), families=_RECURRENT, source=TRT_MODELS),
    Rule(code="model_not_supported", runtimes=("llama_cpp",), families=("mllama",), source=LLAMA_MODELS),
    Rule(code="model_needs_newer_version", runtimes=("tensorrt_llm",), families=("nemotron_h",),
         version_below="1.1", source=TRT_MODELS),
    Rule(code="model_needs_newer_version", runtimes=("tensorrt_llm",), families=("deepseek_v32", "qwen3_next"),
         version_below="1.2", source=TRT_MODELS),
    Rule(code="model_needs_newer_version", runtimes=("tensorrt_llm",),
         families=("deepseek_v4", "glm_moe_dsa", "qwen3_5", "qwen3_5_moe", "gemma4_text"), version_below="1.3",
         source=TRT_MODELS),
    Rule(code="format_not_supported", runtimes=("tgi",), formats_except=("bf16", "fp16", "fp32", "fp8", *_INT4),
         source=TGI),
    Rule(code="format_not_supported", runtimes=("exllama",), formats_except=("bf16", "fp16", "int4_gptq"),
         source=EXLLAMA),
    Rule(code="model_not_supported", runtimes=("exllama",), families_except=_EXLLAMA_FAMILIES, source=EXLLAMA),
    Rule(code="format_not_supported", runtimes=("transformers",),
         formats_except=("bf16", "fp16", "fp32", "fp8", "int8", "mxfp4", *_INT4), source=TRANSFORMERS),
    Rule(code="format_not_supported", runtimes=("ollama",),
         formats_except=("bf16", "fp16", "fp32", "mxfp4", *_GGUF), source=OLLAMA),
    Rule(code="kv_format_not_supported", runtimes=("lmdeploy",), kv_formats_except=("auto", "bf16", "fp16", "int8"),
         source=LMDEPLOY),
    Rule(code="kv_format_not_supported", runtimes=("tgi",), kv_formats_except=("auto", "bf16", "fp16", "fp8"),
         source=TGI),
    Rule(code="kv_format_not_supported", runtimes=("exllama", "ollama", "transformers"),
         kv_formats_except=("auto", "bf16", "fp16", "int8"), source=EXLLAMA),
    Rule(code="device_not_supported", runtimes=("llama_cpp",), vendors=("nvidia",), capability_below=(5, 0),
         source=LLAMA),
    # File formats.
    Rule(code="format_only_llama_cpp", runtimes=("vllm", "sglang", "tensorrt_llm"), formats=_GGUF,
         source="vLLM documentation, GGUF: experimental; SGLang and TensorRT-LLM have none"),
    Rule(code="format_not_supported", runtimes=("llama_cpp",), formats=("fp8", "int8", "nvfp4", *_INT4),
         source=LLAMA),
    # 16 bits.
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("bf16",), vendors=("nvidia",),
         capability_below=(8, 0), source="vLLM and SGLang refuse bfloat16 below compute capability 8.0"),
    # FP8.
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("fp8",), vendors=("nvidia",),
         capability_below=(7, 5), source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("fp8",), vendors=("nvidia",),
         capability_below=(8, 0), version_below="0.16",
         source="vLLM documentation, FP8 W8A8: Turing by Marlin kernels in late versions only"),
    Rule(code="format_not_on_device", runtimes=("sglang",), formats=("fp8",), vendors=("nvidia",),
         capability_below=(8, 0), source=SGLANG),
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("fp8",), vendors=("amd",),
         architectures=_OLD_AMD, source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("fp8",), vendors=("intel",), source=VLLM),
    Rule(code="format_not_on_device", runtimes=("tensorrt_llm",), formats=("fp8",), capability_below=(8, 9),
         source=TRT),
    # INT8.
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("int8",),
    vendors_except=("nvidia",),
         source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("int8",), vendors=("nvidia",),
         capability_below=(7, 5), source=VLLM_INT8),
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("int8",), vendors=("nvidia",),
         capability_from=(10, 0), source=VLLM_INT8),
    # INT4.
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=_INT4, vendors=("amd",),
    source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("int4_awq",), vendors=("nvidia",),
         capability_below=(7, 5), source=VLLM),
    Rule(code="format_not_on_device", runtimes=("sglang",), formats=_INT4, vendors=("nvidia",),
         capability_below=(8, 0), source=SGLANG),
    # FP4.
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("nvfp4",),
    vendors_except=("nvidia",),
         source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("nvfp4", "mxfp4"), vendors=("nvidia",),
         capability_below=(8, 0), source=VLLM),
    Rule(code="format_needs_newer_version", runtimes=("vllm",), formats=("mxfp4",), version_below="0.10.1",
         source="vLLM release notes 0.10.1: gpt-oss with MXFP4"),
    Rule(code="format_needs_newer_version", runtimes=("vllm",), formats=("nvfp4",), version_below="0.8",
         source="vLLM release notes 0.8: ModelOpt NVFP4"),
    Rule(code="format_not_on_device", runtimes=("vllm", "sglang"), formats=("mxfp4",), vendors=("amd",),
         architectures=(*_OLD_AMD, "RDNA"), source=VLLM),
    Rule(code="format_not_on_device", runtimes=("vllm",), formats=("nvfp4", "mxfp4"), vendors=("intel",),
         source=VLLM),
    Rule(code="format_not_on_device", runtimes=("sglang",), formats=("nvfp4",), vendors=("nvidia",),
         capability_below=(10, 0), source=SGLANG),
    Rule(code="format_not_on_device", runtimes=("sglang",), formats=("mxfp4",), vendors=("nvidia",),
         capability_below=(8, 0), source=SGLANG),
    Rule(code="format_not_on_device", runtimes=("tensorrt_llm",), formats=("nvfp4",), capability_below=(10,
    0),
         source=TRT),
    Rule(code="format_not_on_device", runtimes=("tensorrt_llm",), formats=("mxfp4",), capability_below=(9, 0),
         source=TRT),
    # Formats of the cache.
    Rule(code="kv_format_not_supported", runtimes=("vllm", "sglang"), kv_formats=("int8",),
         source="vLLM and SGLang documentation, quantised KV cache: FP8 types only"),
    Rule(code="kv_format_not_supported", runtimes=("llama_cpp",), kv_formats=("fp8",), source=LLAMA),
    Rule(code="kv_format_not_on_device", runtimes=("vllm", "sglang"), kv_formats=("fp8",),
    vendors=("nvidia",),
         capability_below=(8, 0), source="vLLM documentation, quantised KV cache"),
    Rule(code="kv_format_not_on_device", runtimes=("vllm", "sglang"), kv_formats=("fp8",), vendors=("amd",),
         architectures=_OLD_AMD, source="vLLM documentation, quantised KV cache"),
    Rule(code="kv_format_not_on_device", runtimes=("tensorrt_llm",), kv_formats=("fp8",),
    capability_below=(8, 9),
         source=TRT),
    # Models newer than the engine.
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("gpt_oss",), version_below="0.10.1",
         source="vLLM release notes 0.10.1"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("qwen3", "qwen3_moe"),
         version_below="0.8.4", source="vLLM release notes 0.8.4"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("gemma3_text",), version_below="0.8",
         source="vLLM release notes 0.8.0"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("deepseek_v3", "kimi_k2"),
         version_below="0.6.6", source="vLLM release notes 0.6.6"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("gemma4_text",),
    version_below="0.19",
         source="vLLM release notes 0.19"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("llama4",), version_below="0.8.3",
         source="vLLM release notes 0.8.3"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("qwen3_next",),
         version_below="0.10.2", source="vLLM release notes 0.10.2"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("deepseek_v32",),
         version_below="0.11", source="vLLM release notes 0.11.0"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("kimi_linear",),
         version_below="0.11.1", source="vLLM release notes 0.11.1"),
    Rule(code="model_needs_newer_version", runtimes=("vllm",), families=("mllama",), version_below="0.6.2",
         source="vLLM release notes 0.6.2"),
    *(Rule(code="model_needs_older_version", runtimes=("vllm",), families=(family,), version_after=last,
           source="vLLM source, registry of models: _PREVIOUSLY_SUPPORTED_MODELS")
      for family, last in LAST_VERSIONS["vllm"].items()),
    Rule(code="model_needs_newer_version", runtimes=("sglang",), families=("gpt_oss",), version_below="0.5",
         source="SGLang release notes 0.5"),
    Rule(code="model_needs_newer_version", runtimes=("tensorrt_llm",), families=("gpt_oss",),
    version_below="1.0",
         source="TensorRT-LLM release notes 1.0"),
)  # fmt: skip


def _capability(device: Device) -> tuple[int, int] | None:
    text = device.compute_capability or ""
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _no_later(version: str, last: str) -> bool:
    return version_key(version)[:2] <= version_key(last)[:2]


def _matches(
    rule: Rule, runtime: Runtime, device: Device, weights_format: str, kv_format: str, family: str
) -> bool:  # fmt: skip
    if runtime.name not in rule.runtimes:
        return False
    if rule.formats and weights_format not in rule.formats:
        return False
    if rule.kv_formats and kv_format not in rule.kv_formats:
        return False
    if rule.families and family not in rule.families:
        return False
    if rule.families_except and family in rule.families_except:
        return False
    if rule.formats_except and weights_format in rule.formats_except:
        return False
    if rule.kv_formats_except and kv_format in rule.kv_formats_except:
        return False
    if rule.version_after is not None and _no_later(runtime.version, rule.version_after):
        return False
    if rule.vendors and device.vendor not in rule.vendors:
        return False
    if rule.vendors_except and device.vendor in rule.vendors_except:
        return False
    if rule.architectures and not device.architecture.startswith(rule.architectures):
        return False
    if rule.version_below is not None and version_key(runtime.version) >= version_key(rule.version_below):
        return False
    if rule.capability_below is not None or rule.capability_from is not None:
        own = _capability(device)
        if device.vendor != "nvidia" or own is None:
            return False
        if rule.capability_below is not None and own >= rule.capability_below:
            return False
        if rule.capability_from is not None and own < rule.capability_from:
            return False
    return True


@lru_cache(maxsize=65536)
def _first(
    runtime: Runtime,
    device_key: tuple[str, str, str, str | None],
    weights_format: str,
    kv_format: str,
    family: str,
) -> Rule | None:
    name, vendor, architecture, capability = device_key
    device = Device(
        name=name, vendor=vendor, architecture=architecture, compute_capability=capability, memory_bytes=1,
        engine_total_bytes=1, bandwidth_bytes_per_s=1, dense_rates={}, source="",
    )  # fmt: skip
    for rule in RULES:
        if _matches(rule, runtime, device, weights_format, kv_format, family):
            return rule
    return None


def refusal(
    runtime: Runtime,
    device: Device,
    weights_format: str,
    kv_format: str,
    arch: Architecture,
    *,
    device_count: int = 1,
) -> dict[str, Any] | None:
    """Why this engine cannot run this format on this device, with the row's source; None where it can."""
    key = (device.name, device.vendor, device.architecture, device.compute_capability)
    rule = _first(runtime, key, weights_format, kv_format, arch.family)
    if rule is None:
        return None
    return {
        "rule": rule.code,
        "runtime": runtime.name,
        "version": runtime.version,
        "device": device.name,
        "architecture": device.architecture,
        "weights_format": weights_format,
        "kv_format": kv_format,
        "model_family": arch.family,
        "needs_version": rule.version_below,
        "source": rule.source,
    }


def weights_formats(
    runtime: Runtime, device: Device, arch: Architecture, kv_format: str = "auto"
) -> tuple[str, ...]:
    """Weights formats that this engine runs on this device."""
    return tuple(
        name for name in get_args(WeightsFormat) if refusal(runtime, device, name, kv_format, arch) is None
    )


def kv_formats(runtime: Runtime, device: Device, arch: Architecture, weights_format: str) -> tuple[str, ...]:
    """Cache formats that this engine runs on this device with these weights."""
    return tuple(
        name for name in get_args(KvFormat) if refusal(runtime, device, weights_format, name, arch) is None
    )
