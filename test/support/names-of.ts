import { MODEL, type ModelRef, type Type } from '../../src/model/code/define-model.ts';

type Names<S> = ModelRef & {
  readonly [C in keyof S]: { readonly [T in keyof S[C]]: S[C][T] extends object ? Type<S[C][T]> : never };
};

const typesOf = (container: string): object =>
  new Proxy({}, { get: (_target, type) => (typeof type === 'string' ? { container, type } : undefined) });

/** The names of a model's types, of interfaces `{ Container: { type: Interface } }`: any name is known, and no field is. */
export function namesOf<S>(): Names<S>;
export function namesOf(): object {
  return new Proxy(
    {},
    {
      get(_target, container) {
        if (container === MODEL) return { containers: {} };
        return typeof container === 'string' ? typesOf(container) : undefined;
      },
    },
  );
}
