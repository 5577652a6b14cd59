"""How the needs of a machine's host come about, where a model is served."""

from __future__ import annotations

from collections.abc import Mapping

from planner.sizing import host
from planner.sizing.quantities import Derivation, Term
from planner.sizing.results import Candidate


def _plain(symbol: str, value: float, unit: str = "1", source: str | None = None) -> Term:
    return Term(symbol=symbol, value=value, unit=unit, source=source)


def serving(
    candidate: Candidate, load: host.ServingLoad, weights: Derivation, assumed: Mapping[str, float]
) -> dict[str, Derivation]:
    """Cores, memory and disks of one machine that serves; ``weights`` are those of the whole model, unsplit."""
    figures = candidate.figures
    whole = weights.model_copy(update={"figure": "weights_file_bytes"})
    found = [
        whole,
        Derivation(
            figure="host_ram_bytes",
            formula="(weights_file_bytes + gpus * replica_bytes + offloaded_bytes + system_bytes)"
            " * (1 + ram_headroom_fraction)",
            terms=(
                _plain("weights_file_bytes", load.weights_bytes, "byte"),
                _plain("gpus", load.gpus),
                host.REPLICA_BYTES.term(assumed),
                _plain(
                    "offloaded_bytes", load.offloaded_bytes, "byte", "weights and cache moved to the host"
                ),
                host.SYSTEM_BYTES.term(assumed),
                host.RAM_HEADROOM_FRACTION.term(assumed),
            ),
            value=figures["host_ram_bytes"].value,
            unit="byte",
        ),
        Derivation(
            figure="storage_needed_bytes",
            formula="weights_kept * weights_file_bytes",
            terms=(host.WEIGHTS_KEPT.term(assumed), _plain("weights_file_bytes", load.weights_bytes, "byte")),
            value=figures["storage_needed_bytes"].value,
            unit="byte",
        ),
    ]
    facts = candidate.offer.host
    known = facts.storage_bytes_per_s if facts else None
    each = _plain("read_bytes_per_s", known, "byte/s", facts.source if facts else None) if known else None
    each = each or host.NETWORK_STORAGE_BYTES_PER_S.term({})
    found.append(
        Derivation(
            figure="load_s",
            formula=f"weights_file_bytes / {each.symbol}",
            terms=(_plain("weights_file_bytes", load.weights_bytes, "byte"), each),
            value=load.weights_bytes / each.value,
            unit="s",
        )
    )
    cores = figures.get("host_cores")
    if cores is not None:
        found.append(
            Derivation(
                figure="host_cores",
                formula="gpus * engine_cores_per_gpu + replicas * engine_cores_per_replica"
                " + requests_per_s * (input_tokens / tokenised_per_core_s + request_core_s)"
                " + output_tokens_per_s / streamed_per_core_s",
                terms=(
                    _plain("gpus", load.gpus),
                    host.ENGINE_CORES_PER_GPU.term(assumed),
                    _plain("replicas", load.replicas, source="on one machine"),
                    host.ENGINE_CORES_PER_REPLICA.term(assumed),
                    _plain("requests_per_s", load.requests_per_s, "1/s", "at peak, one machine"),
                    _plain("input_tokens", load.input_tokens, "token", "as entered"),
                    host.TOKENISED_PER_CORE_S.term(assumed),
                    host.REQUEST_CORE_S.term(assumed),
                    _plain(
                        "output_tokens_per_s", load.output_tokens_per_s, "token/s", "at peak, one machine"
                    ),
                    host.STREAMED_PER_CORE_S.term(assumed),
                ),
                value=cores.value,
                unit="1",
            )
        )
    return {item.figure: item for item in found}
