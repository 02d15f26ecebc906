import { expect, it } from 'vitest';
import { keyOf } from '../../../src/procedures/shards/keys.ts';
import { keyForm } from '../../../src/shards/index.ts';

it.each([
  ['int32', '-5', -5],
  ['int64', '9007199254740993', '9007199254740993'],
  ['guid', '5C0F6A0E-3B1C-4E0A-9D53-0C9A4B1A7F11', '5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11'],
  ['bytes', '0x0aFF', '0aff'],
  ['bytes', '', ''],
  ['dateTime', '2026-03-01', '2026-03-01T00:00:00.0000000Z'],
  ['dateTime', '2026-03-01T08:30:00.1234567Z', '2026-03-01T08:30:00.1234567Z'],
  ['dateTimeOffset', '2026-03-01', '2026-03-01T00:00:00.0000000+00:00'],
  ['dateTimeOffset', '2026-03-01T00:30:00+01:00', '2026-02-28T23:30:00.0000000+00:00'],
  ['duration', '1.02:03:04.5', '1.02:03:04.5000000'],
  ['text', '0x0aff', '0x0aff'],
  ['text', '4711', '4711'],
] as const)('a key of type %s may be written %s', (type, text, form) => {
  expect(keyForm(type, keyOf(type, 'key', text))).toBe(form);
});

it.each([
  ['int32', '2147483648', /from -2147483648 to 2147483647/],
  ['int32', '1.5', /digits/],
  ['int64', '9223372036854775808', /digits/],
  ['int64', '1e3', /digits/],
  ['guid', '5c0f6a0e', /with hyphens/],
  ['bytes', '0x0', /hexadecimal/],
  ['dateTime', '2026-02-30', /a day such as/],
  ['dateTime', '2026-03-01T08:30:00', /in UTC/],
  ['duration', '90', /hours, minutes and seconds/],
  ['text', 'x'.repeat(129), /128 bytes/],
] as const)('no key of type %s is %s, and the hint says how to write one', (type, text, hint) => {
  expect(() => keyOf(type, 'low', text)).toThrow(
    expect.objectContaining({
      code: 'shard-key-invalid',
      message: expect.stringContaining(`--low ${text} is not a key of type ${type}`),
      hint: expect.stringMatching(hint),
    }),
  );
});
