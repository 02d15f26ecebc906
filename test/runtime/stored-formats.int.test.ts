// Documents of a later version: a running host meets them, a starting host meets them, and verbs report them.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Container } from '@azure/cosmos';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Events } from '../../src/base/telemetry/diagnostics.ts';
import { FORMATS, type Format, FormatUnreadable, type Kind } from '../../src/base/format.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { watchTroubles } from '../../src/host/run/watch.ts';
import { assertControlReadable, untilControlReadable } from '../../src/runtime/stored-formats.ts';
import { cli } from '../cli/cli.ts';
import { VERSIONS, compare, live, writeAny } from '../verbs/projections/versions.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { useStage } from '../support/each-stage.ts';
import type { Stage } from '../support/stage.ts';

const SEED = suiteSeed();
const LATER = 7;
const { signal } = new AbortController();
const PATIENCE = { timeout: 20_000, interval: 20 };

let stage: Stage;
useStage({ folder: VERSIONS }, (opened) => {
  stage = opened;
});

type Stored = Record<string, unknown> & { readonly id: string };

/** Gives a document the format of a later version. Returns it, and a function that stores the original document again. */
async function raiseFormat(container: Container, where: string, field: '_mr' | 'millrace' | undefined) {
  const [before] = (await container.items.query<Stored>(`SELECT * FROM c WHERE ${where}`).fetchAll()).resources;
  if (!before) throw new Error(`Nothing is stored where ${where}`);
  const later = field
    ? { ...before, [field]: { ...(before[field] as object), format: LATER } }
    : { ...before, format: LATER };
  const { resource } = await container.items.upsert<Stored>(later);
  return { id: before.id, later: resource, putBack: () => container.items.upsert<Stored>(before) };
}

async function writeAll(random: Random): Promise<void> {
  await stage.container('Customers').items.upsert({ id: 'c0', type: 'customer', storeId: 's0', name: 'Ada' });
  for (let n = 0; n < 40; n++) await writeAny(stage, random);
}

/** Changes every source document, so that every derived document must be updated. */
async function touchAll(): Promise<void> {
  for (const name of ['Orders', 'Customers']) {
    const { items } = stage.container(name);
    for (const doc of (await items.query<Stored & { readonly cents?: number }>('SELECT * FROM c').fetchAll()).resources)
      await items.upsert({
        ...doc,
        ...(name === 'Orders' ? { cents: Number(doc.cents) + 1 } : { name: `${doc.id}!` }),
      });
  }
}

async function assertExact(): Promise<void> {
  for (const name of ['summaries@1', 'days@1']) {
    const { expected, found } = await compare(stage, name);
    expect(expected.size).toBeGreaterThan(3);
    expect({ name, found }).toEqual({ name, found: expected });
  }
}

describe(`a host at work that meets a document of a later version (seed ${SEED})`, () => {
  it.each([
    ['views', 'millrace', "c.type = 'millrace.views'", undefined],
    ['locator', 'millrace', "c.type = 'millrace.locator'", undefined],
    // A state with a version comes from a customer that exists. No change may read that of a customer without a document.
    ['join', 'millrace', "c.type = 'millrace.join' AND NOT IS_NULL(c.version)", undefined],
    ['contribution', 'Days', 'c.type = "millrace.contribution" AND IS_DEFINED(c["values"].m)', undefined],
    ['own', 'Days', "c.type = 'day'", '_mr'],
    ['own', 'Summaries', "c.type = 'summary'", '_mr'],
  ] as const)(
    'a host at work that meets a document of a later version waits for a %s in %s: parks nothing, writes nothing over it, and goes on',
    async (kind, name, where, field) => {
      const lines: string[] = [];
      const endWatch = watchTroubles((line) => lines.push(line));
      const refused: unknown[] = [];
      const note = (event: unknown): void => void refused.push((event as Events['feed:failed']).error);
      subscribe('millrace:feed:failed', note);
      const app = await live(stage);
      try {
        await writeAll(new Random(SEED));
        await app.drained(signal);
        const container = stage.container(name);
        const { id, later, putBack } = await raiseFormat(container, where, field);
        await touchAll();
        await vi.waitFor(() => expect(refused).toContainEqual(expect.any(FormatUnreadable)), PATIENCE);
        expect(refused).toContainEqual(expect.objectContaining({ code: 'format-too-new', kind, format: LATER }));
        const [now] = (
          await container.items
            .query<Stored>({ query: 'SELECT * FROM c WHERE c.id = @id', parameters: [{ name: '@id', value: id }] })
            .fetchAll()
        ).resources.filter((one) => one['_rid'] === later?.['_rid']);
        expect(now).toEqual(later);
        // One line for all attempts; it says what to do.
        expect(lines.filter((line) => line.startsWith('This host waits'))).toEqual([
          expect.stringContaining('docs/upgrading.md'),
        ]);
        await putBack();
        await app.drained(signal);
        expect(await new DeadLetters(stage.services.place.state).list()).toEqual([]);
        await assertExact();
      } finally {
        unsubscribe('millrace:feed:failed', note);
        endWatch();
        await app.stop();
      }
    },
  );

  it('a host at work that meets a document of a later version takes no lease of a later version, and goes on with it afterwards', async () => {
    const random = new Random(SEED);
    const first = await live(stage, 'first');
    await writeAll(random);
    await first.drained(signal);
    await first.stop();
    const { id, later, putBack } = await raiseFormat(
      stage.services.global.leases,
      'IS_DEFINED(c.millrace)',
      'millrace',
    );
    await expect(live(stage, 'second')).rejects.toMatchObject({ code: 'format-too-new', kind: 'lease' });
    expect((await stage.services.global.leases.item(id, id).read<Stored>()).resource).toEqual(later);
    await putBack();
    const app = await live(stage, 'second');
    await writeAll(random);
    await app.drained(signal);
    await app.stop();
    await assertExact();
  });
});

