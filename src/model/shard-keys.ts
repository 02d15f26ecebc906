// Keys of shard maps as documents write them.

export type KeyTypeWord = 'integer' | 'guid' | 'bytes' | 'datetime' | 'datetimeoffset' | 'timespan' | 'text';

const TYPES: readonly (readonly [KeyTypeWord, RegExp])[] = [
  ['integer', /^(int(eger)?(32|64)?|long|bigint|number)$/],
  ['guid', /^(guid|uuid|uniqueidentifier)$/],
  ['bytes', /^(bytes?|binary|varbinary)$/],
  ['datetimeoffset', /^datetimeoffset$/],
  ['datetime', /^(datetime|date|timestamp)$/],
  ['timespan', /^(timespan|duration)$/],
  ['text', /^(text|string)$/],
];

/** The type that a label such as "Key type: int64" names. */
export function keyTypeNamed(label: string): KeyTypeWord | undefined {
  const word = /[a-z][a-z0-9]*/i.exec(label)?.[0].toLowerCase() ?? '';
  return TYPES.find(([, pattern]) => pattern.test(word))?.[0];
}

const END = /^(-?∞|…|\.\.\.|min|max|[-+]?inf\w*)$/i;

/** The type that a key looks like; `any`: the end of all keys. */
export function typeOfKey(text: string): KeyTypeWord | 'any' {
  const value = text.trim();
  if (END.test(value)) return 'any';
  if (/^-?[\d_]+$/.test(value)) return 'integer';
  if (/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(value)) return 'guid';
  if (/^0x[0-9a-f]+$/i.test(value)) return 'bytes';
  if (/^\d{4}-\d\d-\d\d([T ][\d:.]+)?[+-]\d\d:?\d\d$/.test(value)) return 'datetimeoffset';
  if (/^\d{4}-\d\d-\d\d([T ][\d:.]+Z?)?$/.test(value)) return 'datetime';
  if (/^-?(\d+\.)?\d\d:\d\d(:\d\d(\.\d{1,7})?)?$|^P(\d|T)/.test(value)) return 'timespan';
  return 'text';
}

/** The bounds of a range such as `[100, 200)`; none if the text is no range. */
export const rangeNamed = (text: string): readonly string[] =>
  /^\[([^,]+,[^,]+)\)$/
    .exec(text.trim())?.[1]
    ?.split(',')
    .map((bound) => bound.trim()) ?? [];

/** A bound of a range as a number that sorts as the key does; undefined: it has no order here. */
export function boundOf(text: string, end: 'low' | 'high'): bigint | number | undefined {
  const value = text.trim();
  const type = typeOfKey(value);
  if (type === 'any') return end === 'low' ? -Infinity : Infinity;
  if (type === 'integer') return BigInt(value.replaceAll('_', ''));
  if (type === 'guid') return BigInt(`0x${value.replaceAll('-', '')}`);
  // Bytes are compared from the left.
  if (type === 'bytes') return BigInt(`0x${value.slice(2).padEnd(256, '0')}`);
  if (type === 'timespan') return secondsOf(value);
  const time = type === 'text' ? NaN : Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}

function secondsOf(span: string): number | undefined {
  const [, minus, days = '0', hours, minutes, seconds = '0'] =
    /^(-)?(?:(\d+)\.)?(\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?$/.exec(span) ?? [];
  if (hours === undefined) return undefined;
  const total = Number(days) * 86_400 + Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return minus === undefined ? total : -total;
}
