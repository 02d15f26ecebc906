/** Counts a caller's requests to Cosmos DB, their request units, and the throttled answers. */
export class Meter {
  requests = 0;
  charge = 0;
  throttled = 0;
  /** Items written: created, replaced, patched or deleted. */
  writes = 0;
  /** Documents that readers see, written or deleted, by container. */
  readonly changed = new Map<string, number>();

  count(charge: number, writes = 0): void {
    this.requests += 1;
    this.charge += charge;
    this.writes += writes;
  }

  wrote(container: string, documents: number): void {
    if (documents > 0) this.changed.set(container, (this.changed.get(container) ?? 0) + documents);
  }

  add({ requests, charge, throttled, writes, changed }: Meter): void {
    this.requests += requests;
    this.charge += charge;
    this.throttled += throttled;
    this.writes += writes;
    for (const [container, documents] of changed) this.wrote(container, documents);
  }
}
