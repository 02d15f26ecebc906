// For a document without projections: finds texts and fields that suggest a copy.
import type { ContainerDetail, Design } from '../documents.ts';
import type { DocumentType, ModelFinding } from '../model.ts';

const DERIVED =
  /materiali[sz]ed|populated (by|from)|snapshot of|denormali[sz]ed|read model|projection of|\bderived\b|物化|派生|反规范化/i;
/** Fields that many types have without one being a copy of another. */
const COMMON = /^(id|type|ttl|_.*|.*Id|.*At|version|status|schemaVersion|deleted)$/;
const COPIES = 'Write the section "Change Feed Projections". Or write that it is a snapshot.';

/** One finding for each pair of types with common fields, and for each text about a copy; none of them is an error. */
export function candidates({ containers, prose }: Pick<Design, 'containers' | 'prose'>): ModelFinding[] {
  const types = containers.flatMap((detail) => detail.container.types.map((type) => ({ detail, type })));
  const found = types.flatMap((one, at) =>
    types.slice(at + 1).flatMap((other) => {
      const fields = shared(one, other);
      return fields.length === 0
        ? []
        : [finding(`${named(one)} and ${named(other)} both have ${fields.join(', ')}`, other.type.at)];
    }),
  );
  for (const { container, prose: own } of containers) {
    const derived = own.find(({ text, label }) => DERIVED.test(text) && !/denormali[sz]ation/i.test(label ?? ''));
    if (derived) found.push(finding(`${container.name} is described as derived: "${short(derived.text)}"`, derived.at));
  }
  for (const { label, text, at } of prose) {
    if (/denormali[sz]|反规范化/i.test(label ?? '')) found.push(finding(`Denormalization: "${short(text)}"`, at));
  }
  return found;
}

interface Typed {
  readonly detail: ContainerDetail;
  readonly type: DocumentType;
}

const named = ({ detail, type }: Typed): string => `${detail.container.name} (${type.name})`;

/** Common fields of types of two containers, without their keys. `customerName` matches a customer's `name`. */
function shared(one: Typed, other: Typed): string[] {
  if (one.detail === other.detail) return [];
  const keys = new Set(
    [one, other].flatMap(({ detail }) => detail.container.partitionKey.map((path) => path.slice(1))),
  );
  const fields = ({ type }: Typed): string[] => [...new Set(type.examples.flatMap((example) => Object.keys(example)))];
  const free = (field: string): boolean => !COMMON.test(field) && !keys.has(field);
  const [ours, theirs] = [fields(one), fields(other)];
  const prefixed = (of: Typed, field: string): string =>
    `${of.type.name}${field.charAt(0).toUpperCase()}${field.slice(1)}`;
  return [
    ...ours.filter((field) => free(field) && theirs.includes(field)),
    ...ours.filter((field) => theirs.includes(prefixed(one, field))).map((field) => prefixed(one, field)),
    ...theirs.filter((field) => ours.includes(prefixed(other, field))).map((field) => prefixed(other, field)),
  ].filter((field) => !field.endsWith('Id'));
}

const finding = (what: string, at: ModelFinding['at']): ModelFinding => ({
  code: 'projection-candidate',
  severity: 'information',
  message: `The document has no projections, but this may need one: ${what}`,
  hint: COPIES,
  at,
});

const short = (text: string): string => (text.length > 80 ? `${text.slice(0, 79).trimEnd()}…` : text);
