"""The data path and the host: Amdahl, the slowest part, memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.sizing import host
from planner.sizing.host import DataPath, DataStage


def path(decode_s: float = 0.01, parallel: float = 0.9, collate_s: float = 0.001, sample_bytes: float = 1e6,
         read: float = 1e9, copy: float = 1e10) -> DataPath:  # fmt: skip
    return DataPath(
        sample_bytes=sample_bytes, read_bytes_per_s=read, copy_bytes_per_s=copy,
        stages=(
            DataStage(name="decode", sample_s=decode_s, parallel_fraction=parallel),
            DataStage(name="collate", sample_s=collate_s, parallel_fraction=0.0),
        ),
    )  # fmt: skip


def test_cores_help_only_what_runs_in_parallel() -> None:
    """10 ms, nine tenths of it shared by nine cores: 1 + 1 ms; and 1 ms of collating that nobody shares."""
    assert host.path_rate(path(), 9).cores_per_s == pytest.approx(1 / 0.003)
    assert host.path_rate(path(), 1e9).cores_per_s == pytest.approx(1 / 0.002)


@given(st.floats(1, 1000), st.floats(1, 1000))
def test_more_cores_never_load_slower(cores: float, more: float) -> None:
    assert host.path_rate(path(), cores + more).samples_per_s >= host.path_rate(path(), cores).samples_per_s


def test_the_slowest_part_is_named() -> None:
    assert host.path_rate(path(read=1e6), 64).slowest == "storage_read"
    assert host.path_rate(path(decode_s=1.0), 4).slowest == "data_loading"
    assert host.path_rate(path(copy=1e6), 64).slowest == "copy"


def test_cores_for_a_rate_give_that_rate() -> None:
    cores = host.cores_for(path(), 300)
    assert cores is not None
    assert host.path_rate(path(), cores).cores_per_s == pytest.approx(300)


def test_no_number_of_cores_outruns_the_serial_part() -> None:
    assert host.cores_for(path(), 501) is None


def test_memory_is_loading_workers_shared_memory_and_a_fifth_more() -> None:
    need = host.host_need(cores=1, weights_bytes=16e9, workers=8, worker_bytes=1e9, batch_bytes=1e6)
    shared = 8 * 2 * 1e6
    assert need.shared_memory_bytes == shared
    assert need.ram_bytes == pytest.approx((16e9 + 8e9 + shared + 4e9) * 1.2)
    assert need.page_cache_bytes == 0


@given(st.integers(0, 64), st.integers(1, 64))
def test_more_workers_never_need_less_memory(workers: int, more: int) -> None:
    few, many = (
        host.host_need(cores=1, weights_bytes=1e9, workers=n, worker_bytes=1e9, batch_bytes=1e6).ram_bytes
        for n in (workers, workers + more)
    )
    assert many > few
