"""Identifiers in a canonical form of 128 bits, the same on every engine, and keyed functions of them.

A record is drawn for by its identifier, so the same person must have the same bits wherever the table is read. A block
of sixteen bytes is made from the value and its kind alone, never from the width of the column or from the engine:

    integer   bytes 0 to 14: the value as a little-endian two's complement number of 120 bits;      byte 15: 1
    text      up to 14 bytes of UTF-8: bytes 0 to 13: these, then zeros; byte 14: how many;         byte 15: 2
              longer: bytes 0 to 14: BLAKE2b of the UTF-8, with a digest of 15 bytes, no key;       byte 15: 3
    position  bytes 0 to 14: the number of the row, from 0, like an integer;                        byte 15: 4

Integers and short texts are told apart without exception, and never from values of another kind, since byte 15 differs.
Two long texts share a block only where BLAKE2b collides in 120 bits. Text is taken as it is: no case folding, no
trimming, no Unicode normalisation. A date is its ISO text (2024-02-29), a UUID its usual text in lower case. Decimals
without a fraction part are integers. Floats, truth values, timestamps, bytes and missing values identify nobody
reliably: they are refused.

`encrypt` is AES-256 on each block. AES is a permutation of the blocks, used as a pseudo-random function: who does not
have the key tells it from random bits on q different blocks with an advantage of at most q² / 2¹²⁹ more than it takes
to break AES (10⁹ records: 2⁻⁶⁹). `subkey` derives keys for separate purposes, so that no two uses share one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from choral.errors import ChoralError, ColumnError

if TYPE_CHECKING:
    import pyarrow as pa

Blocks: TypeAlias = npt.NDArray[np.uint8]
"""One identifier per row of sixteen bytes."""
Kind: TypeAlias = Literal["integer", "text"]

WIDTH = 16
INTEGER, SHORT, LONG, POSITION = 1, 2, 3, 4
LONGEST_SHORT = 14
KEY_BYTES = 32


def subkey(key: bytes, purpose: str, context: bytes = b"") -> bytes:
    """A key of 32 bytes for one purpose (up to 16 characters) in one context, from a key of 32 bytes: keyed BLAKE2b.

    >>> subkey(bytes(32), "draw") != subkey(bytes(32), "ledger")
    True
    """
    if len(key) != KEY_BYTES:
        raise ChoralError(
            f"The key has {len(key)} bytes, not {KEY_BYTES}.", "Use the key that was made with the release."
        )
    return hashlib.blake2b(context, digest_size=KEY_BYTES, key=key, person=purpose.encode("ascii")).digest()


def encrypt(key: bytes, blocks: Blocks) -> Blocks:
    """AES-256 of every block, in one call."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise ChoralError("cryptography is not installed.", "Install it: pip install 'choral[tables]'.") from error
    plain = np.ascontiguousarray(blocks)
    out = np.empty(plain.size + WIDTH - 1, dtype=np.uint8)
    Cipher(algorithms.AES(key), modes.ECB()).encryptor().update_into(plain.reshape(-1).data, out.data)
    return out[: plain.size].reshape(-1, WIDTH)


def positions(start: int, count: int) -> Blocks:
    """The blocks of `count` rows from row number `start`, for tables without identifiers."""
    return _numbers(np.arange(start, start + count, dtype=np.int64), POSITION)


def kind_of(type_: pa.DataType, column: str) -> Kind:
    """Whether a column of this Arrow type identifies by integers or by text; raises where it identifies nobody."""
    import pyarrow.types as t

    if t.is_dictionary(type_):
        return kind_of(type_.value_type, column)
    if t.is_integer(type_) or (t.is_decimal(type_) and type_.scale == 0):
        return "integer"
    if t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_) or t.is_date(type_) or _is_uuid(type_):
        return "text"
    if t.is_floating(type_) or t.is_decimal(type_):
        remedy = "The same number may be written in several ways: cast it to an integer or to text."
    elif t.is_boolean(type_):
        remedy = "Two values cannot tell records apart: give a column that has another value in every row."
    elif t.is_null(type_):
        remedy = "Every value is missing: give a column that has another value in every row."
    else:
        remedy = "Cast it to text in one fixed format."
    raise ColumnError(f"The column '{column}' of type {type_} cannot identify records.", remedy)


