// J4, its examples: whether the id of an example is made as the text says.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { idOf } from '../annotations/known.ts';
import { alike, isPlaceholder, linesOf } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Place, valueAt } from '../model.ts';
import { type Found, hinted, quoted, together } from './rule.ts';

type Example = Annotation<'example'> & { readonly document: Readonly<Record<string, unknown>> };

export const examplesOf = (annotations: Annotations): Example[] =>
  annotations.of('example').filter((one): one is Example => one.document !== undefined);

/** `order:{orderId}` as an expression for ids; undefined where a part isn't a template. */
function formOf(format: string): RegExp | undefined {
  if (/[\s()[\]]/.test(format) || !/[{<]/.test(format)) return undefined;
  const parts = format.split(PARTS).map((part) => part.replaceAll(/[.*+?^$|\\]/g, String.raw`\$&`));
  return parts.join('').length === 0 ? undefined : new RegExp(`^${parts.join('.+')}$`);
}

const PARTS = /\$?\{[^}]*\}|<[^>]*>/;

/** The value that a template has for a document, if the document has all of its fields. */
function filled(format: string, document: Readonly<Record<string, unknown>>): string | undefined {
  if (/[\s()[\]]/.test(format)) return undefined;
  let isWhole = true;
  const value = format.replaceAll(new RegExp(PARTS, 'g'), (part) => {
    const name = part.replaceAll(/^\$?[{<]|[}>]$/g, '');
    const [, field] = Object.entries(document).find(([key]) => alike(key, name)) ?? [];
    isWhole &&= (typeof field === 'string' && !isPlaceholder(field)) || typeof field === 'number';
    return String(field);
  });
  return isWhole && value !== format ? value : undefined;
}

/** Letters that a hash has as hexadecimal digits. */
const DIGESTS: readonly (readonly [name: RegExp, length: number])[] = [
  [/\bsha-?256\b/i, 64],
  [/\bsha-?1\b/i, 40],
  [/\bmd5\b/i, 32],
];
const CUT = /\[:(\d+)\]/;

/** The id with what stands for signs that an id may not have, as `%2F` or `~2F` for a slash. */
const decoded = (id: string): string =>
  id.replaceAll(/[%~=]([2-7][0-9A-Fa-f])/g, (text, code: string) => {
    const sign = String.fromCodePoint(Number.parseInt(code, 16));
    return /[\p{L}\p{N}]/u.test(sign) ? text : sign;
  });

