"""Five short runs of the fault program; `tools/faults` runs as many as wanted."""

from __future__ import annotations

import pytest
from laboratory.command import run_seed
from laboratory.plan import (
    EVERY_KIND,
    KILL_QUERY,
    KINDS,
    LUMBERJACK_TRANSPORTS,
    PROTECTORS,
    SEALED_CLIENTS,
    SP_TRANSPORTS,
    UDP_CHANNELS,
    make_plan,
)

SECONDS = 4
#: Their plans have all kinds of faults and all variants of media, but no query: Java needs a minute of processor time
#: for one that is killed, and the tests of the Spark plugin kill such queries too.
SEEDS = (6, 14, 26, 29, 56)


def test_a_seed_makes_one_plan():
    assert make_plan(7, 30) == make_plan(7, 30)
    assert make_plan(7, 30) != make_plan(8, 30)


def test_plans_contain_all_kinds_of_faults():
    assert {fault.kind for seed in range(50) for fault in make_plan(seed, 10).faults} == set(EVERY_KIND)
    assert {fault.kind for seed in SEEDS for fault in make_plan(seed, SECONDS).faults} == set(EVERY_KIND) - {
        KILL_QUERY
    }


def test_plans_contain_all_variants_of_media():
    media = [make_plan(seed, SECONDS).media for seed in SEEDS]

    assert {each.sealed for each in media} == set(UDP_CHANNELS)
    assert {each.protector for each in media} == set(PROTECTORS)
    assert {each.lumberjack for each in media} == set(LUMBERJACK_TRANSPORTS)
    assert {each.sp for each in media} == set(SP_TRANSPORTS)


def test_one_plan_in_eight_has_a_query_and_none_of_the_five():
    assert 0.08 < sum(make_plan(seed, 10).query is not None for seed in range(500)) / 500 < 0.16
    assert all(make_plan(seed, SECONDS).query is None for seed in SEEDS)
    assert make_plan(1, SECONDS, only=[KILL_QUERY]).query is not None


def test_a_seed_keeps_the_faults_that_it_had_before_the_sealed_stream():
    def before(fault):
        return fault.kind in KINDS and fault.target not in SEALED_CLIENTS

    faults = [fault for fault in make_plan(6, SECONDS).faults if before(fault)]

    assert [(fault.at_s, fault.kind, fault.target) for fault in faults] == [
        (0.0, "kill-recorder", "recorder-right"),
        (1.61, "kill-driver", "driver-left"),
        (3.06, "kill-recorder", "recorder-left"),
        (3.96, "kill-client", "udp-subscriber"),
    ]


def test_the_sealed_stream_has_no_fault_while_its_machine_restarts():
    for seed in range(100):
        faults = make_plan(seed, 10).faults
        sealed = [fault for fault in faults if fault.kind == "revoke" or fault.target in SEALED_CLIENTS]
        for restart in (fault for fault in faults if fault.kind in ("move", "vanish")):
            first_s, last_s = restart.at_s, restart.at_s + restart.for_s + 5
            assert not [
                fault
                for fault in sealed
                if fault.machine == restart.target
                and first_s <= fault.at_s + fault.for_s
                and fault.at_s <= last_s
            ]


@pytest.mark.netns
@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_of_a_whole_system_violate_no_invariant(seed, tmp_path):
    assert run_seed(seed, SECONDS, keep=tmp_path) == []
