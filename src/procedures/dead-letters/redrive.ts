import { untilStopped } from '../../feed/tenure/fences.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { type IngestSpec, type OutsideSpec, type Pipeline, isOutside, projectionId } from '../../pipeline/specs.ts';
import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { orderOf } from '../../engine/dead-letters/letter-document.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { type RedriveOptions, type Redriven, redriveLetter as redriveLetters } from '../../engine/redrive-letter.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { targetOf } from '../../ingest/take.ts';
import { redriveEvents } from '../../ingest/redrive.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { ingestSink } from '../../runtime/hosts/ingest-sink.ts';
import { READ_LAG_MS, openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { type LetterSelection, type LetterSources, selectLetters } from './select.ts';

export interface TriedSelection extends LetterSelection {
  /** Only so many, the oldest. Absent: all. */
  readonly sample?: number | undefined;
}

export interface RedriveLettersOptions extends TriedSelection, Parts {
  readonly signal: AbortSignal;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
  readonly progress?: ((done: number, of: number) => void) | undefined;
}

/** Dead letters that are redriven together. Progress is reported after each group; an interruption loses at most one. */
const AT_ONCE = 100;

/** Applies parked changes again; those that still can't be applied stay parked. */
export async function redrive(options: RedriveLettersOptions): Promise<Redriven[]> {
  const { services, loaded, signal, progress } = options;
  const here = { services: async () => services, pipeline: async () => loaded };
  const letters = await triedLetters(here, options);
  const opened = openEngine(options, 'redrive');
  const { engine } = opened;
  const known = new Set(engine.stats.map(({ id }) => id));
  const ingests = new Map<string, IngestSpec>(loaded.pipeline.ingests.map((spec) => [projectionId(spec), spec]));
  const results: Redriven[] = [];
  for (const some of together(letters)) {
    const unknown = some.filter(({ projection }) => !known.has(projection) && !ingests.has(projection));
    for (const [projection, spec] of ingests) {
      const own = some.filter((letter) => letter.projection === projection);
      if (own.length === 0) continue;
      const target = targetOf(spec, loaded.pipeline, loaded.model);
      const sink = ingestSink(options, spec, target);
      const deadLetters = new DeadLetters(services.place.state, letterBodies(services));
      try {
        const access = await sink.open(untilStopped(signal), new Meter());
        results.push(
          ...(await redriveEvents(own, { spec, target, deadLetters, access, isErased: await engine.erased() })),
        );
      } finally {
        await sink.close();
      }
    }
    results.push(
      ...unknown.map(({ projection, container, id }) => ({
        projection,
        container,
        id,
        outcome: 'refused' as const,
        message: unknownOf(projection, loaded.pipeline),
      })),
      ...(await redriveIn(
        some.filter(({ projection }) => known.has(projection)),
        opened,
        options,
      )),
    );
    progress?.(results.length, letters.length);
  }
  return results;
}

/** A projection into the next content of its sink. Under its own name, because the live content refuses other rows. */
export const nextOf = (spec: OutsideSpec): OutsideSpec => ({ ...spec, name: `${spec.name}-next` });

function unknownOf(projection: string, { effects }: Pipeline): string {
  const filled = effects.filter(isOutside).find((spec) => projectionId(nextOf(spec)) === projection);
  return filled
    ? `The content that is being filled refused it: \`millrace projections rebuild ${filled.name}\` redrives it`
    : `The pipeline declares no projection ${projection}`;
}

/** Applies letters of one place again, with the engine that was opened for it. */
export async function redriveIn(
  letters: readonly DeadLetter[],
  { engine, cold }: Pick<RedriveOptions, 'engine' | 'cold'>,
  { services, loaded, signal, readLagMs = READ_LAG_MS }: Omit<RedriveLettersOptions, keyof TriedSelection>,
): Promise<Redriven[]> {
  const fence = () => untilStopped(signal);
  return redriveLetters(letters, {
    engine,
    deadLetters: new DeadLetters(services.place.state, letterBodies(services)),
    sources: sourceContainers(loaded.pipeline, loaded.model),
    access: new CosmosAccess(services.place.database, fence(), new Meter()),
    cold,
    readLagMs,
    signal,
    fence,
  });
}

/** The letters that a redrive tries itself. Changes that wait behind one of them follow it. */
export async function triedLetters(from: LetterSources, asked: TriedSelection): Promise<DeadLetter[]> {
  const letters = await selectLetters(from, asked);
  return letters.filter(({ waits }) => !waits).slice(0, asked.sample);
}

/** Keeps all dead letters of a key together: a projection in the order of its keys can't apply one without the others. */
function together(letters: readonly DeadLetter[]): DeadLetter[][] {
  const groups: DeadLetter[][] = [];
  for (const group of Map.groupBy(letters, (letter) => `${letter.projection} ${orderOf(letter)}`).values()) {
    const last = groups.at(-1);
    if (last && last.length + group.length <= AT_ONCE) last.push(...group);
    else groups.push([...group]);
  }
  return groups;
}
