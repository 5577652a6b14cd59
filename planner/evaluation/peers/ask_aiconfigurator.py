"""Run by an interpreter that has aiconfigurator: questions on standard input, answers on standard output, as JSON."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

MODELS = {
    "llama-3-8b": "meta-llama/Meta-Llama-3.1-8B", "llama-3-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B", "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
    "mixtral-8x22b": "mistralai/Mixtral-8x22B-v0.1", "qwen3-8b": "Qwen/Qwen3-8B", "qwen3-32b": "Qwen/Qwen3-32B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B", "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3", "kimi-k2.5": "moonshotai/Kimi-K2.5",
    "minimax-m2": "MiniMaxAI/MiniMax-M2.5", "glm-5": "nvidia/GLM-5-NVFP4",
}  # fmt: skip
"""Families of the measurements to models of the same shape that the tool ships."""
SYSTEMS = {
    "A100-SXM4-80GB": "a100_sxm", "A100-PCIe-80GB": "a100_pcie", "H100-SXM5": "h100_sxm", "H100-PCIe": "h100_pcie",
    "H200-SXM": "h200_sxm", "B200-SXM": "b200_sxm", "B300-SXM": "b300_sxm", "GB200": "gb200", "GB300": "gb300",
     "L4": "l4", "L40S": "l40s",
    "RTXPRO6000": "rtx_pro_6000_server",
}  # fmt: skip
BACKENDS = {"vllm": "vllm", "sglang": "sglang", "tensorrt_llm": "trtllm"}
FORMATS = {
    "w16": ("bfloat16", "bfloat16"), "fp8": ("fp8", "fp8_block"), "int4": ("int4_wo", "int4_wo"),
    "fp4": ("nvfp4", "nvfp4"),
}  # fmt: skip
"""Formats of dense layers and of experts."""


def answer(asked: dict[str, Any], estimate: Any) -> dict[str, Any]:
    model, system = MODELS.get(asked["family"]), SYSTEMS.get(asked["device"]["name"])
    backend, formats = BACKENDS.get(asked["engine"]), FORMATS.get(asked["format"])
    if not (model and system and backend and formats):
        return {"id": asked["id"], "error": "model, card, engine or format not in the tool"}
    expert_ranks = {}
    if asked["experts"]:
        ranks = asked["tp"]
        expert_ranks = {"moe_ep_size": asked["ep"], "moe_tp_size": max(1, ranks // asked["ep"])}
    begun = time.perf_counter()
    try:
        found = estimate(
            model_path=model, system_name=system, backend_name=backend,
            mode="static" if asked["together"] else "agg", database_mode="HYBRID",
            isl=asked["input_tokens"], osl=max(2, asked["output_tokens"]), batch_size=asked["batch"],
            tp_size=max(1, asked["tp"] // asked["attention_dp"]), pp_size=asked["pp"],
            attention_dp_size=asked["attention_dp"], gemm_quant_mode=formats[0], moe_quant_mode=formats[1],
            **expert_ranks,
        )  # fmt: skip
    except Exception as error:
        return {"id": asked["id"], "error": f"{type(error).__name__}: {error}"[:200]}
    return {
        "id": asked["id"], "ttft_s": float(found.ttft) / 1000, "tpot_s": float(found.tpot) / 1000,
        "seconds": time.perf_counter() - begun,
    }  # fmt: skip


def main() -> None:
    logging.disable(logging.CRITICAL)
    from aiconfigurator.cli.api import cli_estimate  # type: ignore[import-not-found]

    answers = [answer(asked, cli_estimate) for asked in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
