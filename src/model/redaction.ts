// Examples without the values that somebody stored: each text and number is replaced by one of the same form. The replacement
// depends on the form and on the order of appearance alone, so nothing leads back from it.
import { isObject } from '../base/json.ts';

type Doc = Readonly<Record<string, unknown>>;

/** A longer text is cut, and so is a longer list: the files are for people too. */
const LONGEST = 1_000;
const ELEMENTS = 10;

const MONTHS = String.raw`(?<!\d)\d{4}-(?:0[1-9]|1[0-2])(?!\d)`;
const TIMES = String.raw`[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?`;
/** A month, a day or a moment of ISO 8601, also inside an id. */
const DATE = new RegExp(`${MONTHS}(?:-(?:0[1-9]|[12]\\d|3[01])(?!\\d)(?:${TIMES})?)?`, 'g');
const TIME = /^(\d\d:\d\d)(:\d\d)?(\.\d+)?(.*)$/;
/** .NET's smallest and greatest date say that there is none. */
const NO_DATE = /^(?:0001|9999)/;
const HEX = /^[\da-f]{8}(?:-?[\da-f]{4}){3}-?[\da-f]{12}$/i;
const GEOMETRY = /^(?:Multi)?(?:Point|LineString|Polygon)$/;

/** Whether a member's name is data itself, as in a map from mail addresses, dates or ids. */
export const isDataName = (name: string): boolean => /@|^\d|\d{5}|[\da-f]{8}-/i.test(name);
/** An object whose names are data. */
export const isMap = (value: Readonly<Record<string, unknown>>): boolean => Object.keys(value).some(isDataName);

/** Shortens values, and changes nothing else. */
export const shortened = (doc: Doc): Doc => membersOf(doc, (_name, value) => cut(value));

const cut = (value: unknown): unknown => {
  if (typeof value === 'string') return shortText(value);
  if (Array.isArray(value)) return value.slice(0, ELEMENTS).map(cut);
  return isObject(value) ? membersOf(value, (_name, member) => cut(member)) : value;
};

/** Documents with other values: equal values stay equal, so that keys and joins still match, and dates keep their order. */
export function redacted(documents: readonly Doc[], kept: (doc: Doc, name: string) => boolean): Doc[] {
  const values = new Replacements(datesOf(documents));
  return documents.map((doc) =>
    membersOf(doc, (name, value) => (kept(doc, name) ? value : values.of(name, value)), values.name),
  );
}

const membersOf = (
  of: Readonly<Record<string, unknown>>,
  value: (name: string, member: unknown) => unknown,
  nameOf = (name: string): string => name,
): Doc => Object.fromEntries(Object.entries(of).map(([name, member]) => [nameOf(name), value(name, member)]));

class Replacements {
  readonly #dates: ReadonlyMap<string, string>;
  readonly #known = new Map<unknown, unknown>();
  /** How many values of a form there were. */
  readonly #counts = new Map<string, number>();

  constructor(dates: ReadonlyMap<string, string>) {
    this.#dates = dates;
  }

  name = (name: string): string => (isDataName(name) ? this.#text(name) : name);

  of(name: string, value: unknown): unknown {
    if (typeof value === 'string')
      return name === 'type' && GEOMETRY.test(value) ? value : this.#text(shortText(value));
    if (typeof value === 'number') return this.#number(value);
    if (Array.isArray(value)) return value.slice(0, ELEMENTS).map((element) => this.of(name, element));
    return isObject(value) ? membersOf(value, (inner, member) => this.of(inner, member), this.name) : value;
  }

  /** Prose as one value; an id by its parts, so that an id that is made of others still has theirs. */
  #text(value: string): string {
    if (/\s/.test(value.replaceAll(DATE, ''))) return this.#replace(value);
    if (HEX.test(value)) return this.#replace(value, '0');
    return [...parted(value)]
      .map(({ part, isDate }) =>
        isDate ? (this.#dates.get(part) ?? part) : part.replaceAll(/[\p{L}\p{N}]+/gu, (word) => this.#replace(word)),
      )
      .join('');
  }

  #replace(value: string, letter?: string): string {
    const known = this.#known.get(value);
    if (typeof known === 'string') return known;
    const mixed = value.length >= 12 && /^(?=.*\d)(?=.*\p{L})[\p{L}\p{N}]+$/u.test(value);
    const form = value.replaceAll(/[\p{L}\p{N}]/gu, (one) =>
      /\p{N}/u.test(one) ? '0' : (letter ?? (mixed ? '0' : /\p{Lu}/u.test(one) ? 'A' : 'a')),
    );
    let left = this.#next(form);
    let text = '';
    for (const one of Array.from(form).toReversed()) {
      const radix = one === '0' ? 10 : /[aA]/.test(one) ? 26 : 1;
      text = (radix === 1 ? one : String.fromCodePoint((one.codePointAt(0) ?? 0) + (left % radix))) + text;
      left = Math.floor(left / radix);
    }
    const made = left === 0 || !/[aA0]/.test(form) ? text : `${text}${left}`;
    this.#known.set(value, made);
    return made;
  }

