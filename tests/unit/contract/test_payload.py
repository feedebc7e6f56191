from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krt_contract.payload import Encoder, decode

RUN, PRODUCER, INCARNATION = "5d0c", "steady-0", "a1b2"
names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=40)


@settings(deadline=None)
@given(names, names, names, st.integers(0, 2**62), st.integers(0, 600))
def test_a_value_says_who_sent_it(
    run: str, producer: str, incarnation: str, seq: int, size: int
) -> None:
    value = Encoder(run, producer, incarnation, size).encode(seq)
    found = decode(value)
    assert found is not None
    assert (found.run_uid, found.producer, found.producer_incarnation, found.seq) == (
        run,
        producer,
        incarnation,
        seq,
    )
    assert found.checksum_ok
    assert len(value) == max(size, len(Encoder(run, producer, incarnation, 0).encode(seq)))


@settings(deadline=None)
@given(names, names, names, st.lists(st.integers(0, 2**62), min_size=1), st.integers(0, 600))
def test_encode_with_what_it_keeps_gives_the_bytes_of_the_layout(
    run: str, producer: str, incarnation: str, seqs: list[int], size: int
) -> None:
    encoder = Encoder(run, producer, incarnation, size)
    for seq in seqs:
        body = f"krt1;{run};{producer};{incarnation};{seq};".encode()
        body += b"x" * (size - len(body) - 9)
        assert encoder.encode(seq) == body + b";%08x" % zlib.crc32(body)


@pytest.mark.parametrize("size", [0, 110, 200])
def test_encode_of_values_in_a_row_gives_the_bytes_of_the_layout(size: int) -> None:
    encoder = Encoder(RUN, PRODUCER, INCARNATION, size)
    for seq in (*range(2_100), *range(9_990, 11_010), *range(99_990, 100_010), 5):
        body = f"krt1;{RUN};{PRODUCER};{INCARNATION};{seq};".encode()
        body += b"x" * (size - len(body) - 9)
        assert encoder.encode(seq) == body + b";%08x" % zlib.crc32(body)


def test_decode_of_a_checksum_that_is_no_number_keeps_the_identity() -> None:
    value = Encoder(RUN, PRODUCER, INCARNATION, 200).encode(7)
    found = decode(value[:-8] + b"notahex!")
    assert found == (RUN, PRODUCER, INCARNATION, 7, False)


def test_decode_of_a_name_that_is_not_ascii_is_foreign() -> None:
    value = Encoder(RUN, PRODUCER, INCARNATION, 200).encode(7)
    assert decode(value.replace(b"steady", b"ste\xffdy")) is None


@given(st.integers(0, 199), st.integers(1, 255))
def test_no_single_damaged_byte_passes_for_whole(position: int, flip: int) -> None:
    value = bytearray(Encoder(RUN, PRODUCER, INCARNATION, 200).encode(7))
    value[position] ^= flip
    found = decode(bytes(value))
    assert found is None or not found.checksum_ok or bytes(value).lower() == value.lower()
    if found is not None and found.checksum_ok:
        # only the checksum's own digits may change their case and stay the same number
        assert position >= 192
        assert flip == 0x20


@pytest.mark.parametrize("value", [None, b"", b"hello", b"krt1;", b"krt1;a;b;c;x;;00000000"])
def test_what_is_not_ours_is_foreign(value: bytes | None) -> None:
    assert decode(value) is None


def test_a_name_cannot_forge_a_field() -> None:
    with pytest.raises(ValueError, match="parts the payload"):
        Encoder("run;x", PRODUCER, INCARNATION, 10)
