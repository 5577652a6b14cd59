"""Words for the constants of the training model and what else a run assumes."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TRAINING_ASSUMPTIONS: dict[str, str | Promise] = {
    "activation_copies": _("Activations kept, against those counted"),
    "adapter_activation_fraction": _("Share of the activations kept where only adapters are trained"),
    "selective_fraction": _("Share of the inner activations kept with selective recomputation"),
    "working_layers": _("Layers whose activations are worked on at once"),
    "score_bytes": _("Bytes kept per attention score"),
    "working_score_bytes": _("Bytes per attention score while it is worked on"),
    "whole_fraction": _("Share of the weights held whole beside their split"),
    "chunked_logit_fraction": _("Share of the logits held where the loss is in chunks"),
    "gathered_layers": _("Layers whose split weights are gathered at once"),
    "step_copies": _("Copies the optimizer holds during its step"),
    "fragmentation_fraction": _("Memory lost between the allocator's blocks"),
    "variable_fragmentation_fraction": _("Memory lost besides where samples differ in length"),
    "base_bytes": _("Memory of the software, fixed part"),
    "communication_bytes": _("Buffers for exchanges between GPUs"),
    "linear_fraction": _("Compute rate reached in matrix products"),
    "expert_fraction": _("Compute rate reached in experts, as a share of that"),
    "attention_fraction": _("Compute rate reached in attention"),
    "tokens_half": _("Tokens at which matrix products reach half their rate"),
    "expert_tokens_half": _("Tokens per expert at which it reaches half its rate"),
    "width_half": _("Width at which matrix products reach half their rate"),
    "adapter_copies": _("Passes over memory per adapter"),
    "balance_exponent": _("How much of its rate a GPU loses by little bandwidth"),
    "traffic_copies": _("Passes over memory between matrix products"),
    "score_access_bytes": _("Bytes read and written per attention score"),
    "logit_traffic_bytes": _("Bytes read and written per logit"),
    "dequantise_copies": _("Passes over memory to widen quantised weights"),
    "launch_s": _("Time to launch one kernel"),
    "tensor_exposed": _("Share of tensor-parallel exchanges that is waited for"),
    "overlap_fraction": _("Share of these exchanges hidden behind computing"),
    "context_exposed": _("Share of context-parallel exchanges that is waited for"),
    "expert_exposed": _("Share of exchanges between experts that is waited for"),
    "gather_slowness": _("Time to gather split weights, against that of the link alone"),
    "gather_exposed": _("Share of gathering weights that is waited for in any case"),
    "reduce_exposed": _("Share of adding up gradients that is waited for"),
    "straggling_fraction": _("Time waited for the slowest, per doubling of the machines"),
    "optimizer_copies": _("Passes over memory in the optimizer's step"),
    "host_slowness": _("Time of the step in host memory, against that of its traffic alone"),
    "gpu_hours_per_failure": _("GPU hours per failure"),
    "fabric_bytes_per_s": _("Network between machines, each GPU"),
}
