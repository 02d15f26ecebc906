/** Something that must be created or changed before a pipeline can run. */
export interface ApplyStep {
  /** In the imperative: `create container Orders, key /storeId`. */
  readonly say: string;
  readonly apply: () => Promise<unknown>;
}
