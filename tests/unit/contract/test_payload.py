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


def laid_out(head: str, seq: int, size: int) -> bytes:
    body = f"{head};{seq};".encode()
    body += b"x" * (size - len(body) - 9)
    return body + b";%08x" % zlib.crc32(body)


@settings(deadline=None)
@given(
    names,
    names,
    names,
    st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 1200)), min_size=1, max_size=4),
    st.integers(0, 600),
)
def test_values_have_the_bytes_of_the_layout(
    run: str, producer: str, incarnation: str, calls: list[tuple[int, int]], size: int
) -> None:
    encoder, head = (
        Encoder(run, producer, incarnation, size),
        f"krt1;{run};{producer};{incarnation}",
    )
    for first, count in calls:
        expected = [laid_out(head, seq, size) for seq in range(first, first + count)]
        assert encoder.values(first, count) == expected
        assert encoder.encode(first) == laid_out(head, first, size)


@pytest.mark.parametrize(
    "size", [0, 110, 200, 1_100, 11_000, 200_000], ids="{} bytes a value".format
)
def test_values_in_a_row_have_the_bytes_of_the_layout(size: int) -> None:
    encoder, head = (
        Encoder(RUN, PRODUCER, INCARNATION, size),
        f"krt1;{RUN};{PRODUCER};{INCARNATION}",
    )
    most = 10**7 // (size + 1)
    for first, end in ((0, 2_100), (9_990, 11_010), (99_990, 100_010), (5, 6)):
        count = min(end - first, most)
        expected = [laid_out(head, seq, size) for seq in range(first, first + count)]
        assert encoder.values(first, count) == expected


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
