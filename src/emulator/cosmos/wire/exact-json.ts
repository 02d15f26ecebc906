// The service keeps 64-bit integers that other clients write (ASM-E90), which a double can't hold.

/** The digits of such numbers, by the object or list that holds them. */
const digits = new WeakMap<object, Map<string, string>>();
let isUsed = false;

/** Every such number has 16 digits or more. The versions that Millrace stores have them too, but within strings. */
const LONG = /(?:^|[:,[\s])-?\d{16}/;
const WHOLE = /^-?\d{16,20}$/;

interface Source {
  readonly source?: string;
}
type Reviver = (this: object, name: string, value: unknown, context: Source) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const rawJSON = (text: string): unknown => (JSON as unknown as { rawJSON(of: string): unknown }).rawJSON(text);

/** As JSON.parse. `exactStringify` writes the whole numbers again as they are in the text. */
export function exactParse(text: string): unknown {
  if (!LONG.test(text)) return JSON.parse(text);
  return parse(text, function (name, value, { source }) {
    if (typeof value === 'number' && source !== undefined && WHOLE.test(source) && String(value) !== source) {
      const own = digits.get(this) ?? new Map<string, string>();
      digits.set(this, own.set(name, source));
      isUsed = true;
    }
    return value;
  });
}

/** As JSON.stringify. A number that was replaced since is written as it is now. */
export function exactStringify(value: unknown): string {
  if (!isUsed) return JSON.stringify(value);
  return JSON.stringify(value, function (this: object, name: string, of: unknown) {
    const source = typeof of === 'number' ? digits.get(this)?.get(name) : undefined;
    return source !== undefined && Number(source) === of ? rawJSON(source) : of;
  });
}

/** Says that a value is another one now, though the double may not show it. The indexes of a list may have moved. */
export function forgetDigits(holder: object, name: string): void {
  if (Array.isArray(holder)) digits.delete(holder);
  else digits.get(holder)?.delete(name);
}
