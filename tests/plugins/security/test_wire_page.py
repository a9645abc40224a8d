"""Figures of docs/wire/secure-udp.md, compared with the code."""

import math
import re
from pathlib import Path

import pytest
from aeron_security import handshakes, identities, options
from aeron_security._native import sealing

from aeron_core._native import wire

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "plugins" / "security" / "aeron_security" / "_native"
PAGE = (ROOT / "docs" / "wire" / "secure-udp.md").read_text(encoding="utf-8")
MS, S = 1_000_000, 1_000_000_000


def defined(name):
    """Return the number that a header defines."""
    texts = [path.read_text() for path in (*NATIVE.glob("*.h"), ROOT / "aeron_core/_native/datagrams.h")]
    (text,) = re.findall(rf"^#define {name} (.*?)(?: /\*.*)?$", "\n".join(texts), re.MULTILINE)
    return math.prod(int(part.removesuffix("LL")) for part in text.strip("()").split(" * "))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("AC_WINDOW", 2048, "2048 numbers"),
        ("AC_MAX_PEERS", 4096, "| admitted salts of a socket | 4096;"),
        ("AC_ASKED", 64, "| asked | 100 ms, or 64 other salts that were asked |"),
        (
            "AC_ASK_AGAIN_NS",
            100 * MS,
            "For one salt and source, or one salt of a group, there is a hello each 100 ms at most",
        ),
        ("AC_BUDGET", 128, "| 128 in 10 ms; 16 of sources with one of 64 hashes"),
        ("AC_BUDGET_NS", 10 * MS, "| 128 in 10 ms; 16 of sources with one of 64 hashes"),
        ("AC_SHARE", 16, "| 128 in 10 ms; 16 of sources with one of 64 hashes"),
        ("AC_SHARES", 64, "| 128 in 10 ms; 16 of sources with one of 64 hashes"),
        ("AC_GROUP_SHARE", 2, "or 2 on a multicast channel with identities"),
        ("AC_GROUP_BUDGET", 8, "| hellos | to unknown salts 128 in 10 ms, or 8 to a group"),
        ("AC_COOKIE_BUDGET", 512, "| cookies | 512 in 10 ms, and 64 for sources"),
        ("AC_SILENT_NS", 60 * S, "| silent salts | forgotten after 60 s, or up to 6 s later |"),
        ("AC_CONFIRM_NS", 30 * S, "| admitted | 30 to 60 s after the last grant (identities) | | due |"),
        (
            "AC_UNCONFIRMED_NS",
            30 * S,
            "another salt, more than 30 s after this one became due | | forgotten |",
        ),
        ("AC_REPLACE_NS", 10 * S, "or was granted 10 s ago | | forgotten |"),
        ("AC_TOKEN_STEP_NS", 8 * S, "time in steps of 8 s"),
        ("AC_HELLO_LENGTH", 80, "identities: a datagram of kind 0 of at least 80 bytes | hello"),
        ("AC_PIECE_LENGTH", 33_000, "a run of datagrams of at most 33,000 bytes"),
    ],
)
def test_the_page_has_the_numbers_of_the_native_code(name, value, text):
    assert defined(name) == value
    assert text in PAGE


def test_the_page_has_the_numbers_of_the_conductor():
    assert handshakes.MAX_PENDING == 256
    assert handshakes.MAX_AGE_NS == 5 * S
    assert "| 256 that have not ended, each for 5 s |" in PAGE
    assert "| begun | 5 s; or 256 others begin or are answered later;" in PAGE
    assert identities.DELIVERY_NS == 300 * MS
    assert identities.RECEIPT_NS == 50 * MS
    assert (
        "were granted the new one 50 ms ago; or 300 ms | the new PRK, number 1; the old one is deleted | in use |"
        in PAGE
    )
    assert sealing.ROTATE_INTERVAL_NS == 3600 * S
    assert sealing.ROTATE_NUMBERS == 1 << 40
    assert "| in use | begin of a batch, an hour after the last change or after number 2^40 |" in PAGE


def test_the_limits_of_the_ciphers_follow_from_the_key_schedule():
    """Compute what the chapter states, by the formulas of RFC 9001 (appendix B)."""
    runs, datagrams = defined("AC_BATCH_CAPACITY"), defined("AC_MAX_SEGMENTS")
    assert (runs * datagrams, wire.MAX_GSO_SEGMENTS) == (1024, datagrams)
    blocks = math.ceil(65_507 / 16)
    assert (round(math.log2(blocks)), round(math.log2(runs * blocks))) == (12, 16)

    def confidentiality(blocks, keys=1):
        return round(math.log2(keys) + 1 + 2 * math.log2(blocks) - 128)

    assert confidentiality(1 << 16) == -95
    assert "2 (2^16)^2 / 2^128 = 2^-95 for a key" in PAGE
    assert confidentiality(1 << 12) == -103
    assert confidentiality(1 << 12, sealing.ROTATE_NUMBERS) == -63
    assert confidentiality(1 << 16, sealing.ROTATE_NUMBERS >> 10) == -65
    assert "2^40 x 2^-103 = 2^-63; in full batches 2^30 x 2^-95 = 2^-65" in PAGE

    def blocks_of_flood(seconds):
        return math.log2(10e9 / 8 / 16 * seconds)

    two_hours = 2 * sealing.ROTATE_INTERVAL_NS // S
    assert round(blocks_of_flood(two_hours)) == 39
    assert "2^39 / 2^121 = 2^-82 with AES-GCM, and 2^39 / 2^103 = 2^-64 with ChaCha20-Poly1305" in PAGE
    longest = 2 * options._MAX_ROTATION_NS // S
    assert options._MAX_ROTATION_NS == 7 * 24 * 3600 * S
    assert round(blocks_of_flood(longest) - 103) == -57
