/** Figures of a server since its start. */
export interface EmulatorStats {
  /** Requests by kind, refused ones too. */
  readonly requests: Readonly<Record<string, number>>;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Request units charged. */
  readonly charge: number;
  /** Requests that the simulated faults affected. */
  readonly faults: number;
  /** Queries whose sorted or grouped results are kept for their next page. */
  readonly keptQueries: number;
}

export class Stats {
  readonly #requests: Record<string, number> = {};
  readonly #statuses: Record<string, number> = {};
  charge = 0;
  faults = 0;

  request(kind: string): void {
    this.#requests[kind] = (this.#requests[kind] ?? 0) + 1;
  }

  status(status: number): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }

  snapshot(keptQueries: number): EmulatorStats {
    const { charge, faults } = this;
    return { requests: { ...this.#requests }, statuses: { ...this.#statuses }, charge, faults, keptQueries };
  }
}
