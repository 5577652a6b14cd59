"""Why a model or an engine version cannot be sized, in sentences; the codes come from the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog.source_words import said
from planner.sizing.architecture import ModelError

Text = str | Promise

REFUSALS: dict[str, Text] = {
    "not_sized": _("%(model)s is known, but its kind of attention (%(kind)s) cannot be sized yet."),
    "unsupported_architecture": _("“%(name)s” cannot be sized yet: %(kind)s."),
    "config_too_large": _("This config.json is larger than 64 kB or has too many values."),
    "config_encoding": _("This config.json is not text in UTF-8 or UTF-16."),
    "config_archive": _("This file is packed. Unpack it and choose the config.json inside."),
    "config_is_checkpoint": _("This file holds weights. Choose the config.json that lies beside it."),
    "config_is_index": _(
        "This is the index of a checkpoint in several files. Choose the config.json that lies beside it."
    ),
    "config_is_adapter": _(
        "This is the configuration of an adapter. Choose the config.json of the model it was made for: “%(name)s”."
    ),
    "config_is_diffusion": _("This describes a model that makes pictures, not a language model."),
    "config_is_tokenizer": _(
        "This is the configuration of a tokenizer. Choose the config.json that lies beside it."
    ),
    "config_empty": _("This file is empty."),
    "config_twice": _("Either paste the text or choose a file: both are given."),
    "config_too_deep": _("This config.json is nested deeper than 32 levels."),
    "config_not_json": _("This is not valid JSON: a config.json is whole from { to }."),
    "config_not_object": _("A config.json is one JSON object: it begins with { and ends with }."),
    "config_not_finite": _("This config.json holds %(value)s, which is no number."),
    "config_duplicate_key": _("This config.json has the key “%(key)s” twice."),
    "config_wrong_type": _("“%(key)s” in this config.json has a value of the wrong kind."),
    "config_out_of_range": _("“%(key)s” in this config.json must be from %(low)s to %(high)s."),
    "config_too_short": _("“%(key)s” in this config.json must name each of the %(count)s layers."),
    "config_too_many_parameters": _(
        "The numbers of this config.json make more than %(billions_maximum)s billion parameters."
    ),
    "config_heads_not_shared": _(
        "“num_attention_heads” (%(heads)s) in this config.json must be a multiple of “num_key_value_heads” "
        "(%(kv_heads)s)."
    ),
    "hub_off": _("Reading models from the hub is switched off here. Paste the model's config.json."),
    "hub_unreachable": _(
        "The model hub gave no answer in time, so “%(name)s” is not known. Paste its config.json, or try again in "
        "a minute."
    ),
    "hub_not_found": _("The model hub has no “%(name)s” with a config.json at that revision."),
    "hub_gated": _("The model hub shows “%(name)s” only to those who were let in. Paste its config.json."),
    "hub_busy": _(
        "The model hub is asked too often just now. Paste the config.json of “%(name)s”, or try again in a minute."
    ),
    "hub_too_large": _("The config.json of “%(name)s” is larger than 2 MB."),
    "hub_redirected": _("The model hub sent us to another host for “%(name)s”; that is not followed."),
    "hub_unreadable": _("The model hub's answer for “%(name)s” could not be read."),
    "header_truncated": _("The header goes on beyond what was sent of this file: it is cut off too early."),
    "header_unknown": _("This is neither a config.json nor the beginning of a GGUF or safetensors file."),
    "header_not_json": _("The header of this safetensors file is not valid JSON."),
    "header_out_of_range": _("The header of this file holds numbers that no model has."),
    "header_wrong_type": _("The header of this file holds a value of the wrong kind."),
    "header_version": _("GGUF version %(version)s is not read; versions 2 and 3 are."),
    "header_empty": _("This file holds no tensors."),
    "header_no_shapes": _(
        "The header of a safetensors file lists tensors but not how many heads share them, so it does not say what "
        "the model is. Choose the config.json that lies beside it, or complete the numbers below."
    ),
    "header_unknown_architecture": _(
        "GGUF files of the kind “%(name)s” cannot be sized yet. If the model is a plain decoder, give its numbers."
    ),
    "config_missing_key": _("“%(key)s” is missing in this config.json."),
}


def unknown_version(params: Mapping[str, Any]) -> str:
    """No such engine version: what is accepted is said."""
    return str(
        _(
            "“%(version)s” is no version we know; write for example %(known)s, or leave it empty for "
            "the newest."
        )
    ) % {"version": params.get("version") or "", "known": ", ".join(list(params.get("known", ()))[-3:])}


def model_refusals(refused: ModelError) -> list[str]:
    """All that is wrong with a model that was given, a sentence each."""
    faults = getattr(refused, "faults", ()) or (refused,)
    return [model_refusal(fault.code, fault.params, str(fault)) for fault in faults]


def model_refusal(code: str, params: Mapping[str, Any], fallback: str) -> str:
    """Why a model cannot be sized."""
    if code == "unknown_model":
        suggestions = ", ".join(str(name) for name in params.get("suggestions", ()))
        if suggestions:
            return str(_(
                "“%(name)s” is not among the shipped models. Near to it: %(suggestions)s. Or paste its "
                "config.json."
            )) % {
                "name": params.get("name", ""), "suggestions": suggestions}  # fmt: skip
        return str(_("“%(name)s” is not among the shipped models. Paste its config.json.")) % {
            "name": params.get("name", "")
        }
    sentence = REFUSALS.get(code)
    if sentence is None:
        return fallback
    words = {
        "key": "",
        "low": "",
        "high": "",
        "name": "",
        "kind": "",
        "model": "",
        "value": "",
        "version": "",
    } | {name: f"{value:,}" if isinstance(value, int) else value for name, value in params.items()}
    if isinstance(words["kind"], str):
        words["kind"] = said(words["kind"])
    if code == "config_out_of_range" and not {"low", "high"} <= set(params):
        return fallback
    if code == "unsupported_architecture" and not params.get("kind"):
        return str(_("Models of the kind “%(name)s” cannot be sized yet.")) % words
    return str(sentence) % words
