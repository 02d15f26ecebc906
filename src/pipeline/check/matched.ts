import type { DocumentType } from '../../model/model.ts';
import { suggestion } from '../../base/near.ts';
import { error } from '../declaration.ts';
import type { Finding } from '../specs.ts';

type Known = Pick<DocumentType, 'name' | 'fields'>;

/** Fields by which documents are matched, `theirs: 'ours'`, and which a type doesn't have: nothing would ever match. */
export function matched(
  what: string,
  on: Readonly<Record<string, string>>,
  theirs: Known | undefined,
  ours: Known | undefined,
): Finding[] {
  const lacks = (type: Known | undefined, field: string): Finding[] => {
    const names = Object.keys(type?.fields ?? {});
    if (!type || names.length === 0 || names.includes(field)) return [];
    const message = `${what} ${field}, which ${type.name} doesn't have${suggestion(field, names)}`;
    return [error('join-not-a-point-read', message, 'Correct the name, or add the field to the model.')];
  };
  return Object.entries(on).flatMap(([their, own]) => [...lacks(theirs, their), ...lacks(ours, own)]);
}
