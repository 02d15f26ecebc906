// Ids that are made of other values (for C17): examples that don't follow.
import type { ContainerDetail } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { type Facts, examplesIn } from '../facts.ts';

export interface Composed {
  readonly detail: ContainerDetail;
  /** `user123 for userId user-abc-123`. */
  readonly what: string;
  readonly at: SourceLine;
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
