/** Something that has to be made or changed before a pipeline can run. */
export interface Step {
  /** As an order: `create container Orders, key /storeId`. */
  readonly say: string;
  readonly apply: () => Promise<unknown>;
}
