"""No key seals two datagrams with one nonce: in a socket, in many, after a restart, a rotation and a fork."""

import contextlib
import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from aeron_security._native.sealing import RENEW, SealedDatagrams, SealingSession
from hypothesis import given
from hypothesis import strategies as st
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

SECRET = bytes(range(32))
THERE = SocketAddress.of("127.0.0.1", 2)
S = 1_000_000_000


class Sender:
    """A socket that seals with the secret of all."""

    def __init__(self, role=0, **options):
        self.clock = Clock.manual()
        self.wire = Wire()
        # A session with an identity draws its secret.
        secret = os.urandom(32) if "public_key" in options else SECRET
        self.session = SealingSession([secret], 1, role, 1 - role, self.clock, **options)
        self._probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(self.wire), self.session))

    def send(self, datagrams=1):
        self._probe.send([(bytes(8 * datagrams), 8)], THERE)

    @property
    def nonces(self):
        return list(map(nonce_of, self.wire.datagrams()))


def nonce_of(datagram):
    """Return what selects the key: role, salt and freshness; and the number, which is the nonce."""
    role, salt, number, freshness = struct.unpack_from("<6xBx16sQ8s", datagram)
    return role, salt, freshness, number


steps = st.lists(
    st.one_of(st.integers(1, 40), st.just("pass time"), st.just("remove a peer")), min_size=1, max_size=40
)


MODES = st.sampled_from([{}, {"public_key": bytes(32)}])


@given(steps, st.integers(1, 50), MODES)
def test_a_socket_repeats_no_nonce_whatever_it_sends_and_however_often_it_rotates(
    sends, rotate_numbers, mode
):
    sender = Sender(rotate_numbers=rotate_numbers, rotate_interval_ns=10 * S, **mode)
    for step in sends:
        if step == "pass time":
            sender.clock.advance(10 * S)
        elif step == "remove a peer":
            if mode:
                sender.session.order(RENEW, 0, bytes(32), os.urandom(32), 0)
        else:
            sender.send(step)

    assert len(set(sender.nonces)) == len(sender.nonces)
    # Even without the freshness.
    assert len({(role, salt, number) for role, salt, _, number in sender.nonces}) == len(sender.nonces)


@pytest.mark.parametrize("mode", [{}, {"public_key": bytes(32)}], ids=["group", "identities"])
def test_sockets_of_one_secret_share_no_nonce_and_neither_does_a_restart(mode):
    senders = [Sender(role, **mode) for role in (0, 0, 1, 1) * 50]
    for sender in senders:
        sender.send(10)

    nonces = [nonce for sender in senders for nonce in sender.nonces]
    assert len(set(nonces)) == len(nonces) == 2000
    assert len({salt for _, salt, _, _ in nonces}) == len(senders)


