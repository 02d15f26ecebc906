import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  FORMATS,
  type Format,
  FormatUnreadable,
  type Kind,
  assertReadable,
  formatOf,
  isReadable,
  kindOf,
} from '../../src/base/format.ts';
import { isInfrastructure } from '../../src/engine/isolate.ts';

const ROOT = join(import.meta.dirname, '../..');
const KINDS = Object.keys(FORMATS) as Kind[];
const stored: Readonly<Record<string, Format>> = structuredClone(FORMATS);
const raise = (kind: Kind, format: Format): Format => Object.assign(FORMATS[kind], format);
afterEach(() => {
  for (const kind of KINDS) raise(kind, { writes: 1, reads: 1, ...stored[kind] });
});

describe('a format', () => {
  it.each(KINDS)(
    'a format of a %s is read where it is absent, 1 or up to what this version reads, and no other',
    (kind) => {
      const { reads }: Format = FORMATS[kind];
      expect([undefined, 1, reads, 0, reads + 1, 1.5, '1', null].map((format) => isReadable(kind, format))).toEqual([
        ...Array<boolean>(3).fill(true),
        ...Array<boolean>(5).fill(false),
      ]);
      expect(formatOf(kind)).toEqual({});
    },
  );

  it('a format is raised in two releases: one reads it, the next writes it, and each works beside the one before', () => {
    const readable = (): boolean[] => [undefined, 1, 2, 3].map((format) => isReadable('locator', format));
    raise('locator', { writes: 1, reads: 2 });
    expect({ readable: readable(), writes: formatOf('locator') }).toEqual({
      readable: [true, true, true, false],
      writes: {},
    });
    raise('locator', { writes: 2, reads: 2 });
    expect({ readable: readable(), writes: formatOf('locator') }).toEqual({
      readable: [true, true, true, false],
      writes: { format: 2 },
    });
    raise('locator', { writes: 3, reads: 3 });
    expect({ readable: readable(), writes: formatOf('locator') }).toEqual({
      readable: [true, true, true, true],
      writes: { format: 3 },
    });
  });

  it('a format that is too new is infrastructure, so nothing is parked, and says which document and what to do', () => {
    const error = thrown({ id: 'x', pk: 'p', type: 'millrace.locator', format: 2 });
    expect(isInfrastructure(error)).toBe(true);
    expect(error).toMatchObject({ code: 'format-too-new', kind: 'locator', format: 2 });
    expect(error?.message).toBe('The locator document "x" has format 2; this version of Millrace reads format 1');
    expect(error?.hint).toContain('docs/upgrading.md');
  });

  it('a format is looked for by what a document is', () => {
    expect(thrown({ id: 'x', type: 'order', _mr: { by: 'a@1', format: 2 } })).toMatchObject({ kind: 'own' });
    expect(thrown({ id: 'x', pk: 'dead-letters|a@1', kind: 'dead-letter', format: 2 })).toMatchObject({
      kind: 'deadLetter',
    });
    expect(thrown({ id: 'x', pk: 'epochs', epoch: 3, format: 2 })).toMatchObject({ kind: 'epoch' });
  });

  it('a format of a document that is not Millrace’s is the user’s own affair', () => {
    for (const document of [
      { id: 'x', type: 'film', format: 35 },
      { id: 'x', type: 'millrace.unheard-of', format: 2 },
      { id: 'x', kind: 'dead-letter', pk: 'mine', format: 9 },
      { id: 'x', pk: 'epochs', format: 'PDF' },
      undefined,
      null,
      'text',
    ])
      expect(thrown(document)).toBeUndefined();
  });
});

/** A tombstone has its number in `_mr`; what a move stands in for a moment no one reads. */
const OTHERS = new Set(
  // Those from `page` on are names of telemetry and of one process.
  'tombstone advance page watchdog read container lease changes failures operation job jobs problems ingest projection requests charge parked'
    .split(' ')
    .map((name) => `millrace.${name}`),
);

describe('the table of formats', () => {
  const sources = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.startsWith(join('src', 'emulator')))
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');

  it('the table of formats has every type that Millrace stores', () => {
    const types = new Set([...sources.matchAll(/'(millrace\.[a-z]+)'/g)].map(([, type]) => type ?? ''));
    for (const type of types) {
      if (OTHERS.has(type)) continue;
      expect({ type, kind: kindOf({ type }) }).not.toEqual({ type, kind: undefined });
    }
    expect(types.size).toBeGreaterThan(15);
  });

  it.each(KINDS)('the table of formats names a %s that some writer gives its number', (kind) => {
    expect(sources).toMatch(new RegExp(`formatOf\\('${kind}'\\)|FORMATS\\.${kind}\\.writes`));
  });

  it('the table of formats raises an aggregate’s own part with what lies beside it', () => {
    for (const beside of ['contribution', 'value'] as const)
      expect(FORMATS.own.writes).toBeGreaterThanOrEqual(FORMATS[beside].writes);
  });
});

function thrown(document: unknown): FormatUnreadable | undefined {
  try {
    assertReadable(document);
    return undefined;
  } catch (error) {
    if (error instanceof FormatUnreadable) return error;
    throw error;
  }
}
