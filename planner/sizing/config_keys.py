"""Which keys of a config were read, and which of the others may shape the model."""

from __future__ import annotations

import re
from typing import Any

from planner.sizing.config_text import printable

NAMED_MAXIMUM = 50
INERT = re.compile(
    r"""_token_id$|_token_ids$|_token_index$|^(?:pad|bos|eos|sep|unk|cls|mask)_|dropout|drop_rate|initializer|_eps$
    |epsilon|^rope|rope_theta|^rotary|partial_rotary|^output_|^use_cache|^transformers_version|^torch_dtype$
    |^dtype$|^_|^auto_map$|^architectures$|^model_type$|^task_|^problem_type|^id2label|^label2id|^finetuning
    |^decoder_start|_attn_implementation|^attn_implementation|router_aux|aux_loss|jitter|capacity|scoring
    |scaling_factor|^topk|^n_group$|^norm_topk|^seq_aux|^ep_size|^pretraining_tp|loss|^chunk_size|^is_
    |^max_length|^min_length|^num_beam|^temperature|^top_[kp]$|repetition|diversity|no_repeat|early_stopping
    |length_penalty|do_sample|return_dict|remove_invalid|suppress|bad_words|forced_|prefix|^tie_encoder|torchscript
    |use_bfloat16|pruned_heads|exponential_decay|tokenizer|time_step_(?:floor|limit|max|min)|residual_in_fp32
    |rescale_prenorm|softcap|query_pre_attn|^hidden_act|_act$|activation|use_mamba_kernels|num_logits
    |mamba_ssm|_dtype$|moe_router_dtype|placeholder|ignore_index|processor|_version$|index_topk|^index_skip
    |indexer_rope|index_share|sinkhorn|compress_rope|swiglu|use_gemma_norm|mup|multiplier|^logit|scale$|^scale_
    |_limit$|_lower_bound$|quantization_config|quantized|^mamba_chunk|max_window_layers|use_sliding_window
    |use_bidirectional|image_(?:grid|token)|video_|vision_(?:start|end|soft)|audio_token|original_max
    |normalize|weight_decay|^name$|^revision$|_topk_|_init_block|_local_block|block_size$|score_type
    |^vt_num_attention_heads|^num_heads$|^merge_type|^mm_hidden|^mm_projector_type|^pos_emb|^text_hidden_size
    |^mlp_type|^norm_type|init_pos_emb_time|^num_expert_group|typical_p|use_grouped|mla_use_nope|initial_context
    |projector_ln|^position_embedding_type|^rope_mode|^image_seq_length|_select_strategy|^num_reward|process_image
    |max_frames|_disable_index_value|^pooling_kernel|^default_output_length|^standardize|^num_return|interpolation|^use_unified|moe_shared_expert_overlap|_freq$|^layer_scale""",
    re.VERBOSE,
)
"""Keys that change how a model is trained, initialised, positioned or sampled, but no tensor's shape."""


class Watched(dict[str, Any]):
    """A config that remembers which of its keys were asked for."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.seen: set[str] = set()

    @classmethod
    def of(cls, values: dict[str, Any]) -> Watched:
        return values if isinstance(values, cls) else cls(values)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)


def left_aside(*levels: Watched) -> tuple[str, ...]:
    """Keys with a value that were not read and may shape the model, in the order of the config."""
    found: list[str] = []
    for level in levels:
        for key, value in level.items():
            empty = value is None or value is False or value in ("", 0, [], {})
            if key in level.seen or empty or INERT.search(key):
                continue
            shown = printable(key)
            if shown not in found:
                found.append(shown)
    return tuple(found[:NAMED_MAXIMUM])