/** What the id of an example should be by a format, if it is something else. */
function shouldBe(format: string, id: string, document: Readonly<Record<string, unknown>>): string | undefined {
  const value = filled(format, document);
  if (value !== undefined)
    return value === id || value === decoded(id) ? undefined : `${quoted(value)} by the form ${quoted(format)}`;
  const form = formOf(format);
  if (form) return form.test(id) ? undefined : `of the form ${quoted(format)}`;
  const whole = DIGESTS.find(([name]) => name.test(format))?.[1];
  const length = Number(CUT.exec(format)?.[1] ?? whole);
  // Base64 is shorter, and a prefix makes it longer.
  const isHash =
    whole !== undefined && /^[0-9a-f]{8,}$/i.test(id) && !/base64|:|\+ ?['"]/i.test(format.replace(CUT, ''));
  return isHash && id.length !== length ? `of ${length} digits by ${quoted(format)}` : undefined;
}

const bareText = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

interface Other {
  readonly type: string;
  readonly id: string;
  readonly why: string;
  readonly at: Place;
  readonly related: readonly Place[];
}

/** One finding for a type: its examples have one cause. */
function* byType(all: readonly Other[]): Iterable<Found> {
  for (const group of Map.groupBy(all, ({ type }) => type).values()) {
    const [first] = group;
    if (!first) continue;
    const others = group.length - 1;
    yield* hinted(
      together(
        group,
        `${first.type}: the id of the example is "${quoted(first.id)}"${first.why}${others > 0 ? `; ${others} more ${others === 1 ? 'example is' : 'examples are'} like it (${linesOf(group.slice(1))})` : ''}`,
        group.flatMap(({ related }) => related),
      ),
      'Make the example by the rule of the id, or correct the rule.',
    );
  }
}

/** Fields of which the id is made, and whose values of the same example it doesn't have. A hash has none of them. */
export function* otherParts(annotations: Annotations): Iterable<Found> {
  const all = examplesOf(annotations).flatMap((example): readonly Other[] => {
    const id = example.document['id'];
    const { from = [], open, random, places } = idOf(annotations, example.type);
    if (typeof id !== 'string' || isPlaceholder(id) || /^[0-9a-f-]{16,}$/i.test(id)) return [];
    if (!open || random || from.length < 2) return [];
    const values = from.flatMap((path) => {
      const value = valueAt(example.document, `/${path.replaceAll('.', '/')}`);
      const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
      return text === '' || /\s/.test(text) || isPlaceholder(text) ? [] : [{ path, text }];
    });
    const ids = [bareText(id), bareText(decoded(id))];
    const lacking = values.filter(({ text }) => !ids.some((one) => one.includes(bareText(text))));
    // An id that has none of them is made in a way that the annotation doesn't say.
    if (lacking.length === 0 || lacking.length === values.length) return [];
    const made = places.filter((one) => (one.from ?? []).length > 0);
    return [
      {
        type: example.type ?? '',
        id,
        why: `. It is made of ${listed(from)} (${linesOf(made)}), and doesn’t have ${listed(lacking.map(({ path, text }) => `${path} "${quoted(text, 40)}"`))}. Who computes the id by the rule doesn’t find this document`,
        at: example.at,
        related: made.map(({ at }) => at),
      },
    ];
  });
  yield* byType(all);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** The form of a field's values as an expression; undefined for a form that is told in words. */
function fieldForm(format: string): RegExp | undefined {
  if (/^(?:guid|uuid)(?:\s?v?\d)?$/i.test(format.trim())) return UUID;
  const [, body, flags] = /^\/(\^.+\$)\/([a-z]*)$/.exec(format.trim()) ?? [];
  if (body !== undefined) {
    try {
      return new RegExp(body, flags);
    } catch {
      return undefined;
    }
  }
  const [, digits] = /^(\d{1,2}) digits$/i.exec(format.trim()) ?? [];
  return digits === undefined ? undefined : new RegExp(String.raw`^\d{${digits}}$`);
}

/** Values of examples that the stated form of their field refuses. */
export function* otherValues(annotations: Annotations): Iterable<Found> {
  const forms = annotations.of('type').flatMap(({ type, fields, at }) =>
    fields.flatMap(({ path, format }) => {
      const form = format === undefined ? undefined : fieldForm(format);
      return form ? [{ type, path, format: format ?? '', form, at }] : [];
    }),
  );
  const wrong = examplesOf(annotations).flatMap((example) =>
    forms.flatMap(({ type, path, format, form, at }) => {
      const value = same(type, example.type) ? valueAt(example.document, `/${path.replaceAll('.', '/')}`) : undefined;
      const bad = typeof value === 'string' && !isPlaceholder(value) && !form.test(value);
      return bad ? [{ type, path, format, value, from: at, at: example.at }] : [];
    }),
  );
  const texts = [...Map.groupBy(wrong, ({ type, path }) => `${type}.${path}`)].map(
    ([name, all]) =>
      `${name} "${quoted(all[0]?.value ?? '', 40)}" (${linesOf(all.slice(0, 1))}), which should be ${all[0]?.format ?? ''} (line ${all[0]?.from.line ?? 0})`,
  );
  yield* hinted(
    together(
      wrong,
      `Examples have values that the stated form refuses: ${listed(texts)}. Whoever builds the check by the form refuses these documents, and whoever builds by the example breaks the form`,
      wrong.map(({ from }) => from),
    ),
    'Make the examples by the form, or correct the form.',
  );
}

/** Examples whose ids no form of the text allows. */
export function* otherForms(annotations: Annotations): Iterable<Found> {
  const all = examplesOf(annotations).flatMap((example): readonly Other[] => {
    const id = example.document['id'];
    if (typeof id !== 'string' || isPlaceholder(id) || example.type === undefined) return [];
    const formats = annotations
      .of('id')
      .filter((one) => same(one.type, example.type) && one.format !== undefined && one.format !== id);
    const against = formats.flatMap((one) => {
      const wanted = shouldBe(one.format ?? '', id, example.document);
      return wanted === undefined ? [] : [{ wanted, at: one.at }];
    });
    const [first] = against;
    if (!first || against.length < formats.length) return [];
    return [
      {
        type: example.type,
        id,
        why: `, and should be ${first.wanted} (${linesOf(against)}). Code by the one doesn’t find documents by the other`,
        at: example.at,
        related: against.map(({ at }) => at),
      },
    ];
  });
  yield* byType(all);
}
