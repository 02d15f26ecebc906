import { digest } from '../../base/json.ts';
import type { Identity } from '../../feed/reading/change.ts';

export const identityOf = ({ key, id }: Pick<Identity, 'key' | 'id'>): string => digest([key, id]);

/** A set of identities of one container, divided by first letter: one Set of JavaScript holds 16 million at most. */
export class Identities {
  readonly #parts = new Map<string, Set<string>>();

  /** False: the set had it already. */
  add(identity: Pick<Identity, 'key' | 'id'>): boolean {
    const key = identityOf(identity);
    const part = this.#parts.get(key.slice(0, 1)) ?? new Set<string>();
    this.#parts.set(key.slice(0, 1), part);
    return part.size < part.add(key).size;
  }

  has(identity: Pick<Identity, 'key' | 'id'>): boolean {
    const key = identityOf(identity);
    return this.#parts.get(key.slice(0, 1))?.has(key) ?? false;
  }
}
