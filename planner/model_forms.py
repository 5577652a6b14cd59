"""Forms that take a model from outside: an id on a hub, and the plain numbers of a decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from planner import hub, model_import, refusals
from planner.architectures import CAME_FROM, PLAIN_NAME
from planner.fields import ChoiceField, NumberField, SheetField, WordField
from planner.sizing.architecture import ModelError, parameter_count
from planner.sizing.config_reader import understand
from planner.sizing.config_values import TEXT_KEYS

PARAMETERS_STATED = "_parameters_stated"
WORKED_OUT = "_worked_out"
"""Keys of the configuration that were worked out from the number of parameters."""
STEP = 128
"""A width worked out is a multiple of this, as those of published models are."""


class HubForm(forms.Form):
    """A model's id on the hub, with a revision."""

    use_required_attribute = False
    hub_id = WordField(label=_("Id on the hub"), max_length=193, help_text=_("Such as Qwen/Qwen3-8B."))
    hub_revision = WordField(
        label=_("Revision"), max_length=64, pattern=r"[\w.\-]+", help_text=_("Empty: the default branch.")
    )

    def clean_hub_id(self) -> str:
        name = str(self.cleaned_data["hub_id"])
        if not hub.is_hub_id(name):
            raise ValidationError(_("Write organisation/model, as in the model's address."), code="hub_id")
        return name


