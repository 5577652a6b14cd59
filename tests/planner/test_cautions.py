"""What is said beside figures that only just hold."""

from __future__ import annotations

from datetime import datetime

import pytest
import time_machine

from planner import cautions, services
from planner.kinds.llm_batch import BATCH
from planner.kinds.llm_serving import SERVING
from planner.sizing.quantities import Estimate
from planner.sizing.results import Candidate, FewerReplicas
from planner.sizing.workload import ServingWorkload
from tests.factories import AT
from tests.planner.factories import make_small_catalog

pytestmark = pytest.mark.django_db
ASKED = {"targets": {"ttft_s": 1.0, "tpot_s": 0.05}}


@pytest.fixture
def candidate(db: None) -> Candidate:
    at: datetime = AT
    with time_machine.travel(at, tick=False):
        make_small_catalog()
        return services.compare(ServingWorkload(), at=at).candidates[0]


def with_ttft(candidate: Candidate, value: float, high: float) -> Candidate:
    assert candidate.speed is not None
    peak = candidate.speed.peak.model_copy(update={"ttft_s": Estimate(value=value, low=value / 2, high=high)})
    return candidate.model_copy(update={"speed": candidate.speed.model_copy(update={"peak": peak})})


@pytest.mark.parametrize(
    ("value", "high", "is_marked"), [(0.871, 4.5, True), (0.5, 0.9, False), (1.2, 4.5, False)]
)
def test_a_range_across_the_target_is_said(
    candidate: Candidate, value: float, high: float, is_marked: bool
) -> None:
    found = with_ttft(candidate, value, high)
    assert ("ttft_peak" in cautions.crossed(SERVING, found, ASKED)) is is_marked
    said = [text for text in cautions.cautions(SERVING, found, ASKED) if text.startswith("TTFT")]
    assert bool(said) is is_marked
    if is_marked:
        assert said == ["TTFT meets the target of 1.00 s on average; the range crosses it, up to 4.50 s."]
    assert "ttft_peak" not in cautions.crossed(SERVING, found, {"targets": {"ttft_s": "none"}})


def test_many_machines_of_one_offer_may_not_be_available(candidate: Candidate) -> None:
    few, many = (candidate.model_copy(update={"machines": count}) for count in (8, 3552))
    assert not [text for text in cautions.cautions(SERVING, few, {}) if "available" in text]
    assert cautions.cautions(SERVING, many, {})[-1].startswith("3,552 machines of one offer")


def test_what_set_the_replicas_and_what_fewer_would_cost_is_said(candidate: Candidate) -> None:
    fewer = FewerReplicas(
        replicas=1, machines=1, target="tpot_s", asked=0.05, got=0.0512, total="803.00", currency="USD"
    )
    two = candidate.model_copy(update={"replicas": 2, "replicas_set_by": "tpot_s", "fewer_replicas": fewer})
    said = cautions.replicas_why(two)
    assert said.startswith("2 replicas: with fewer, tokens would follow more slowly")
    assert "With 1 replica: TPOT 51.2 ms instead of at most 50.0 ms, $803.00 a month." in said
    assert cautions.replicas_why(two.model_copy(update={"replicas": 1})) == ""


def test_thousands_of_replicas_are_set_apart(candidate: Candidate) -> None:
    many = candidate.model_copy(update={"replicas": 2326, "replicas_set_by": "load"})
    assert cautions.replicas_why(many) == "2,326 replicas: fewer would not keep up with the requests."
    assert "; 2,326 replicas carry the peak" in SERVING.headline(many)


def test_a_machine_that_may_vanish_is_no_endpoint(candidate: Candidate) -> None:
    offer = candidate.offer.model_copy(update={"tier": "spot"})
    spot = candidate.model_copy(update={"offer": offer})
    assert any("taken away" in text for text in cautions.cautions(SERVING, spot, {}))
    assert not any("taken away" in text for text in cautions.cautions(SERVING, candidate, {}))
    assert not any("taken away" in text for text in cautions.cautions(BATCH, spot, {}))


def test_more_gpus_than_the_model_needs_are_said(candidate: Candidate) -> None:
    more = {"gpus_per_replica": 2, "warnings": ("more_devices_for_speed",)}
    said = cautions.cautions(SERVING, candidate.model_copy(update=more), {})
    assert any("for speed alone" in text for text in said)
    assert not any("for speed alone" in text for text in cautions.cautions(SERVING, candidate, {}))