describe('a format that is raised in two releases', () => {
  const every = (format: Format): void => {
    for (const kind of Object.keys(FORMATS) as Kind[]) Object.assign(FORMATS[kind], format);
  };
  // Files that run after this one in the same process have these formats.
  const stored = structuredClone(FORMATS);
  afterEach(() => {
    for (const kind of Object.keys(FORMATS) as Kind[]) Object.assign(FORMATS[kind], stored[kind]);
  });

  it('a format that is raised in two releases is written, read beside the one before, and taken back, and everything derived stays exact', async () => {
    const random = new Random(SEED);
    const work = async (format: Format, host: string): Promise<void> => {
      every(format);
      const app = await live(stage, host);
      await writeAll(random);
      await touchAll();
      await app.drained(signal);
      await app.stop();
      await assertExact();
      expect(await new DeadLetters(stage.services.place.state).list()).toEqual([]);
    };
    const places = [
      ['millrace', "c.type = 'millrace.locator'", 'format'],
      ['Days', "c.type = 'millrace.contribution' AND IS_DEFINED(c['values'].m)", 'format'],
      ['Days', "c.type = 'day'", '_mr.format'],
      ['Summaries', "c.type = 'summary'", '_mr.format'],
    ] as const;
    const numbers = async ([name, where, path]: (typeof places)[number]): Promise<number[]> => {
      const query = `SELECT DISTINCT VALUE c.${path} ?? 1 FROM c WHERE ${where}`;
      return (await stage.container(name).items.query<number>(query).fetchAll()).resources;
    };
    await work({ writes: 1, reads: 2 }, 'one');
    for (const place of places) expect({ place, numbers: await numbers(place) }).toEqual({ place, numbers: [1] });
    await work({ writes: 2, reads: 2 }, 'two');
    for (const place of places) expect({ place, numbers: await numbers(place) }).toEqual({ place, numbers: [2] });
    await work({ writes: 1, reads: 2 }, 'one');
    for (const place of places) expect({ place, numbers: await numbers(place) }).toEqual({ place, numbers: [1] });
  });
});

describe('control documents of a later version', () => {
  it.each([
    ['views', "c.type = 'millrace.views'"],
    ['fingerprint', "c.type = 'millrace.fingerprint'"],
    ['epoch', "c.pk = 'epochs'"],
  ])('%s: hosts wait before they start, and doctor, status and readiness report it', async (kind, where) => {
    const app = await live(stage);
    await writeAll(new Random(SEED));
    await app.drained(signal);
    await app.stop();
    await assertControlReadable(stage.services, signal);
    const { putBack } = await raiseFormat(stage.services.place.state, where, undefined);

    await expect(assertControlReadable(stage.services, signal)).rejects.toMatchObject({ kind, format: LATER });
    const said: string[] = [];
    const heard = Promise.withResolvers<void>();
    let slept = 0;
    const clock = {
      now: () => Date.now(),
      monotonic: () => slept * 5_000,
      sleep: async () => {
        slept += 1;
        // Two checks after the first minute, so that the second report has come.
        if (slept === 14) heard.resolve();
        await new Promise((resolve) => setImmediate(resolve));
      },
    };
    const waiting = untilControlReadable(stage.services, { signal, say: (line) => said.push(line), clock });
    await heard.promise;
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(/^This host waits: The .* document ".*" has format 7; .* docs\/upgrading\.md/);

    const doctor = await cli(['doctor', '--pipeline', VERSIONS, '--json']);
    expect(doctor.code).toBe(1);
    expect(JSON.parse(doctor.stdout)).toContainEqual({
      check: 'formats',
      verdict: 'bad',
      what: expect.stringContaining(`${kind} (`) as string,
      hint: expect.stringContaining('docs/upgrading.md') as string,
    });
    const status = await cli(['status', '--pipeline', VERSIONS]);
    expect({ ...status, code: 0 }).toEqual({ ...status, code: 0 });
    expect(status.stdout).toMatch(new RegExp(`Hosts of this version wait: ${kind} .*format 7 is stored`));

    await putBack();
    await waiting;
    expect(JSON.parse((await cli(['doctor', '--pipeline', VERSIONS, '--json'])).stdout)).toContainEqual(
      expect.objectContaining({ check: 'formats', verdict: 'good' }),
    );
  });
});