@pytest.mark.parametrize("mode", [{}, {"public_key": bytes(32)}], ids=["group", "identities"])
def test_a_fork_of_the_process_repeats_no_nonce(mode):
    # A snapshot of a virtual machine that is started twice is a fork of all that it contains.
    sender = Sender(**mode)
    sender.send()
    before = len(sender.wire.sent)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for _ in range(500):
            sender.send()
        with open(writer, "wb", closefd=False) as pipe:
            pipe.write(b"".join(datagram[:40] for datagram in sender.wire.datagrams()[before:]))
        os._exit(0)
    os.close(writer)
    for _ in range(500):
        sender.send()
    with open(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    theirs = [nonce_of(data[at : at + 40]) for at in range(0, len(data), 40)]
    ours = sender.nonces[before:]

    # Salt and numbers are the same in both, and only the freshness is not.
    assert [(salt, number) for _, salt, _, number in ours] == [
        (salt, number) for _, salt, _, number in theirs
    ]
    assert set(ours).isdisjoint(theirs)


def test_a_number_is_used_once_even_if_its_datagram_cannot_be_sent():
    sender = Sender()
    sender.wire.send = None  # raises
    for _ in range(3):
        with contextlib.suppress(TypeError):
            sender.send()
    del sender.wire.send
    sender.send()

    assert [number for *_, number in sender.nonces] == [4]


#: A processor whose CPUID has no RDRAND, and which ends the process if the instruction is used.
OLD_PROCESSOR = """
#include <cpuid.h>
#include <stdlib.h>
#define __get_cpuid(leaf, a, b, c, d) (*(a) = *(b) = *(c) = *(d) = 0, 1)
#define __builtin_ia32_rdrand64_step(number) (abort(), *(number) = 1)
#include "sealing.h"
int main(void)
{
    uint64_t number;
    return ac_has_fresh_numbers() || ac_fresh_number(&number) || !ac_random(&number, sizeof(number));
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no RDRAND")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_a_processor_without_an_instruction_for_random_numbers_is_not_asked_for_them(tmp_path):
    (tmp_path / "old.c").write_text(OLD_PROCESSOR, encoding="ascii")
    native = Path(__file__).parents[3] / "plugins" / "security" / "aeron_security" / "_native"
    subprocess.run(["cc", "-w", f"-I{native}", "-o", tmp_path / "old", tmp_path / "old.c"], check=True)

    assert subprocess.run([tmp_path / "old"], check=False).returncode == 0


#: Prints whether there are fresh numbers, and 100 of them.
ARM_PROCESSOR = """
#include <stdio.h>
#include "sealing.h"
int main(void)
{
    uint64_t number = 0;
    printf("%d\\n", ac_has_fresh_numbers());
    for (int i = 0; i < 100 && ac_fresh_number(&number); i++)
    {
        printf("%016llx\\n", (unsigned long long)number);
    }
    return !ac_random(&number, sizeof(number));
}
"""
RNDR = "mrs %0, s3_3_c2_c4_0"
ARM_TOOLS = ("aarch64-linux-gnu-gcc", "qemu-aarch64-static")


@pytest.fixture
def run_on_arm(tmp_path):
    """Return a function that compiles the program for aarch64, and runs it on an emulated processor.

    The function replaces the instruction by another one, of which it may be a part.
    """
    missing = [tool for tool in ARM_TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(
            f"found no {' and no '.join(missing)}: on Debian, packages gcc-aarch64-linux-gnu, qemu-user-static"
        )

    def run(processor, instruction=RNDR):
        native = Path(__file__).parents[3] / "plugins" / "security" / "aeron_security" / "_native"
        text = (native / "sealing.h").read_text(encoding="ascii")
        assert RNDR in text
        (tmp_path / "sealing.h").write_text(text.replace(RNDR, instruction), encoding="ascii")
        (tmp_path / "arm.c").write_text(ARM_PROCESSOR, encoding="ascii")
        options = ["-O3", "-std=gnu11", "-static", "-Wall", "-Wno-unused-function", f"-I{native}"]
        program = tmp_path / "arm"
        subprocess.run([ARM_TOOLS[0], *options, "-o", program, tmp_path / "arm.c"], check=True)
        made = subprocess.run(
            [ARM_TOOLS[1], "-cpu", processor, program], check=True, capture_output=True, text=True
        )
        found, *numbers = made.stdout.split()
        return found == "1", numbers

    return run


def test_a_processor_with_rndr_gives_a_new_number_each_time(run_on_arm):
    found, numbers = run_on_arm("max")

    assert found
    assert len(set(numbers)) == 100
    # Any bit is set in some of them.
    together = 0
    for number in numbers:
        together |= int(number, 16)
    assert together == (1 << 64) - 1


def test_a_processor_without_rndr_is_not_asked_for_a_number(run_on_arm):
    # The instruction would end the process.
    assert run_on_arm("cortex-a57") == (False, [])


@pytest.mark.parametrize(
    ("instruction", "found"),
    [
        # What a processor without a number, with one, and a defective one do.
        ("mov %0, 5\\n\\tcmp xzr, xzr", False),
        ("mov %0, 5\\n\\tcmp sp, 0", True),
        ("mov %0, 0\\n\\tcmp sp, 0", False),
        ("mov %0, -1\\n\\tcmp sp, 0", False),
    ],
)
def test_a_number_of_rndr_is_used_only_if_the_processor_has_made_one(run_on_arm, instruction, found):
    assert run_on_arm("max", instruction) == (found, ["0000000000000005"] * 100 * found)


def test_rndr_is_read_again_if_there_is_no_number(run_on_arm):
    # Of two reads in a row, one in four fails: the lowest bits of the number are the flag.
    _, numbers = run_on_arm("max", f"{RNDR}\\n\\ttst %0, 3")

    assert len(numbers) == 100
    assert all(int(number, 16) & 3 for number in numbers)
