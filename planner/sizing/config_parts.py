"""What stands beside a model's layers: towers, tensors of few families, layers that only draft tokens."""

from __future__ import annotations

from planner.sizing.architecture import Grouped, Latent, LayerGroup, Part, Tower, layer_parameters
from planner.sizing.config_hybrids import LAYERS, compressed_layer
from planner.sizing.config_layers import Reader
from planner.sizing.config_recurrent import nemotron_kinds, nemotron_layer
from planner.sizing.config_text import ConfigError
from planner.sizing.towers import GEMMA4, SOURCE, read_towers, whisper_encoder


def towers_beside(reader: Reader, hidden: int) -> tuple[Tower, ...]:
    """Encoders beside the language model, as the config of the whole model tells."""
    kind = str(reader.outer.get("model_type"))
    if reader.family_name == "gemma4_text":
        return (Tower(name="vision_tower", parameters=GEMMA4, source="published parameter counts"),)
    if reader.family_name == "whisper":
        found = whisper_encoder(reader.number, hidden)
        return (Tower(name="encoder", parameters=found, source=SOURCE),)
    vision = reader.outer.get("vision_config")
    if vision is None:
        # Llama 4's configs may leave the tower to the family's defaults; a text-only class has none.
        if reader.family_name not in ("llama4", "mllama") or "ForConditionalGeneration" not in str(
            reader.outer.get("architectures")
        ):
            return ()
        kind, vision = reader.family_name, {}
    if not isinstance(vision, dict):
        raise ConfigError("config_wrong_type", "vision_config must be an object", key="vision_config")
    tower = reader.over_tower(vision)
    listed = reader.outer.get("vision_feature_layer")
    features = len(listed) if isinstance(listed, list) and listed else 1
    return read_towers(kind, tower.number, tower.config, hidden, features)


def read_parts(reader: Reader, hidden: int, groups: list[LayerGroup]) -> tuple[Part, ...]:
    """Tensors outside the layers that few families have."""
    found: list[Part] = []
    family = reader.family
    if family.pooler:
        types = reader.number("heads", "type_vocab_size", default=2)
        found += [
            Part(name="token_types", group="embedding", rows=types, columns=hidden, read="lookup"),
            Part(name="embedding_norm", group="norm", rows=2 * hidden),
            Part(name="pooler", group="mlp", rows=hidden, columns=hidden),
            Part(name="pooler_bias", group="norm", rows=hidden),
        ]
    if family.extra_tokens:
        found.append(
            Part(name="extra_tokens", group="embedding", rows=family.extra_tokens, columns=hidden,
                 read="lookup")
        )  # fmt: skip
    streams = groups[0].streams
    if streams:
        found.append(Part(name="mix_head", group="norm", rows=streams * (streams * hidden + 1) + 1))
    return tuple(found)


def draft_parameters(reader: Reader, hidden: int, heads: int, count: int, last: LayerGroup) -> int:
    """Parameters of draft layers: each a layer, a matrix that joins two inputs, three norms."""
    family = reader.family
    if family.draft == "none":
        return 0
    layers = reader.number("index", "num_nextn_predict_layers", "mtp_num_hidden_layers", required=False)
    layers = layers or family.draft_default
    if not layers:
        return 0
    groups = [last]
    edges = 2 * hidden * hidden + 3 * hidden
    if reader.family_name == "nemotron_h":
        kinds = nemotron_kinds(reader, "mtp_hybrid_override_pattern", "mtp_layers_block_type") or []
        groups = [nemotron_layer(reader, kind, hidden, heads) for kind in kinds]
    elif reader.family_name == "deepseek_v4":
        ratios = reader.listed("compress_ratios", count) or []
        groups = [compressed_layer(reader, count, ratios[-1] if len(ratios) > count else 0, hidden, heads)]
        streams = groups[0].streams
        edges += streams * (streams * hidden + 1) + 1
    elif reader.family.kind == "hybrid-GDN+GQA" or reader.family_name == "glm_moe_dsa":
        # Drafting layers attend fully and index by themselves, whatever the last layer does.
        groups = [_fullest(reader, count, hidden, heads)]
    if family.draft == "layer_and_vocabulary":
        edges += 2 * hidden * reader.number("vocab", "vocab_size")
    one = sum(layer_parameters(group.model_copy(update={"count": 1}), hidden) for group in groups)
    return layers * (one + edges)


def _fullest(reader: Reader, count: int, hidden: int, heads: int) -> LayerGroup:
    """The largest kind of layer that attends to all tokens."""
    layers = [LAYERS[reader.family_name](reader, index, count, hidden, heads) for index in range(count)]
    attending = [layer for layer in layers if isinstance(layer.attention, Grouped | Latent)]
    return max(attending or layers, key=lambda layer: layer_parameters(layer, hidden))
