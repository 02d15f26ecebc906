import type { Container, OperationInput } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { type Kind, assertReadable, formatOf, isReadable, readableWhere } from '../../base/format.ts';
import { canonical } from '../../base/json.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { QueryPages } from '../../cosmos/query-pages.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { transact } from '../../cosmos/transact.ts';
import { EXPIRY_MS } from './times.ts';

/** What the document of every gate has. It is in a logical partition with the documents of its members. */
export interface StoredGate {
  readonly id: 'gate';
  readonly pk: string;
  readonly type: string;
  /** Every change of the gate raises it. */
  readonly generation: number;
  readonly format?: number;
}

/** A process that writes through a gate; its document expires some time after its last heartbeat. */
export interface Member {
  readonly id: string;
  readonly pk: string;
  readonly type: string;
  readonly ttl: number;
  readonly format?: number;
}

export interface Beat<M extends Member> {
  readonly member: M;
  /** The process joins, or joins again. Else the member's document must be there. */
  readonly joins: boolean;
}

/** Where a gate and its members are stored. */
export interface GateStore<G extends StoredGate, M extends Member> {
  /** May be older than the newest. Undefined: there is none. */
  read(): Promise<G | undefined>;
  /** The stored gate. Creates it if there is none. @throws UsageError `container-missing` */
  ensure(): Promise<G>;
  /**
   * Stores a heartbeat and reads the gate, in one transaction. Calls `next` for each attempt. Undefined: the gate or the
   * member's document was deleted, and the process must join again.
   */
  beat(next: () => Beat<M>, withinMs: number): Promise<G | undefined>;
  /**
   * Changes a gate if it still has the generation that was read, and raises the generation. Undefined: another process
   * was faster. A request that arrives late fails on the generation, so it needs no deadline.
   */
  change(gate: G, next: Partial<G>, withinMs?: number): Promise<G | undefined>;
  leave(member: string): Promise<void>;
  /** The members beside a gate of this generation or a later one. Undefined: the answer was older. */
  members(generation: number): Promise<readonly M[] | undefined>;
}

/** Pause before reading again whether a change of the gate took effect. */
const LAG_MS = 50;

export interface GateForm<G extends StoredGate> {
  /** The gate as it is created. */
  readonly first: G;
  readonly kind: Kind;
  /** Throws where a stored gate can't be one of this version. Applications write in its container too. */
  readonly assertForm?: (gate: G) => void;
}

export function cosmosGate<G extends StoredGate, M extends Member>(
  container: Container,
  { first, kind, assertForm = () => undefined }: GateForm<G>,
  clock: Clock,
): GateStore<G, M> {
  const checked = <T extends G | undefined>(gate: T): T => {
    if (gate && isReadable(kind, gate.format)) assertForm(gate);
    return gate;
  };
  const { pk } = first;
  const readable = readableWhere(kind);
  const ensure = async (): Promise<G> => {
    const ensured = rewrite(container, first, (stored?: G) => stored ?? first, { clock });
    return checked((await ensured.catch(throwMissing(container))).after);
  };
  return {
    ensure,
    read: async () => {
      const retry = { reads: true, withinMs: EXPIRY_MS / 3, clock };
      return checked((await withRetry(() => container.item('gate', pk).read<G>(), retry)).resource);
    },
    beat: async (next, withinMs) => {
      const operations = (): OperationInput[] => [...presence(next(), readable), { operationType: 'Read', id: 'gate' }];
      try {
        const results = await transact(container, pk, operations, { reads: true, withinMs, clock });
        return checked(results.at(-1)?.resourceBody as unknown as G);
      } catch (error) {
        if (failureOf(error).kind !== 'not-found') throw error;
        return undefined;
      }
    },
    change: async (gate, next, withinMs = 60_000) => {
      const since = clock.monotonic();
      const changed = { ...next, generation: gate.generation + 1 };
      const operations = Object.entries({ ...changed, ...formatOf(kind) }).map(
        ([name, value]) => ({ op: 'set', path: `/${name}`, value }) as const,
      );
      const condition = `from c where c.generation = ${gate.generation} and ${readable}`;
      for (;;) {
        try {
          const retry = { reads: false, withinMs, clock };
          await withRetry(() => container.item('gate', pk).patch({ operations, condition }), retry);
          return { ...gate, ...changed };
        } catch (error) {
          const unsure = error instanceof AmbiguousOutcome;
          if (!unsure && failureOf(error).kind !== 'precondition') throw error;
          const now = await ensure();
          if (canonical({ ...now, ...changed }) === canonical(now)) return now;
          if (now.generation > gate.generation) return undefined;
          if (clock.monotonic() - since > withinMs) throw error;
          // A lagging replica may show the gate as it was before: read again.
          await clock.sleep(LAG_MS);
        }
      }
    },
    leave: async (member) => {
      const retry = { reads: true, withinMs: EXPIRY_MS / 3, clock };
      await withRetry(() => container.item(member, pk).delete(), retry);
    },
    members: async (generation) => {
      const pages = new QueryPages<G | M>(container, 'SELECT * FROM c', { partitionKey: pk, maxItemCount: 1_000 });
      const found: (G | M)[] = [];
      while (!pages.done) found.push(...(await pages.next()));
      for (const document of found) assertReadable(document);
      const isNew = found.some((document) => document.id === 'gate' && (document as G).generation >= generation);
      return isNew ? found.filter((document): document is M => document.id !== 'gate') : undefined;
    },
  };
}

/**
 * A process that joins also writes to the gate document. So its batch comes before or after each change of the gate,
 * never at the same time: a change of the gate that comes later has seen the member's document.
 */
function presence({ member, joins }: Beat<Member>, readable: string): OperationInput[] {
  const resourceBody = member as unknown as Record<string, string>;
  if (!joins) return [{ operationType: 'Replace', id: member.id, resourceBody }];
  const operations = [{ op: 'incr' as const, path: '/joined', value: 1 }];
  return [
    { operationType: 'Upsert', resourceBody },
    { operationType: 'Patch', id: 'gate', resourceBody: { condition: `from c where ${readable}`, operations } },
  ];
}
