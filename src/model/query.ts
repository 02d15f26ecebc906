/** The fields that a query uses. */
export interface Query {
  readonly text: string;
  readonly equal: readonly string[];
  readonly filters: readonly string[];
  readonly order: readonly { readonly path: string; readonly descending: boolean }[];
}
