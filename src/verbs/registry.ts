import { type Operation, operationName } from './operation.ts';
import { operationsError } from '../procedures/errors.ts';

/** All operations, in the order in which help lists them. */
export class Registry {
  readonly #byName = new Map<string, Operation>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const name = operationName(operation);
      if (this.#byName.has(name)) throw operationsError('operation-twice', `Two operations have the name "${name}"`);
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
