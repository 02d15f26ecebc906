"""Keys of shard maps against Python's own numbers, times, GUIDs and texts. It asks for them by a line {"turn": "keys"}.

From the form that documents have it works out the value, the value's bytes, and the order of all values of the type.
"""

import base64
import json
import re
import sys
import uuid
from collections import defaultdict
from datetime import datetime, timedelta, timezone

FIRST = datetime(1, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


def big_endian(number, size):
    """Two's complement, with the sign bit flipped."""
    raw = bytearray(number.to_bytes(size, "big", signed=True))
    raw[0] ^= 0x80
    return bytes(raw)


def ticks_of(form):
    """A datetime has microseconds; the seventh digit comes beside it."""
    seconds, digit, zone = re.fullmatch(r"(.{26})(\d)(Z|\+00:00)", form).groups()
    moment = datetime.fromisoformat(seconds + "+00:00")
    assert moment.isoformat(timespec="microseconds") == seconds + "+00:00", form
    return (moment - FIRST) // MICROSECOND * 10 + int(digit)


def span_of(form):
    sign, days, hours, minutes, seconds, micro, digit = re.fullmatch(
        r"(-?)(\d+)\.(\d\d):(\d\d):(\d\d)\.(\d{6})(\d)", form
    ).groups()
    span = timedelta(
        days=int(days), hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=int(micro)
    )
    return (-1 if sign else 1) * (span // MICROSECOND * 10 + int(digit))


def decimal(form):
    assert str(int(form)) == form, form
    return int(form)


def guid(form):
    assert str(uuid.UUID(form)) == form, form
    return uuid.UUID(form)


# The value of a form, and the bytes of a value.
TYPES = {
    "int32": (decimal, lambda number: big_endian(number, 4)),
    "int64": (decimal, lambda number: big_endian(number, 8)),
    "guid": (guid, lambda value: value.bytes),
    "bytes": (bytes.fromhex, bytes),
    "dateTime": (ticks_of, lambda number: big_endian(number, 8)),
    "dateTimeOffset": (ticks_of, lambda number: big_endian(number, 8)),
    "duration": (span_of, lambda number: big_endian(number, 8)),
    # Python compares texts by code points, which is the order of their UTF-8.
    "text": (str, lambda text: text.encode("utf-8")),
}

print(json.dumps({"turn": "keys"}), flush=True)
found, wrong = defaultdict(list), []
for line in json.loads(sys.stdin.readline())["keys"]:
    name, form, code = line.split(" ")
    form = base64.b64decode(form).decode("utf-8")
    value_of, bytes_of = TYPES[name]
    value = value_of(form)
    if bytes_of(value).hex() != code:
        wrong.append(f"{name} {form!r}: the code is {code}, and should be {bytes_of(value).hex()}")
    found[name].append((value, code))
for name, keys in found.items():
    by_value = [code for _, code in sorted(keys, key=lambda key: key[0])]
    if by_value != sorted(by_value):
        wrong.append(f"{name}: the codes don't sort as the values do")
counts = {name: len(keys) for name, keys in found.items()}
print(json.dumps({"check": "keys of shard maps", "counts": counts, "wrong": wrong[:20]}), flush=True)
