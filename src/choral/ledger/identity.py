"""Identifiers in a canonical form of 128 bits, the same on every engine, and keyed functions of them.

A record is drawn for by its identifier, so the same person must have the same bits wherever the table is read. A block
of sixteen bytes is made from the text of the identifier alone, never from the type or width of the column, nor from what
else is in it, nor from the engine:

    text      up to 14 bytes of UTF-8: bytes 0 to 13: these, then zeros; byte 14: how many;         byte 15: 2
              longer: bytes 0 to 14: BLAKE2b of the UTF-8, with a digest of 15 bytes, no key;       byte 15: 3
    position  bytes 0 to 14: the number of the row, from 0, little-endian;                          byte 15: 4

An integer is its decimal text, so 17 and "17" are one identifier, and "017" is another. Columns of CSV and JSON files have
no types of their own: there an identifier is the text that is written. Text is taken as it is: no case folding, no
trimming, no Unicode normalisation. So one person in two spellings has two blocks, and would get two draws; the ledger
compares normal forms (`choral.ledger.spelling`) and refuses the commonest of such twins.

In a column of dates an identifier is its ISO text (2024-02-29), in one of UUIDs the usual
text in lower case; since a text column may write these in other ways, the ledger does not let the two kinds follow each
other. Decimals without a fraction part are integers. Floats, truth values, timestamps, bytes and missing values identify
nobody reliably: they are refused. Short texts are told apart without exception; two long texts share a block only where
BLAKE2b collides in 120 bits.

`encrypt` is AES-256 on each block. AES is a permutation of the blocks, used as a pseudo-random function: who does not
have the key tells it from random bits on q different blocks with an advantage of at most q² / 2¹²⁹ more than it takes
to break AES (10⁹ records: 2⁻⁶⁹). `subkey` derives keys for separate purposes, so that no two uses share one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from choral.errors import ChoralError, ColumnError

if TYPE_CHECKING:
    import pyarrow as pa

    from choral.tables.source import Source

Blocks: TypeAlias = npt.NDArray[np.uint8]
"""One identifier per row of sixteen bytes."""
Words: TypeAlias = npt.NDArray[np.uint64]
"""Numbers of 64 bits: keyed ones of identifiers, or by which rows of a channel are known."""
Kind: TypeAlias = Literal["text", "date", "uuid"]
"""How identifiers are written: as they stand (integers in decimal digits), or in the one way in which a type writes them."""

WIDTH = 16
"""Bytes of an identifier as bits: a block of AES."""
SHORT, LONG, POSITION = 2, 3, 4
"""The last byte of a block, so that identifiers of one kind are never those of another."""
LONGEST_SHORT = 14
"""Bytes of an identifier that stands in its block as it is; beside it are its length and the last byte."""
KEY_BYTES = 32
"""Of every key: 256 bits, so that nobody finds it by trying."""


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
    out = np.zeros((count, 2), dtype="<u8")
    out[:, 0] = np.arange(start, start + count, dtype=np.uint64)
    numbered = out.view(np.uint8)
    numbered[:, WIDTH - 1] = POSITION
    return numbered


def kind_of(type_: pa.DataType, column: str) -> Kind:
    """How a column of this Arrow type writes identifiers; raises where it identifies nobody."""
    import pyarrow.types as t

    if t.is_dictionary(type_):
        return kind_of(type_.value_type, column)
    if t.is_integer(type_) or (t.is_decimal(type_) and type_.scale == 0):
        return "text"
    if t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_):
        return "text"
    if t.is_date(type_):
        return "date"
    if _is_uuid(type_):
        return "uuid"
    if t.is_floating(type_) or t.is_decimal(type_):
        remedy = "The same number may be written in several ways: cast it to an integer or to text."
    elif t.is_boolean(type_):
        remedy = "Two values cannot tell records apart: give a column that has another value in every row."
    elif t.is_null(type_):
        remedy = "Every value is missing: give a column that has another value in every row."
    else:
        remedy = "Cast it to text in one fixed format."
    raise ColumnError(f"The column '{column}' of type {type_} cannot identify records.", remedy)


def kind_of_column(source: Source, id: str) -> Kind:
    """How a column of a table writes identifiers; raises where it identifies nobody."""
    from choral.tables.source import reading
    from choral.tables.sql import identifier

    if source.columns[id] == "UUID":  # DuckDB hands these on as text
        return "uuid"
    with reading(source):
        empty = source.connection.sql(f"SELECT {identifier(id)} FROM {source.sql} LIMIT 0")
        return kind_of(empty.to_arrow_table().schema.field(0).type, id)


def blocks(values: pa.Array | pa.ChunkedArray, column: str = "id", before: int = 0) -> Blocks:
    """The blocks of a column of identifiers, or of a part of it with `before` rows before it.

    >>> import pyarrow as pa
    >>> narrow, text = pa.array([7, 255], pa.uint8()), pa.array(["7", "255"])
    >>> bool((blocks(narrow) == blocks(text)).all())
    True
    >>> bytes(blocks(pa.array(["ann"]))[0])
    b'ann\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03\\x02'
    """
    kind_of(values.type, column)
    if values.null_count:
        row = before + int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise ColumnError(
            f"The identifier '{column}' is missing, for the first time in row {row}.",
            "Give every record an identifier.",
        )
    return _texts(plain_text(values))


def _is_uuid(type_: pa.DataType) -> bool:
    return str(getattr(type_, "extension_name", "")) == "arrow.uuid"


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type can write one identifier in several ways."""
    import pyarrow.types as t

    if t.is_dictionary(type_):
        return is_text(type_.value_type)
    return bool(t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_))


def plain_text(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Identifiers as one plain array of texts, whatever the layout of the column."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return as_text(values)


def as_text(values: pa.Array) -> pa.Array:
    """Identifiers as the texts that they are drawn for by."""
    import pyarrow as pa

    if _is_uuid(values.type):
        return pa.array([str(value) for value in values.to_pylist()], pa.large_string())
    if pa.types.is_date64(values.type):
        values = values.cast(pa.date32())
    return values.cast(pa.large_string())


def buffers(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each of these texts begins, and the last ends, and the bytes of all of them."""
    _, offset_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offset_buffer, dtype="<i8", count=len(values) + 1, offset=8 * values.offset)
    return offsets, np.frombuffer(data_buffer or b"", dtype=np.uint8)


def _texts(values: pa.Array) -> Blocks:
    """Short texts are gathered from the Arrow buffers by length, all of one length at once; long ones hashed one by one."""
    offsets, data = buffers(values)
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
