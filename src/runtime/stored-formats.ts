import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { FORMATS, FormatUnreadable, type Kind, assertFormat, isReadable, kindOf } from '../base/format.ts';
import { isObject } from '../base/json.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import type { Services } from './workspace.ts';

/** A format other than 1 that is stored in the account, and whether this version reads it. */
export interface StoredFormat {
  readonly kind: Kind;
  readonly format: number;
  /** The document; absent for a kind with many documents, of which only the format is known. */
  readonly id?: string;
  readonly readable: boolean;
}

type Where = Pick<Services, 'place' | 'global'>;

/** Finds control documents: a host reads them before it starts and while it works. About 9 RU, because format 1 has no number. */
const CONTROL =
  "SELECT * FROM c WHERE c.pk IN ('views', 'starts', 'fingerprints', 'epochs', 'erasures') AND IS_DEFINED(c.format)";
const LEASES = 'SELECT c.id, c.millrace.format FROM c WHERE IS_DEFINED(c.millrace.format)';
const EVERY = 'SELECT DISTINCT c.type, c.kind, c.pk, c.epoch, c.format FROM c WHERE IS_DEFINED(c.format)';

/** The formats of the documents that control the hosts. */
export async function controlFormats(services: Where, signal: AbortSignal): Promise<StoredFormat[]> {
  const documents = await ofState(services, CONTROL, signal);
  const leases = await queried(services.global.leases, LEASES, signal);
  return [
    ...documents.flatMap((document) => formatIn(document, kindOf(document), true)),
    ...leases.flatMap((document) => formatIn(document, 'lease', true)),
  ];
}

/** The highest format of each kind in the state container and the leases. A search of sink containers would read every document. */
export async function highestFormats(services: Where, signal: AbortSignal): Promise<StoredFormat[]> {
  const documents = await ofState(services, EVERY, signal);
  const all = [
    ...(await controlFormats(services, signal)),
    ...documents.flatMap((document) => formatIn(document, kindOf(document), false)),
  ];
  const highest = new Map<Kind, StoredFormat>();
  for (const one of all) if (one.format > (highest.get(one.kind)?.format ?? 0)) highest.set(one.kind, one);
  return [...highest.values()].toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
}

/** @throws FormatUnreadable */
export async function assertControlReadable(services: Where, signal: AbortSignal): Promise<void> {
  for (const { kind, format, id } of await controlFormats(services, signal)) assertFormat(kind, format, id);
}

const LOOK_MS = 5_000;
const SAY_MS = 60_000;

/**
 * Waits while this version can't read the format of a control document, because the host would reject every page. Calls
 * `say` once a minute. Returns when all are readable, or when the host stops.
 */
export async function untilControlReadable(
  services: Where,
  { signal, say, clock = systemClock }: { signal: AbortSignal; say: (line: string) => void; clock?: Clock },
): Promise<void> {
  let said = -Infinity;
  while (!signal.aborted) {
    try {
      return await assertControlReadable(services, signal);
    } catch (error) {
      if (!(error instanceof FormatUnreadable)) throw error;
      if (clock.monotonic() - said >= SAY_MS) {
        said = clock.monotonic();
        say(waitingFor(error));
      }
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }
}

export const waitingFor = ({ message, hint = '' }: FormatUnreadable): string => `This host waits: ${message}. ${hint}`;

export const sayFormat = ({ kind, format, id }: StoredFormat): string => {
  const { writes, reads } = FORMATS[kind];
  const which = id === undefined ? '' : ` (${id})`;
  return `${kind}${which}: format ${format} is stored, this version writes ${writes} and reads up to ${reads}`;
};

/** What the state containers have, those of the place and what is global. Where both are one, it is asked once. */
async function ofState({ place, global }: Where, query: string, signal: AbortSignal) {
  const containers = [...new Set([place.state, global.state])];
  return (await Promise.all(containers.map((state) => queried(state, query, signal)))).flat();
}

async function queried(container: Container, query: string, signal: AbortSignal) {
  const found: Record<string, unknown>[] = [];
  try {
    for await (const one of fetchAll<unknown>(container, query, signal, { anyFormat: true }))
      if (isObject(one)) found.push(one);
  } catch (error) {
    // A missing container has no documents. The code that needs the container reports it.
    if (!isMissing(error)) throw error;
  }
  return found;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'container-missing';

function formatIn({ id, format }: Record<string, unknown>, kind: Kind | undefined, withId: boolean): StoredFormat[] {
  if (kind === undefined || typeof format !== 'number') return [];
  const named = withId && typeof id === 'string' ? { id } : {};
  return [{ kind, format, ...named, readable: isReadable(kind, format) }];
}
