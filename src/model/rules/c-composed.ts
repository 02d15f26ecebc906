// Ids that are made of other values (for C17): examples that don't follow, and programs that make the same id twice.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Facts, examplesIn } from './facts.ts';
import { fencedIn } from './fenced.ts';

export interface Composed {
  readonly detail: ContainerDetail;
  /** `user123 for userId user-abc-123`. */
  readonly what: string;
  readonly at: Place;
}

const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** The part of an id that is called like the field and has an end of its value, but not the value. */
function partOf(id: string, field: string, value: string): string | undefined {
  const stem = field.replace(/_?id$/i, '').toLowerCase();
  const ends = value.toLowerCase().split(/[^a-z0-9]+/);
  if (stem === '' || ends.length < 2 || plain(id).includes(plain(value))) return undefined;
  return id.split(/[-_:|.#]/).find((part) => {
    const rest = part.toLowerCase().startsWith(stem) ? part.slice(stem.length).toLowerCase() : '';
    return /\d/.test(rest) && ends.includes(rest);
  });
}

/** Examples whose id shortens the ids that it is made of. */
export const shortenedIn = (facts: Facts): Composed[] =>
  facts.containers.flatMap((detail) =>
    examplesIn(detail.container).flatMap((one) => {
      const id = one['id'];
      const parts = Object.entries(one).flatMap(([field, value]) => {
        const part =
          typeof id === 'string' && typeof value === 'string' && /.(?:Id|_id)$/.test(field)
            ? partOf(id, field, value)
            : undefined;
        return part === undefined ? [] : [`${part} for ${field} ${String(value)}`];
      });
      return parts.length === 0
        ? []
        : [{ detail, what: parts.join(', '), at: facts.field(one, 'id', detail.container.at) }];
    }),
  );

/** `` id: `${date}_${place}` ``, `'id': f"{date}_{place}"`: what stands between the values. */
const TEMPLATE = /["']?\bid["']?\s*[:=]\s*(?:f["']|`|\$")(?<text>[^"'`\n]*\{[^"'`\n]*\}[^"'`\n]*\{[^"'`\n]*\})/;
const CHANGED = /\.(?:replace(?:All)?|lower|toLowerCase|ToLower\w*|sub|strip|trim|normalize)\(/;

interface Made {
  readonly between: string;
  readonly at: Place;
  readonly changes: readonly Place[];
}

/** Programs that make an id of two values, and change a text in doing so. */
function madeIn({ lines, file }: Design): Made[] {
  return fencedIn(lines).flatMap(({ begin, block: own }): Made[] => {
    const at = own.findIndex((line) => TEMPLATE.test(line));
    const text = TEMPLATE.exec(own[at] ?? '')?.groups?.['text'];
    if (text === undefined) return [];
    const changes = own.flatMap((line, index) => (CHANGED.test(line) ? [{ file, line: begin + 2 + index }] : []));
    return changes.length === 0
      ? []
      : [{ between: text.replaceAll(/\$?\{[^}]*\}/g, '{}'), at: { file, line: begin + 2 + at }, changes }];
  });
}

/** Ids of one form that two programs make, each by its own changes. */
export const twiceIn = (design: Design): Made[] =>
  [...Map.groupBy(madeIn(design), ({ between }) => between).values()].flatMap((all) => (all.length > 1 ? all : []));