def blocks(values: pa.Array | pa.ChunkedArray, column: str = "id", before: int = 0) -> Blocks:
    """The blocks of a column of identifiers, or of a part of it with `before` rows before it.

    >>> import pyarrow as pa
    >>> narrow, wide = pa.array([7, 255], pa.uint8()), pa.array([7, 255], pa.int64())
    >>> bool((blocks(narrow) == blocks(wide)).all())
    True
    >>> bytes(blocks(pa.array(["ann"]))[0])
    b'ann\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03\\x02'
    """
    import pyarrow as pa
    import pyarrow.types as t

    kind = kind_of(values.type, column)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if t.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        row = before + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise ColumnError(
            f"The identifier '{column}' is missing, for the first time in row {row}.",
            "Give every record an identifier.",
        )
    if kind == "text":
        return _texts(as_text(values))
    if t.is_decimal(values.type):
        return _wide_numbers(values.to_pylist(), column)
    return _numbers(values.to_numpy(zero_copy_only=False), INTEGER)


def _is_uuid(type_: pa.DataType) -> bool:
    return str(getattr(type_, "extension_name", "")) == "arrow.uuid"


def as_text(values: pa.Array) -> pa.Array:
    """Texts, dates and UUIDs as the text that identifies."""
    import pyarrow as pa

    if _is_uuid(values.type):
        return pa.array([str(value) for value in values.to_pylist()], pa.large_string())
    if pa.types.is_date64(values.type):
        values = values.cast(pa.date32())
    return values.cast(pa.large_string())


def _numbers(numbers: npt.NDArray[np.integer[Any]], tag: int) -> Blocks:
    """Integers of up to 64 bits: eight bytes, seven of sign, and the tag."""
    out = np.empty((len(numbers), 2), dtype="<u8")
    if numbers.dtype.kind == "u":
        out[:, 0] = numbers
        out[:, 1] = 0
    else:
        signed = numbers.astype("<i8", copy=False)
        out[:, 0] = signed.view("<u8")
        np.right_shift(signed, 63, out=out[:, 1].view("<i8"))
    tagged = out.view(np.uint8)
    tagged[:, WIDTH - 1] = tag
    return tagged


def _wide_numbers(numbers: list[Any], column: str) -> Blocks:
    try:
        joined = b"".join(int(n).to_bytes(WIDTH - 1, "little", signed=True) + bytes([INTEGER]) for n in numbers)
    except OverflowError:
        raise ColumnError(f"The column '{column}' has an integer of more than 120 bits.", "Cast it to text.") from None
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, WIDTH)


def _texts(values: pa.Array) -> Blocks:
    """Short texts are gathered from the Arrow buffers by length, all of one length at once; long ones hashed one by one."""
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, dtype="<i8", count=len(values) + 1, offset=8 * values.offset)
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    out = np.zeros((len(values), WIDTH), dtype=np.uint8)
    short = lengths <= LONGEST_SHORT
    out[:, WIDTH - 2] = np.where(short, lengths, 0)
    out[:, WIDTH - 1] = np.where(short, SHORT, LONG)
    for i in range(min(LONGEST_SHORT, int(lengths.max(initial=0)))):
        here = np.flatnonzero(short & (lengths > i))
        out[here, i] = data[starts[here] + i]
    long = np.flatnonzero(~short)
    if len(long):
        raw = data.data
        digests = b"".join(
            hashlib.blake2b(raw[start : start + length], digest_size=WIDTH - 1).digest()
            for start, length in zip(starts[long].tolist(), lengths[long].tolist(), strict=True)
        )
        out[long, : WIDTH - 1] = np.frombuffer(digests, dtype=np.uint8).reshape(-1, WIDTH - 1)
    return out
