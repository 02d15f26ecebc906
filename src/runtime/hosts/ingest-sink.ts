// Where the documents of an ingest go: into one database, or each into the shard that the map gives its key.
import { MillraceError } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { failureOf } from '../../cosmos/failure.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import { type Spending, spendingOf } from '../../cosmos/budget/meter.ts';
import type { IngestSpec } from '../../pipeline/specs.ts';
import type { Key } from '../../feed/reading/change.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import { type IngestAccess, type IngestSink, databaseSink } from '../../ingest/sink.ts';
import type { IngestTarget } from '../../ingest/take.ts';
import type { RoutedPass } from '../../shards/routing/values.ts';
import type { Router } from '../../shards/routing/router.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import type { Parts } from '../open-feed.ts';
import { mappedLevel, openPipelineRouter } from '../places.ts';

/** The sink of an ingest. Nothing is sent before the first events. */
export function ingestSink(parts: Parts, { into }: IngestSpec, target: IngestTarget): IngestSink {
  const { services, loaded } = parts;
  if (!loaded.pipeline.part?.inShards.has(into.container)) return databaseSink(services.place.database);
  let opened: Promise<Router> | undefined;
  const router = once(() => (opened = openPipelineRouter(parts)));
  return {
    open: async (fence, meter, lane) => routedAccess(await router(), target, { fence, meter, lane }),
    close: async () => {
      await (await opened?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}

interface Sending {
  readonly fence: Fence;
  readonly meter: Meter;
  readonly lane: 'live' | undefined;
}

/** A document of a key that no shard has can't be stored. While the key is held or offline, its events wait. */
const NO_SHARD: ReadonlySet<string> = new Set(['mapping-missing', 'shard-key-invalid']);

/** Each request has a pass of its own, so a move of the key waits for those under way, and the next go to the target. */
function routedAccess(router: Router, target: IngestTarget, sending: Sending): IngestAccess {
  const level = mappedLevel(router.schema, target);
  const keyOf = (key: Key): string | number => key[level] as string | number;
  return {
    read: async (container, key, ids) => {
      using pass = await router.enter(keyOf(key));
      const access = new CosmosAccess(
        pass.shard.database,
        within(sending.fence, pass.signal),
        sending.meter,
        spendingOf(pass.shard.database, sending.lane),
      );
      return await access.read(container, key, ids);
    },
    create: async (container, key, id, body) => {
      try {
        using pass = await router.enter(keyOf(key));
        return await createBy(pass, container, key, body, sending);
      } catch (error) {
        if (error instanceof AmbiguousOutcome) return { kind: 'conflict' };
        if (error instanceof MillraceError && NO_SHARD.has(error.code))
          return {
            kind: 'refused',
            why: `${error.message}, so ${container}/${id} has no shard. Create the mapping, then redrive`,
          };
        const { kind, message } = failureOf(error);
        if (kind === 'conflict') return { kind: 'conflict' };
        if (kind === 'refused' || kind === 'too-large') return { kind: 'refused', why: message };
        throw error;
      }
    },
  };
}

async function createBy(
  pass: RoutedPass,
  container: string,
  key: Key,
  body: object,
  { fence, meter, lane }: Sending,
): Promise<{ readonly kind: 'done' }> {
  const of = within(fence, pass.signal);
  const send = () => {
    of.assert();
    return pass.container(container).items.create(body, { abortSignal: pass.signal });
  };
  const spending: Spending | undefined = spendingOf(pass.shard.database, lane);
  const spent = () =>
    spending ? spending.spend(container, key, send, ({ requestCharge }) => requestCharge, of.signal) : send();
  const { requestCharge } = await withRetry(spent, {
    signal: of.signal,
    meter,
    reads: false,
    before: () => of.assert(),
  });
  meter.count(requestCharge, 1);
  return { kind: 'done' };
}

/** No request begins after the pass has ended: its shard may have another router's write by then. */
const within = (fence: Fence, signal: AbortSignal): Fence => ({
  kind: fence.kind,
  tenure: fence.tenure,
  signal: AbortSignal.any([fence.signal, signal]),
  assert: () => {
    fence.assert();
    signal.throwIfAborted();
  },
});