  /** A number of as many digits; one digit stays, as `true` does. */
  #number(value: number): number {
    if (Math.abs(value) < 10 && Number.isInteger(value)) return value;
    const known = this.#known.get(value);
    if (typeof known === 'number') return known;
    const [before = '', after = ''] = String(Math.abs(value)).replace(/e.*/, '').split('.');
    const whole = Math.min(15, before === '0' ? 0 : before.length);
    const decimals = Number.isInteger(value) ? 0 : Math.min(15 - whole, Math.max(1, after.length));
    const count = this.#next(`${Math.sign(value)} ${whole} ${decimals}`);
    const digits = whole + decimals;
    // A fraction doesn't end with 0, or it would be shorter.
    const places = (digits > 1 ? 10 ** (digits - 1) : 0) + (decimals === 0 ? count : count + Math.floor(count / 9) + 1);
    const made = (Math.sign(value) * places) / 10 ** decimals;
    this.#known.set(value, made);
    return made;
  }

  #next(form: string): number {
    const count = this.#counts.get(form) ?? 0;
    this.#counts.set(form, count + 1);
    return count;
  }
}

const shortText = (text: string): string =>
  text.length > LONGEST ? Array.from(text).slice(0, LONGEST).join('') : text;

/** A text in its dates and what is between them. */
function* parted(text: string): Generator<{ readonly part: string; readonly isDate: boolean }> {
  let from = 0;
  for (const { 0: part, index } of text.matchAll(DATE)) {
    yield { part: text.slice(from, index), isDate: false };
    yield { part, isDate: true };
    from = index + part.length;
  }
  yield { part: text.slice(from), isDate: false };
}

/** Each date's replacement: months from January 2000 on, days of a month from its first, times of a day from midnight. */
function datesOf(documents: readonly Doc[]): ReadonlyMap<string, string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === 'string') for (const [date] of value.matchAll(DATE)) found.add(date);
    if (Array.isArray(value)) for (const element of value) visit(element);
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      visit(name);
      visit(member);
    }
  };
  for (const doc of documents) visit(doc);
  const dates = [...found].filter((date) => !NO_DATE.test(date)).toSorted();
  const ranks = (all: readonly string[]): ReadonlyMap<string, number> =>
    new Map([...new Set(all)].map((one, rank) => [one, rank]));
  const two = (value: number): string => String(value).padStart(2, '0');
  const months = ranks(dates.map((date) => date.slice(0, 7)));
  const made = new Map<string, string>();
  for (const [month, rank] of months) {
    const inMonth = dates.filter((date) => date.startsWith(month) && date.length > 7);
    const monthMade = `${2000 + Math.floor(rank / 12)}-${two((rank % 12) + 1)}`;
    made.set(month, monthMade);
    for (const [day, place] of ranks(inMonth.map((date) => date.slice(0, 10)))) {
      const dayMade = `${monthMade}-${two(Math.min(place, 27) + 1)}`;
      made.set(day, dayMade);
      const times = inMonth.filter((date) => date.startsWith(day) && date.length > 10);
      for (const [at, date] of times.entries()) {
        const [, , seconds = '', fraction = '', zone = ''] = TIME.exec(date.slice(11)) ?? [];
        const after = seconds === '' ? at * 60 : at;
        const clock = [Math.floor(after / 3_600) % 24, Math.floor(after / 60) % 60, after % 60].map(two).join(':');
        const clockMade = clock.slice(0, 5 + seconds.length) + fraction.replaceAll(/\d/g, '0') + zone;
        made.set(date, dayMade + date.charAt(10) + clockMade);
      }
    }
  }
  return made;
}
