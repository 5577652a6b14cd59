"""Which architecture a row of a training file means: a shipped one, a published shape, or the usual one."""

from __future__ import annotations

import re
from functools import lru_cache

from planner import architectures
from planner.sizing.architecture import Architecture, Dense, LayerGroup, Moe, Tower, parameter_count
from planner.sizing.mixers import Grouped, Latent
from planner.sizing.training.shapes import usual, usual_with_experts

PAPER = "configuration as its maker published it"


def _plain(
    name: str, layers: int, hidden: int, heads: int, kv_heads: int, mlp: int, vocab: int, *, gated: bool = True,
    tied: bool = False, head_dim: int | None = None, positions: int = 0, tower: int = 0,
) -> Architecture:  # fmt: skip
    attention = Grouped(heads=heads, kv_heads=kv_heads, head_dim=head_dim or hidden // heads)
    return Architecture(
        id=name, family=name, hidden=hidden, vocab=vocab, tied=tied, learned_positions=positions,
        layers=(LayerGroup(count=layers, attention=attention, mlp=Dense(intermediate=mlp, gated=gated)),),
        towers=(Tower(name="vision", parameters=tower, source=PAPER),) if tower else (), source=PAPER,
    )  # fmt: skip


def _mpt(name: str, layers: int, hidden: int, heads: int) -> Architecture:
    return _plain(
        name, layers, hidden, heads, heads, 4 * hidden, 50368, gated=False, tied=True, positions=2048
    )


def _gpt(name: str, layers: int, hidden: int, heads: int, vocab: int = 51200) -> Architecture:
    return _plain(
        name, layers, hidden, heads, heads, 4 * hidden, vocab, gated=False, tied=True, positions=2048
    )


def _moonlight() -> Architecture:
    attention = Latent(heads=16, kv_rank=512, nope_dim=128, rope_dim=64, value_dim=128)
    first = LayerGroup(count=1, attention=attention, mlp=Dense(intermediate=11264))
    rest = LayerGroup(count=26, attention=attention, mlp=Moe(
        experts=64, experts_per_token=6, intermediate=1408, shared_intermediate=2816))  # fmt: skip
    return Architecture(id="Moonlight-16B-A3B", family="kimi", hidden=2048, vocab=163840, tied=False,
                        layers=(first, rest), source=PAPER)  # fmt: skip


def _flash() -> Architecture:
    attention = Latent(heads=20, query_rank=768, kv_rank=512, nope_dim=192, rope_dim=64, value_dim=256)
    first = LayerGroup(count=1, attention=attention, mlp=Dense(intermediate=10240))
    rest = LayerGroup(count=46, attention=attention, mlp=Moe(
        experts=64, experts_per_token=4, intermediate=1536, shared_intermediate=1536))  # fmt: skip
    return Architecture(id="GLM-4.7-Flash", family="glm", hidden=2048, vocab=154880, tied=False,
                        layers=(first, rest), source=PAPER)  # fmt: skip


PUBLISHED: tuple[tuple[str, Architecture], ...] = (
    (r"mpt-125m", _mpt("MPT-125m", 12, 768, 12)),
    (r"mpt-350m", _mpt("MPT-350m", 24, 1024, 16)),
    (r"mpt-760m", _mpt("MPT-760m", 24, 1536, 12)),
    (r"mpt-1b", _mpt("MPT-1b", 24, 2048, 16)),
    (r"mpt-3b", _mpt("MPT-3b", 32, 2560, 20)),
    (r"mpt-7b", _mpt("MPT-7b", 32, 4096, 32)),
    (r"mpt-13b", _mpt("MPT-13b", 40, 5120, 40)),
    (r"mpt-30b", _mpt("MPT-30b", 48, 7168, 56)),
    (r"mpt-70b", _mpt("MPT-70b", 80, 8192, 64)),
    (r"bloom-?176b", _plain("BLOOM-176B", 70, 14336, 112, 112, 57344, 250880, gated=False, tied=True)),
    (r"gpt-?3[ -]?175b|^gpt 175b", _gpt("GPT-3 175B", 96, 12288, 96)),
    (r"^gpt 1\.3b", _gpt("GPT 1.3B", 24, 2048, 16)),
    (r"^gpt 7\.5b", _gpt("GPT 7.5B", 36, 4096, 32)),
    (r"^gpt 39\.1b", _gpt("GPT 39.1B", 48, 8192, 64)),
    (r"^gpt 145\.6b", _gpt("GPT 145.6B", 80, 12288, 96)),
    (r"^gpt 529\.6b|^gpt 530b", _gpt("GPT 530B", 105, 20480, 128)),
    (r"^gpt 1008b|^gpt 1000b|^gpt 1t", _gpt("GPT 1T", 128, 25600, 160)),
    (r"gpt-?3-?5b", _gpt("GPT3-5B", 24, 4096, 32)),
    (r"gpt-?3-?20b", _gpt("GPT3-20B", 44, 6144, 48)),
    (r"gpt-?2 124m", _gpt("GPT-2 124M", 12, 768, 12, 50304)),
    (r"gpt-?2 35\dm", _gpt("GPT-2 350M", 24, 1024, 16, 50304)),
    (r"gpt-?2 774m", _gpt("GPT-2 774M", 36, 1280, 20, 50304)),
    (r"gpt-?2 1\.[56]", _gpt("GPT-2 1.5B", 48, 1600, 25, 50304)),
    (r"stablelm.*alpha.*3b", _plain("StableLM-alpha-3B", 16, 4096, 32, 32, 16384, 50688, gated=False)),
    (r"stablelm.*alpha.*7b", _plain("StableLM-alpha-7B", 16, 6144, 48, 48, 24576, 50432, gated=False)),
    (r"pythia.*1b", _plain("Pythia-1B", 16, 2048, 8, 8, 8192, 50304, gated=False)),
    (r"pythia.*6\.9b", _plain("Pythia-6.9B", 32, 4096, 32, 32, 16384, 50432, gated=False)),
    (r"pythia.*12b", _plain("Pythia-12B", 36, 5120, 40, 40, 20480, 50688, gated=False)),
    (r"gpt-?neox.*20b", _plain("GPT-NeoX-20B", 44, 6144, 64, 64, 24576, 50432, gated=False)),
    (r"chatglm[23]-6b", _plain("ChatGLM3-6B", 28, 4096, 32, 2, 13696, 65024)),
    (r"baichuan2-13b", _plain("Baichuan2-13B", 40, 5120, 40, 40, 13696, 125696)),
    (r"baichuan2-7b", _plain("Baichuan2-7B", 32, 4096, 32, 32, 11008, 125696)),
    (r"llama-?1?-?65b", _plain("LLaMA-65B", 80, 8192, 64, 64, 22016, 32000)),
    (r"llama-?1?-?3[03]b", _plain("LLaMA-33B", 60, 6656, 52, 52, 17920, 32000)),
    (r"nemotron-?22b", _plain("Nemotron-22B", 40, 6144, 48, 48, 24576, 256000, gated=False)),
    (r"nemotron-?4?-?340b", _plain("Nemotron-340B", 96, 18432, 96, 8, 73728, 256000, gated=False)),
    (r"nemotron-?4?-?15b", _plain("Nemotron-15B", 32, 6144, 48, 8, 24576, 256000, gated=False)),
    (r"qwen2\.5-vl-7b", _plain("Qwen2.5-VL-7B", 28, 3584, 28, 4, 18944, 152064, tower=676_000_000)),
    (r"qwen2\.5-vl-3b", _plain("Qwen2.5-VL-3B", 36, 2048, 16, 2, 11008, 151936, tied=True, tower=668_000_000)),
    (r"(devstral|magistral|mistral)-small-?(3.*)?24b",
     _plain("Mistral-Small-24B", 40, 5120, 32, 8, 32768, 131072, head_dim=128)),
    (r"ministral-8b", _plain("Ministral-8B", 36, 4096, 32, 8, 12288, 131072)),
    (r"apertus-8b", _plain("Apertus-8B", 32, 4096, 32, 8, 21504, 131072, gated=False)),
    (r"seed-oss-36b", _plain("Seed-OSS-36B", 64, 5120, 80, 8, 27648, 155136, head_dim=128)),
    (r"plano-4b|qwen3-4b", _plain("Qwen3-4B", 36, 2560, 32, 8, 9728, 151936, tied=True, head_dim=128)),
    (r"hunyuan-0\.5b", _plain("Hunyuan-0.5B", 24, 1024, 16, 8, 3584, 120818, tied=True, head_dim=128)),
    (r"lfm2-350m", _plain("LFM2-350M", 16, 1024, 16, 8, 4608, 65536, tied=True)),
    (r"bert-large", _plain("BERT-large", 24, 1024, 16, 16, 4096, 30522, gated=False, tied=True)),
    (r"bert-base", _plain("BERT-base", 12, 768, 12, 12, 3072, 30522, gated=False, tied=True)),
    (r"moonlight-16b", _moonlight()),
    (r"glm-4\.7-flash", _flash()),
)  # fmt: skip
"""Models that the product does not ship, by name, with the shapes of their published configurations."""

SAME_SHAPE = (
    (r"^qwen 14b", "Qwen/Qwen-14B-Chat"),
    (r"^qwen 7b", "Qwen/Qwen-7B-Chat"),
    (r"^qwen 72b", "Qwen/Qwen-72B-Chat"),
)
PLAIN_MLP = (
    "gpt",
    "opt",
    "bloom",
    "mpt",
    "falcon",
    "phi",
    "stablelm",
    "bert",
    "pythia",
    "starcoder",
    "nemotron",
)
VOCABULARIES = (
    ("llama-3", 128256), ("llama-like", 32000), ("llama", 32000), ("qwen", 151936), ("mixtral", 32000),
    ("mistral", 131072), ("gemma", 256000),
    ("phi", 51200), ("gpt-oss", 201088), ("gpt", 51200), ("opt", 50272), ("bloom", 250880), ("falcon", 65024),
    ("glm", 151552), ("baichuan", 125696), ("internlm", 92544), ("deepseek", 129280), ("kimi", 163840),
    ("yi", 64000), ("stablelm", 50432), ("pythia", 50432), ("nemotron", 256000), ("bert", 30522), ("t5", 32128),
)  # fmt: skip
"""Vocabulary sizes that the models of a family share."""
DEFAULT_VOCABULARY = 128_000
AGREES = 0.12
"""A named shape counts where its parameters are this near to the stated number."""
NOT_LANGUAGE = ("diffusion", "audio")


@lru_cache(maxsize=512)
def model(
    name: str, model_id: str, family: str, parameters: float | None, active: float | None
) -> Architecture | None:
    """The architecture a row means. None where not even the number of parameters is stated."""
    entry = architectures.find(model_id) if model_id else None
    if entry is None:
        found = _named(name, parameters)
        if found is not None:
            return found
        entry = architectures.find(name)
    if entry is not None and entry.architecture is not None:
        return entry.architecture
    if parameters is None:
        return None
    low = family.lower()
    vocab = next((size for word, size in VOCABULARIES if low.startswith(word)), DEFAULT_VOCABULARY)
    if active is not None and active < 0.8 * parameters:
        return usual_with_experts(parameters, active, vocab)
    plain = low.startswith(PLAIN_MLP) and not low.startswith("gpt-oss")
    return usual(parameters, vocab, gated=not plain, tied=plain)


def _named(name: str, parameters: float | None) -> Architecture | None:
    low = name.lower()
    for pattern, arch in PUBLISHED:
        if re.search(pattern, low):
            count = parameter_count(arch)
            if parameters is None or abs(count / parameters - 1) <= AGREES:
                return arch
    for pattern, target in SAME_SHAPE:
        if re.search(pattern, low):
            entry = architectures.find(target)
            return entry.architecture if entry else None
    return None
