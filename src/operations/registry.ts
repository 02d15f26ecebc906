import { MillraceError } from '../base/errors.ts';
import { type Operation, operationName } from './operation.ts';

/** The operations there are, in the order in which help lists them. */
export class Registry {
  readonly #byName = new Map<string, Operation>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const name = operationName(operation);
      if (this.#byName.has(name)) throw new MillraceError('operation-twice', `Two operations are called "${name}"`);
      this.#byName.set(name, operation);
    }
  }

  all(): readonly Operation[] {
    return [...this.#byName.values()];
  }

  get(name: string): Operation | undefined {
    return this.#byName.get(name);
  }
}
