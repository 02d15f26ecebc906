// Which readers are in the way, and what counts as written (REB-V32).
import { expect, it } from 'vitest';
import { NO_VIEW, type View, type ViewVersion } from '../../../src/engine/views/views.ts';
import type { Pipeline, SourceRef } from '../../../src/pipeline/specs.ts';
import { assertStillWritten, unwrittenOf } from '../../../src/procedures/projections/still-written.ts';

const at = (container: string): SourceRef => ({ container, type: 'row' });
const version = (of: number, container: string, ...reads: string[]): ViewVersion => ({
  version: of,
  ...at(container),
  reads: reads.map(at),
});
const replaced = (of: ViewVersion, keptUntil = '2100-01-01T00:00:00Z') => ({
  ...of,
  replacedAt: 'then',
  readableUntil: 'then',
  keptUntil,
});
const view = (current: ViewVersion | null, more: Partial<View> = {}): View => ({ ...NO_VIEW, current, ...more });
const copy = (name: string, into: string, from: string, joined: string[] = [], of = 1) => ({
  kind: 'copy',
  name,
  version: of,
  from: at(from),
  into: at(into),
  joins: joined.map((one) => ({ name: one, of: at(one), on: {}, missing: 'null' })),
});
const lists = { projections: [], embeds: [], effects: [], archives: [], publishes: [], ingests: [] };
const pipeline = (more: object): Pipeline => ({ ...lists, ...more }) as never;
const refusal = (of: Pipeline, views: Record<string, View>, next: ViewVersion): string | undefined => {
  try {
    assertStillWritten(of, views, 'rows', next);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'version-read' });
    return (error as Error).message.split(' reads ')[0];
  }
};

const rows = { rows: view(version(1, 'One', 'Source')) };
const next = version(2, 'Two', 'Source');

it('a reader of what ends is named, for each way to read', () => {
  const named = (more: object, views: Record<string, View> = {}) =>
    refusal(pipeline(more), { ...rows, ...views }, next);
  const sums = copy('sums', 'Sums', 'Other', ['One']);
  expect(named({ projections: [sums] }, { sums: view(version(1, 'Sums', 'Other', 'One')) })).toBe('sums@1');
  const tenants = {
    kind: 'reference',
    name: 'ref',
    version: 1,
    from: at('Other'),
    tenants: at('One'),
    into: at('Refs'),
  };
  expect(named({ projections: [tenants] }, { ref: view(version(1, 'Refs')) })).toBe('ref@1');
  const outside = (kind: string) => ({ kind, name: 'out', version: 3, from: at('One') });
  for (const kind of ['table', 'send', 'react']) expect(named({ effects: [outside(kind)] })).toBe('out@3');
  expect(named({ effects: [{ kind: 'custom', name: 'own', version: 1, sources: [at('One')] }] })).toBe('own@1');
  expect(named({ embeds: [{ kind: 'embed', name: 'in', version: 1, from: at('Other'), into: at('One') }] })).toBe(
    'in@1',
  );
  expect(named({ publishes: [outside('publish')] })).toBe('out@3');
  expect(named({ archives: [outside('archive')] })).toBe('out@3');
});

it('a reader is in the way only while hosts apply it, or it is being built', () => {
  const declared = pipeline({ projections: [copy('sums', 'Sums', 'One')] });
  const sums = version(1, 'Sums', 'One');
  const other = version(2, 'SumsTwo', 'Two');
  const named = (of: View) => refusal(declared, { ...rows, sums: of }, next);
  expect(named(view(sums))).toBe('sums@1');
  expect(named(view(null, { staged: { ...sums, phase: 'filling', since: 'then' } }))).toBe('sums@1');
  expect(named(view(other, { previous: replaced(sums) }))).toBeUndefined();
  expect(named(view(other))).toBeUndefined();
  expect(named(view(null))).toBeUndefined();
});

it('nothing ends where the next version writes the same, where none was current, or where the kept one goes on', () => {
  const declared = pipeline({ projections: [copy('sums', 'Sums', 'One')] });
  const sums = { sums: view(version(1, 'Sums', 'One')) };
  expect(refusal(declared, { ...rows, ...sums }, version(2, 'One', 'Source'))).toBeUndefined();
  expect(refusal(declared, { rows: view(null), ...sums }, next)).toBeUndefined();
  // A third version ends what hosts keep of the first.
  const kept = view(next, { previous: replaced(version(1, 'One')) });
  expect(refusal(declared, { rows: kept, ...sums }, version(3, 'Three', 'Source'))).toBe('sums@1');
  expect(refusal(declared, { rows: kept, ...sums }, version(1, 'One', 'Source'))).toBeUndefined();
});

it('what no version writes any more is neither what an application writes, nor what is built later', () => {
  const declared = pipeline({ projections: [copy('rows', 'One', 'Source'), copy('rows', 'Three', 'Source', [], 3)] });
  const views = { rows: view(next, { previous: replaced(version(1, 'One'), '2020-01-01T00:00:00Z') }) };
  const of = (container: string, stored: Record<string, View> = views) =>
    unwrittenOf([at(container)], declared, stored);
  expect(of('One')).toEqual({ of: at('One'), by: 'rows@1', until: undefined });
  expect(of('One', { rows: view(next) })).toMatchObject({ by: 'rows@1' });
  expect(of('One', { rows: view(next, { previous: replaced(version(1, 'One')) }) })).toMatchObject({
    until: '2100-01-01T00:00:00Z',
  });
  for (const other of ['Two', 'Three', 'Source']) expect(of(other)).toBeUndefined();
  const building = { ...version(1, 'One'), phase: 'filled' as const, since: 'then' };
  expect(of('One', { rows: view(next, { staged: building }) })).toBeUndefined();
  const reader = { ...views, rows: views.rows, sums: view(null) };
  const sums = version(3, 'Sums', 'One');
  expect(() => assertStillWritten(declared, reader, 'sums', sums)).toThrow('sums@3 reads One/row, which rows@1 wrote');
});
