// What a probe is: one question to a service about one numbered assumption of docs/assumptions.md.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container, ContainerRequest, CosmosClient, Database } from '@azure/cosmos';
import type { Az } from './az.ts';

/** What a probe is asked on. What a target hasn't got is absent, and the probes that need it are not made. */
export interface Bench {
  readonly kind: 'azure' | 'emulator' | 'embedded';
  readonly database: Database;
  readonly client: CosmosClient;
  /** Makes a container of its own, by `/pk` unless it says otherwise. All go with the database. */
  container(definition?: Partial<ContainerRequest>): Promise<Container>;
  /** Signed in as a principal that has the built-in reader's role on the database alone. */
  readonly reader?: CosmosClient;
  /** The command line of Azure, signed in. */
  readonly az?: Az;
  readonly signal: AbortSignal;
}

export interface Probe {
  /** Of the assumption: `ASM-A5`, `ASM-E16`. */
  readonly number: string;
  /** What must be seen for it to hold, as a sentence. */
  readonly asks: string;
  /** Throws `Differs` where something else is seen, `NotProbed` where it can't be asked here. */
  run(bench: Bench): Promise<void>;
}

/** The assumption does not hold here. */
export class Differs extends Error {}
/** It can't be asked here, and why. */
export class NotProbed extends Error {}

/** Refuses what isn't as the assumption has it. */
export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Differs(otherwise);
}

export function same(seen: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(wanted)];
  holds(a === b, `${what}: ${a} instead of ${b}`);
}

type Request = Promise<{ readonly statusCode?: number }>;

/** How a request ended: its status. Rejects where there was no answer. */
export async function statusOf(request: Request): Promise<string> {
  return (await endOf(request)).status;
}

/** The same with the substatus, where that is part of the assumption: `403/5301`. */
export async function refusalOf(request: Request): Promise<string> {
  const { status, substatus } = await endOf(request);
  return `${status}/${substatus}`;
}

async function endOf(request: Request): Promise<{ status: string; substatus: number }> {
  try {
    return { status: String((await request).statusCode), substatus: 0 };
  } catch (error) {
    const { code, substatus } = error as Readonly<Record<string, unknown>>;
    if (typeof code !== 'number') throw error;
    return { status: String(code), substatus: Number(substatus ?? 0) };
  }
}

/** Asks again until it is so; after a minute the assumption is taken not to hold. */
export async function until(bench: Bench, what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    holds(performance.now() < deadline, `${what} is not so after a minute`);
    await sleep(250, undefined, { signal: bench.signal });
  }
}
