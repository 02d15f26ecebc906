// For a document without projections: finds texts and fields that suggest a copy.
import type { ContainerDetail, Design } from '../documents.ts';
import type { DocumentType, ModelFinding } from '../model.ts';

const DERIVED =
  /materiali[sz]ed|populated (by|from)|snapshot of|denormali[sz]ed|read model|projection of|\bderived\b|物化|派生|反规范化/i;
/** Fields that many types have without one being a copy of another. */
const COMMON = /^(id|type|ttl|_.*|.*Id|.*At|version|status|schemaVersion|deleted)$/;
/** Candidates that the finding names; the others are counted. */
const SHOWN = 5;

interface Candidate {
  readonly what: string;
  readonly at: ModelFinding['at'];
}

/** One question about all texts and common fields that look like copies. */
export function candidates({ containers, prose }: Pick<Design, 'containers' | 'prose'>): ModelFinding[] {
  const found = commonFields(containers);
  for (const { container, prose: own } of containers) {
    const derived = own.find(({ text, label }) => DERIVED.test(text) && !/denormali[sz]ation/i.test(label ?? ''));
    if (derived) found.push({ what: `${container.name} is "${short(derived.text)}"`, at: derived.at });
  }
  for (const { label, text, at } of prose) {
    if (/denormali[sz]|反规范化/i.test(label ?? '')) found.push({ what: `"${short(text)}"`, at });
  }
  const [first, ...more] = found.toSorted((a, b) => a.at.line - b.at.line);
  if (!first) return [];
  const named = [first, ...more].slice(0, SHOWN).map(({ what, at }) => `${what} (line ${at.line})`);
  const left = more.length + 1 - named.length;
  return [
    {
      code: 'projection-candidate',
      severity: 'information',
      message: `The document has no projections. Does one keep these up to date? ${named.join('; ')}${left > 0 ? `; and ${left} more` : ''}`,
      hint: 'Write the section "Change Feed Projections". Or write that they are snapshots.',
      at: first.at,
    },
  ];
}

interface Typed {
  readonly detail: ContainerDetail;
  readonly type: DocumentType;
}

/** Fields that types of several containers have, keys left out. `customerName` matches the `name` of a customer. */
function commonFields(containers: readonly ContainerDetail[]): Candidate[] {
  const types = containers.flatMap((detail) => detail.container.types.map((type): Typed => ({ detail, type })));
  const having = new Map<string, Typed[]>();
  for (const one of types) {
    for (const field of fieldsOf(one)) {
      const by = having.get(field) ?? [];
      by.push(one);
      having.set(field, by);
    }
  }
  const found: Candidate[] = [];
  const ask = (field: string, by: readonly Typed[]): void => {
    const several = by.filter(({ detail }, at) => by.findIndex((other) => other.detail === detail) === at);
    const last = several.at(-1);
    if (!last || several.length < 2) return;
    const named = several.slice(0, 2).map(({ detail, type }) => `${detail.container.name} (${type.name})`);
    const left = several.length - named.length;
    found.push({ what: `${field} of ${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}`, at: last.type.at });
  };
  for (const [field, by] of having) {
    if (!field.endsWith('Id') && !COMMON.test(field))
      ask(
        field,
        by.filter((one) => !isKey(one, field)),
      );
  }
  for (const one of types) {
    for (const field of fieldsOf(one)) {
      const prefixed = `${one.type.name}${field.charAt(0).toUpperCase()}${field.slice(1)}`;
      if (!prefixed.endsWith('Id')) ask(prefixed, [one, ...(having.get(prefixed) ?? [])]);
    }
  }
  return found;
}

const fieldsOf = ({ type }: Typed): Set<string> => new Set(type.examples.flatMap((example) => Object.keys(example)));
const isKey = ({ detail }: Typed, field: string): boolean => detail.container.partitionKey.includes(`/${field}`);

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 79).trimEnd()}…` : text);
