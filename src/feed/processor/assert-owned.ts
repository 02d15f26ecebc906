import type { ChangeContext } from './processor-options.ts';

/** Both forms of `ChangeContext.assertOwned`: by what this host knows, and by a request. */
export function assertOwnedBy(known: () => void, fresh: () => Promise<void>): ChangeContext['assertOwned'] {
  function assertOwned(): void;
  function assertOwned(options: { readonly fresh: true }): Promise<void>;
  function assertOwned(options?: { readonly fresh: true }): void | Promise<void> {
    return options?.fresh ? fresh() : known();
  }
  return assertOwned;
}
