import { definePipeline, react, source } from 'millrace';
import { describe, expect, it } from 'vitest';
import { withoutPaths } from '../../../src/pipeline/fields/ignored.ts';
import { m } from '../../fixtures/vectors/model.ts';

describe('ignored fields', () => {
  it('ignored fields are left out at any depth, in lists too, with objects that have nothing else', () => {
    const doc = {
      id: 'a',
      embedding: [1],
      enriched: { x: 1, y: { z: 2 } },
      lines: [{ name: 'n', sku: 1 }, { name: 'o' }],
    };
    expect(withoutPaths(doc, ['/embedding', '/enriched/*'])).toEqual({ id: 'a', lines: doc.lines });
    expect(withoutPaths(doc, ['/enriched/y/z', '/lines/*/name', '/none/at/all'])).toEqual({
      id: 'a',
      embedding: [1],
      enriched: { x: 1 },
      lines: [{ sku: 1 }, {}],
    });
    expect(withoutPaths({ 'a/b': 1, c: 2 }, ['/a~1b'])).toEqual({ c: 2 });
  });

  it.each([
    ['no list', '/embedding', 'is not a list of paths'],
    ['no slash', ['embedding'], 'is no path'],
    ['an empty name', ['/a//b'], 'is no path'],
    ['a part of a name', ['/emb*'], 'is no path'],
    ['the id', ['/id'], 'tells documents apart'],
    ['everything', ['/*'], 'tells documents apart'],
  ])('ignored fields of a source that are wrong are found: %s', (_, ignore, why) => {
    const { findings } = definePipeline({
      model: m,
      sources: [source({ of: m.Orders.order, ignore: ignore as string[] })],
      projections: [react('told', { from: m.Orders.order, run: async () => undefined })],
    });
    expect(findings.map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringMatching(new RegExp(`^source-ignore .*${why}`)),
    ]);
  });
});
