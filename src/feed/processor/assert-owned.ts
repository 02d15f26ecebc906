import type { ChangeContext } from './processor-options.ts';

/** Both forms of `ChangeContext.assertOwned`: what is known, and what is asked for. */
export function assertOwnedBy(known: () => void, fresh: () => Promise<void>): ChangeContext['assertOwned'] {
  function assertOwned(): void;
  function assertOwned(options: { readonly fresh: true }): Promise<void>;
  function assertOwned(options?: { readonly fresh: true }): void | Promise<void> {
    return options?.fresh ? fresh() : known();
  }
  return assertOwned;
}
