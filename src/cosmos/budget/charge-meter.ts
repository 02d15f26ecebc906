/** Counts a caller's requests to Cosmos DB, their request units, and the throttled answers. */
export class Meter {
  requests = 0;
  charge = 0;
  throttled = 0;
  /** Items written: created, replaced, patched or deleted. */
  writes = 0;

  count(charge: number, writes = 0): void {
    this.requests += 1;
    this.charge += charge;
    this.writes += writes;
  }

  add({ requests, charge, throttled, writes }: Meter): void {
    this.requests += requests;
    this.charge += charge;
    this.throttled += throttled;
    this.writes += writes;
  }
}
