import { randomBytes, randomInt } from 'node:crypto';
import { type KeyTypeName, type KeyValue, encodeKey, keyJson } from '../../src/shards/keys/key-type.ts';

/** So many random keys of each type. */
const KEYS = 400;

const LAST_TICK = 3_155_378_975_999_999_999n;
const DAY = 864_000_000_000n;
const random64 = (): bigint => randomBytes(8).readBigInt64BE() >> BigInt(randomInt(64));
const randomTicks = (): bigint => BigInt.asUintN(64, random64()) % LAST_TICK;
// Many keys begin alike, so that their order isn't decided by the first byte.
const randomPart = (): Buffer => Buffer.concat([Buffer.alloc(randomInt(4), 7), randomBytes(randomInt(20))]);
const randomText = (): string =>
  String.fromCodePoint(
    ...Array.from({ length: randomInt(12) }, () => randomInt(2) * randomInt(0xd700) + randomInt(128)),
    ...Array.from({ length: randomInt(3) }, () => 0xe000 + randomInt(0x10ffff - 0xe000)),
  );

/** The first and the last keys of each type, days around which calendars differ, and how random ones are made. */
const SAMPLES: Readonly<Record<KeyTypeName, readonly [readonly KeyValue[], () => KeyValue]>> = {
  int32: [[-(2 ** 31), -1, 0, 1, 2 ** 31 - 1], () => randomBytes(4).readInt32BE() >> randomInt(32)],
  int64: [[-(2n ** 63n), -(2n ** 53n) - 1n, -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n], random64],
  guid: [['0'.repeat(32), 'f'.repeat(32)].map(hyphened), () => hyphened(randomBytes(16).toString('hex'))],
  bytes: [[new Uint8Array(), new Uint8Array([0]), new Uint8Array([0, 0]), new Uint8Array(128).fill(255)], randomPart],
  dateTime: [[0n, DAY - 1n, DAY * 59n, 577_736_064_000_000_000n, 630_822_816_000_000_000n, LAST_TICK], randomTicks],
  dateTimeOffset: [[0n, 621_355_968_000_000_000n, LAST_TICK], randomTicks],
  duration: [[-(2n ** 63n), -DAY, -1n, 0n, 1n, DAY, 2n ** 63n - 1n], random64],
  text: [['', 'a', 'a\0', '\u00e9', 'e\u0301', '\uffff', '\u{10000}'], randomText],
};

/** Keys as documents have them and their codes, a line each: type, the form in base64, code. */
export function keyLines(): string[] {
  return (Object.keys(SAMPLES) as KeyTypeName[]).flatMap((type) => {
    const [edges, random] = SAMPLES[type];
    return [...edges, ...Array.from({ length: KEYS }, random)].map((key) => {
      const code = encodeKey(type, key);
      return `${type} ${Buffer.from(String(keyJson(type, code))).toString('base64')} ${code}`;
    });
  });
}

function hyphened(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
