import { type KeyTypeName, type KeyValue, keyForm } from '../../shards/keys/key-type.ts';
import { shardsError } from '../../shards/errors.ts';

const NUMBER = 'digits, such as 4711 or -5';
/** How a key is written on the command line. */
const FORMS: Readonly<Record<KeyTypeName, string>> = {
  int32: `${NUMBER}, from -2147483648 to 2147483647`,
  int64: NUMBER,
  guid: 'a GUID with hyphens, such as 5c0f6a0e-3b1c-4e0a-9d53-0c9a4b1a7f11',
  bytes: 'hexadecimal digits, such as 0x0aff',
  dateTime: 'a day such as 2026-03-01, or a time in UTC such as 2026-03-01T08:30:00.1234567Z',
  dateTimeOffset: 'a day such as 2026-03-01 (in UTC), or a time with an offset such as 2026-03-01T08:30:00+01:00',
  duration: 'days, hours, minutes and seconds, such as 1.02:03:04.5, or 02:03:04',
  text: 'the text itself, at most 128 bytes in UTF-8',
};

const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * A key of the map's type, from the text of a flag.
 * @throws UsageError `shard-key-invalid`
 */
export function keyOf(type: KeyTypeName, flag: string, text: string): KeyValue {
  const key = valueOf(type, text);
  try {
    keyForm(type, key);
  } catch (cause) {
    throw shardsError('shard-key-invalid', `--${flag} ${text} is not a key of type ${type}`, {
      cause,
      hint: `Write ${FORMS[type]}.`,
    });
  }
  return key;
}

function valueOf(type: KeyTypeName, text: string): KeyValue {
  if ((type === 'int32' || type === 'int64') && /^-?\d{1,20}$/.test(text)) return BigInt(text);
  if ((type === 'dateTime' || type === 'dateTimeOffset') && DAY.test(text)) return `${text}T00:00:00Z`;
  return type === 'bytes' ? text.replace(/^0x/i, '') : text;
}
