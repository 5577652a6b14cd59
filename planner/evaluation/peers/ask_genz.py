"""Run by an interpreter that has genz-llm: questions on standard input, answers on standard output, as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from typing import Any

MODELS = {
    "llama-1-2-7b": "llama2_7b", "llama-1-2-13b": "llama2_13b", "llama-2-70b": "llama2_70b",
    "llama-3-8b": "llama3_8b", "llama-3-70b": "meta-llama/Llama-3.1-70B", "llama-3.1-405b": "llama_405b",
    "mixtral-8x7b": "mixtral_8x7b", "mixtral-8x22b": "mistralai/mixtral-8x22b", "mistral-7b": "mistral_7b",
    "qwen2-72b": "Qwen/Qwen2.5-72B", "qwen2-7b": "Qwen/Qwen2.5-7B", "qwen2.5-32b": "Qwen/Qwen2.5-32B",
    "qwen2.5-14b": "Qwen/Qwen2.5-14B",
}  # fmt: skip
"""Families of the measurements to models of the same shape that the tool ships."""
BITS = {"w16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "int4", "fp4": "fp4", "gguf": "int4"}


def answer(asked: dict[str, Any], tool: Any) -> dict[str, Any]:
    model, bits, card = MODELS.get(asked["family"]), BITS.get(asked["format"]), asked["device"]
    if not (model and bits and card["teraflops"]):
        return {"id": asked["id"], "error": "model, card or format not in the tool"}
    machine = {
        "Flops": card["teraflops"], "Memory_size": card["memory_gb"], "Memory_BW": card["bandwidth_gb_per_s"],
        "ICN": max(card["link_gb_per_s"], 1.0), "real_values": True,
    }  # fmt: skip
    split = {"tensor_parallel": asked["tp"], "pipeline_parallel": asked["pp"]}
    begun = time.perf_counter()
    try:
        first = tool.prefill_moddeling(
            model=model, batch_size=asked["batch"] if asked["together"] else 1,
            input_tokens=asked["input_tokens"], system_name=machine, bits=bits, **split,
        )  # fmt: skip
        then = tool.decode_moddeling(
            model=model, batch_size=asked["batch"], Bb=1, input_tokens=asked["input_tokens"],
            output_tokens=asked["output_tokens"], system_name=machine, bits=bits, **split,
        )  # fmt: skip
    except Exception as error:
        return {"id": asked["id"], "error": f"{type(error).__name__}: {error}"[:200]}
    return {
        "id": asked["id"], "ttft_s": first["Latency"] / 1000, "tpot_s": then["Latency"] / 1000,
        "seconds": time.perf_counter() - begun,
    }  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        import GenZ  # type: ignore[import-not-found]

        answers = [answer(asked, GenZ) for asked in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