class NumbersForm(forms.Form):
    """A plain decoder by its numbers. ``config`` holds the configuration after ``is_valid()``."""

    use_required_attribute = False
    name = WordField(
        label=_("Name"), max_length=96, pattern=PLAIN_NAME.pattern, default="my-model",
        help_text=_("Letters, digits, points and dashes."),
    )  # fmt: skip
    parameters = NumberField(
        label=_("Parameters in total"), unit=_("billions"),
        help_text=_("If given, it is compared with what the shapes add up to."),
    )  # fmt: skip
    layers = NumberField(label=_("Layers"), path=("num_hidden_layers",), integer=True)
    hidden = NumberField(label=_("Hidden size"), path=("hidden_size",), integer=True)
    heads = NumberField(label=_("Attention heads"), path=("num_attention_heads",), integer=True)
    kv_heads = NumberField(
        label=_("KV heads"), path=("num_key_value_heads",), integer=True,
        help_text=_("Empty: as many as attention heads."),
    )  # fmt: skip
    head_dim = NumberField(
        label=_("Size of a head"), path=("head_dim",), integer=True,
        help_text=_("Empty: hidden size ÷ heads."),
    )  # fmt: skip
    intermediate = NumberField(
        label=_("Width of the MLP"), path=("intermediate_size",), integer=True,
        help_text=_("Empty: worked out from the parameters in total."),
    )  # fmt: skip
    vocab = NumberField(
        label=_("Vocabulary"),
        path=("vocab_size",),
        integer=True,
        unit=_("tokens"),
        help_text=_("Such as 128,256 (Llama 3) or 151,936 (Qwen 3)."),
    )
    tied = ChoiceField(
        label=_("Output layer"), default="no",
        choices=(("no", _("its own matrix")), ("yes", _("the embedding again (tied)"))),
    )  # fmt: skip
    context = NumberField(
        label=_("Longest context"), path=("max_position_embeddings",), integer=True, unit=_("tokens"),
        help_text=_("Empty: unknown."),
    )  # fmt: skip
    window = NumberField(
        label=_("Sliding window of every layer"), path=("sliding_window",), integer=True, unit=_("tokens"),
        help_text=_("Empty: every layer sees all tokens."),
    )  # fmt: skip
    experts = NumberField(
        label=_("Experts in a layer"), path=("num_local_experts",), integer=True,
        help_text=_("Empty: a dense model."),
    )  # fmt: skip
    experts_per_token = NumberField(
        label=_("Experts a token takes"), path=("num_experts_per_tok",), integer=True
    )
    expert_width = NumberField(
        label=_("Width of an expert"), path=("moe_intermediate_size",), integer=True,
        help_text=_("Empty: worked out from the parameters in total."),
    )  # fmt: skip
    shared_width = NumberField(
        label=_("Width of shared experts"), path=("shared_expert_intermediate_size",), integer=True,
        help_text=_("All of them together. Empty: none."),
    )  # fmt: skip
    dense_layers = NumberField(
        label=_("First layers without experts"), path=("first_k_dense_replace",), integer=True,
        help_text=_("Their MLP has the width above. Empty: none."),
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", "n-%s")
        super().__init__(*args, **kwargs)
        self.config: dict[str, Any] = {}
        self._path_fields = {
            field.path[0]: name
            for name, field in self.fields.items()
            if isinstance(field, SheetField) and field.path
        }

    @classmethod
    def initial_of(cls, config: Mapping[str, Any]) -> dict[str, str]:
        """What a configuration says of these numbers, to begin with; nothing else of it is taken over."""
        inner: Mapping[str, Any] = next(
            (config[key] for key in TEXT_KEYS if isinstance(config.get(key), dict)), {}
        )
        worked_out = config.get(WORKED_OUT)
        flat = {**config, **inner}
        for key in worked_out if isinstance(worked_out, list) else ():
            flat.pop(str(key), None)
        found: dict[str, str] = {}
        stated = config.get(PARAMETERS_STATED)
        if isinstance(stated, int) and stated > 0:
            found["parameters"] = f"{stated / 1e9:.12g}"
        for name, field in cls.base_fields.items():
            value = flat.get(field.path[0]) if isinstance(field, SheetField) and field.path else None
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**12:
                found[name] = str(value)
        if flat.get("tie_word_embeddings") is True:
            found["tied"] = "yes"
        label = config.get("_name_or_path")
        if isinstance(label, str) and len(label) <= 96 and PLAIN_NAME.fullmatch(label):
            found["name"] = label
        return found

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in ("layers", "hidden", "heads", "vocab"):
            if cleaned.get(name) is None and name not in self.errors:
                self.add_error(name, _("This number is needed."))
        heads, kv_heads = cleaned.get("heads"), cleaned.get("kv_heads")
        if heads and kv_heads and kv_heads > 0 and heads % kv_heads:
            self.add_error("kv_heads", _("The KV heads must divide the attention heads."))
        experts = cleaned.get("experts")
        if experts and cleaned.get("experts_per_token") is None and "experts_per_token" not in self.errors:
            self.add_error("experts_per_token", _("This number is needed where there are experts."))
        if not experts:
            for name in ("experts_per_token", "expert_width", "shared_width", "dense_layers"):
                if cleaned.get(name) and name not in self.errors:
                    self.add_error(name, _("This is of models with experts: say how many a layer has."))
        stated = cleaned.get("parameters")
        if stated is not None and not 0 < stated <= 100_000:
            self.add_error("parameters", _("From above 0 to 100,000 billion parameters are read."))
        if self.errors:
            return cleaned
        config = self._document(cleaned)
        open_width = "moe_intermediate_size" if experts else "intermediate_size"
        if config.get(open_width) is None and (stated is None or self._has_no_layer_to_widen(cleaned)):
            self.add_error(self._path_fields[open_width], _("Give this width, or the parameters in total."))
            return cleaned
        try:
            if config.get(open_width) is None:
                config = self._widened(config, open_width, round((stated or 0) * 1e9))
            self.config = model_import.from_config(config).config
        except ModelError as refused:
            self._place(refused)
        return cleaned

    def _has_no_layer_to_widen(self, cleaned: dict[str, Any]) -> bool:
        return bool(cleaned.get("experts")) and (cleaned.get("dense_layers") or 0) >= (
            cleaned.get("layers") or 0
        )

    def _document(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The numbers under the names that a ``config.json`` has for them."""
        config = {
            key: cleaned[name] for key, name in self._path_fields.items() if cleaned.get(name) is not None
        }
        config |= {
            "model_type": "mixtral" if cleaned.get("experts") else "llama",
            "tie_word_embeddings": cleaned.get("tied") == "yes",
            "_name_or_path": cleaned.get("name") or "my-model",
            CAME_FROM: "numbers",
        }
        if cleaned.get("parameters") is not None:
            config[PARAMETERS_STATED] = round(cleaned["parameters"] * 1e9)
        return config

    def _widened(self, config: dict[str, Any], key: str, stated: int) -> dict[str, Any]:
        """The open width for which the shapes add up to the stated parameters: their number is linear in it."""
        low = parameter_count(understand({**config, key: STEP}).architecture)
        one = (parameter_count(understand({**config, key: 2 * STEP}).architecture) - low) / STEP
        width = STEP + (stated - low) / one
        if width < 1:
            self.add_error(
                "parameters",
                _(
                    "The other shapes alone have %(count)s billion parameters: more than the total leaves room for."
                )
                % {"count": f"{(low - one * STEP) / 1e9:,.2f}"},
            )
            return {**config, key: 1}
        rounded = max(1, round(width)) if width < 4 * STEP else STEP * round(width / STEP)
        return {**config, key: rounded, WORKED_OUT: [key]}

    def _place(self, refused: ModelError) -> None:
        if refused.code == "config_out_of_range":
            message = str(_("From %(low)s to %(high)s is accepted.")) % {
                "low": f"{refused.params['low']:,}", "high": f"{refused.params['high']:,}",
            }  # fmt: skip
        elif refused.code == "config_missing_key":
            message = str(_("This number is needed."))
        else:
            message = refusals.model_refusal(refused.code, refused.params, str(refused))
        self.add_error(self._path_fields.get(str(refused.params.get("key"))), message)
