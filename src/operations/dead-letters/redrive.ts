import { z } from 'zod';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Meter } from '../../cosmos/meter.ts';
import { type IngestSpec, projectionId } from '../../definition/specs.ts';
import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { orderOf } from '../../engine/dead-letters/letter-document.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { type Redriven, redrive as redriveLetters } from '../../engine/dead-letters/redrive-letter.ts';
import { sinkContainer, sourceContainers } from '../../engine/runners.ts';
import { redriveEvents } from '../../ingest/redrive.ts';
import { CosmosSession } from '../../sinks/cosmos-session.ts';
import { audited } from '../audit/record.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { defineOperation } from '../operation.ts';
import { openEngine } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { plural, table } from '../table.ts';
import { type LetterSelection, selectLetters, selectionInput } from './select.ts';

export interface RedriveOptions extends LetterSelection, Parts {
  readonly signal: AbortSignal;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number;
  readonly progress?: (done: number, of: number) => void;
}

/** Letters tried together, with the others of their keys: how often what was done is told, and what an interruption leaves undone. */
const AT_ONCE = 100;

/** Tries parked changes again; those that are refused again stay parked. */
export async function redrive(options: RedriveOptions): Promise<Redriven[]> {
  const { services, loaded, signal, readLagMs = 5_000, progress } = options;
  const here = { services: async () => services, pipeline: async () => loaded };
  const letters = (await selectLetters(here, options)).filter(({ waits }) => !waits);
  const { engine, cold } = openEngine(options, 'redrive');
  const known = new Set(engine.stats.map(({ id }) => id));
  const ingests = new Map<string, IngestSpec>(loaded.pipeline.ingests.map((spec) => [projectionId(spec), spec]));
  const results: Redriven[] = [];
  const fence = () => untilStopped(signal);
  for (const some of together(letters)) {
    const unknown = some.filter(({ projection }) => !known.has(projection) && !ingests.has(projection));
    for (const [projection, spec] of ingests) {
      const own = some.filter((letter) => letter.projection === projection);
      const session = new CosmosSession(services.database, fence(), new Meter());
      const target = sinkContainer(spec.into.container, loaded.model);
      const deadLetters = new DeadLetters(services.state, letterBodies(services));
      results.push(...(await redriveEvents(own, { spec, target, deadLetters, session })));
    }
    results.push(
      ...unknown.map(({ projection, container, id }) => ({
        projection,
        container,
        id,
        outcome: 'refused' as const,
        message: `The pipeline declares no ${projection}`,
      })),
      ...(await redriveLetters(
        some.filter(({ projection }) => known.has(projection)),
        {
          engine,
          deadLetters: new DeadLetters(services.state, letterBodies(services)),
          sources: sourceContainers(loaded.pipeline, loaded.model),
          session: new CosmosSession(services.database, fence(), new Meter()),
          cold,
          readLagMs,
          signal,
          fence,
        },
      )),
    );
    progress?.(results.length, letters.length);
  }
  return results;
}

/** All letters of a key go at once: where a projection keeps its order, none of them could go without the others. */
function together(letters: readonly DeadLetter[]): DeadLetter[][] {
  const batches: DeadLetter[][] = [];
  for (const group of Map.groupBy(letters, (letter) => `${letter.projection} ${orderOf(letter)}`).values()) {
    const last = batches.at(-1);
    if (last && last.length + group.length <= AT_ONCE) last.push(...group);
    else batches.push([...group]);
  }
  return batches;
}

const input = z.object({ ...selectionInput, ...backgroundInput });

export const deadLettersRedrive = defineOperation({
  noun: 'dead-letters',
  verb: 'redrive',
  summary: 'Try parked changes again, once what kept them from being applied is mended',
  examples: [
    'millrace dead-letters redrive --dry-run',
    'millrace dead-letters redrive order-4711',
    'millrace dead-letters redrive --only summaries --env production',
  ],
  effect: 'changes',
  argument: 'id',
  input,
  plan: async (asked, { workspace }) => {
    const letters = await selectLetters(workspace, asked);
    return {
      steps: letters
        .filter(({ waits }) => !waits)
        .map(({ projection, container, id, code }) => `apply ${container}/${id} to ${projection} again (${code})`),
      ru: letters.length * RU_A_LETTER,
      // What isn't found is asked for again after the read lag.
      seconds: letters.length === 0 ? 0 : 5 + Math.ceil(letters.length / 20),
    };
  },
  run: async (asked, context): Promise<readonly Redriven[] | Enqueued> => {
    const { workspace, signal, screen } = context;
    if (asked.background) return enqueue('dead-letters redrive', asked, context);
    const services = await workspace.services();
    const loaded = await workspace.pipeline();
    return audited(context, 'dead-letters redrive', asked, () =>
      redrive({
        ...asked,
        settings: workspace.settings(),
        services,
        loaded,
        signal,
        progress: (done, of) => screen.progress('redriven', done, of),
      }),
    );
  },
  format: (result) => {
    if (isEnqueued(result)) return sayEnqueued(result);
    if (result.length === 0) return 'No dead letters.';
    const refused = result.filter(({ outcome }) => outcome === 'refused').length;
    return [
      table(
        ['projection', 'container', 'id', 'outcome', 'message'],
        result.map(({ projection, container, id, outcome, message }) => [
          projection,
          container,
          id,
          outcome,
          message ?? '',
        ]),
      ),
      `${plural(result.length - refused, 'letter')} settled, ${refused.toLocaleString('en-US')} refused again.`,
    ].join('\n');
  },
  ok: (result) => isEnqueued(result) || result.every(({ outcome }) => outcome !== 'refused'),
});

/** Reading the source and the letter, applying, removing the letter: docs/benchmarks.md, rounded up. */
const RU_A_LETTER = 40;
