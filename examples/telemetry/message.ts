/** What a device sends. */
export interface Message {
  readonly tenant: string;
  readonly site: string;
  readonly device: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly celsius: number;
  readonly battery: number;
}

/** Reads a message, and says what is wrong with an event that isn't one: that becomes its dead letter. */
export function readMessage(body: unknown): Message {
  if (typeof body !== 'object' || body === null) throw new Error('the message is no object');
  const { tenant, site, device, at, celsius, battery } = body as Partial<Record<keyof Message, unknown>>;
  if (typeof tenant !== 'string' || typeof site !== 'string' || typeof device !== 'string')
    throw new Error('the message does not say whose it is');
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) throw new Error(`${String(at)} is no time`);
  if (typeof celsius !== 'number' || typeof battery !== 'number')
    throw new Error(`${String(celsius)} °C or ${String(battery)} % is no number`);
  return { tenant, site, device, at, celsius, battery };
}
