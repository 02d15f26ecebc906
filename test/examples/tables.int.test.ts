// The queries of a shop's dashboard run over the tables of the example, on PGlite.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { cli } from '../cli/cli.ts';
import pipeline from '../../examples/tables/pipeline.ts';
import { entryId } from '../../src/pipeline/derived-ids.ts';
import type { TableEntry } from '../../src/pipeline/specs.ts';
import { usePglite } from '../support/pglite-stage.ts';
import { examplesOf, keyPathsOf, exampleValueAt } from '../../src/model/model.ts';
import { migrateTables } from '../../src/procedures/sql/migrate.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { layoutsOf, withTables } from '../../src/runtime/tables.ts';

const FOLDER = new URL('../../examples/tables', import.meta.url).pathname;
const signal = new AbortController().signal;
const { database, client } = await usePglite();

it('every query of the dashboard has rows of one store', async () => {
  const loaded = withTables(await loadPipeline(FOLDER), database);
  expect(loaded.pipeline.name).toBe(pipeline.name);
  await migrateTables(layoutsOf(loaded), database, signal);
  for (const spec of loaded.pipeline.effects) {
    if (spec.kind !== 'table') continue;
    const entries = examplesOf(loaded.model, spec.from).map((doc, at): TableEntry => {
      const key = keyPathsOf(loaded.model, spec.from.container).map((path) => exampleValueAt(doc, path));
      const id = String(doc['id']);
      const version = `00000001-${String(at + 1).padStart(16, '0')}-1`;
      return {
        id: entryId(key, id),
        version,
        etag: '',
        row: spec.map(doc),
        place: { key, id, tenant: doc['storeId'] },
      };
    });
    await spec.to.write(entries, signal);
  }
  const queries = (await readFile(`${FOLDER}/queries.sql`, 'utf8')).split(';').filter((text) => /select/i.test(text));
  expect(queries).toHaveLength(6);
  for (const query of queries) {
    const { rows } = await client.query(query, ['store-1']);
    expect({ query, some: rows.length > 0 }).toEqual({ query, some: true });
    expect((await client.query(query, ['nobody'])).rows).toEqual([]);
  }
});

it('every query of the dashboard is safe by the check, over the tables that the pipeline declares', async () => {
  const { code, stdout } = await cli([
    'sql',
    'check',
    `${FOLDER}/queries.sql`,
    '--pipeline',
    FOLDER,
    '--strict',
    '--json',
  ]);
  const { tenant, counts } = JSON.parse(stdout) as { tenant: string; counts: object };
  expect({ code, tenant, counts }).toEqual({
    code: 0,
    tenant: 'store_id',
    counts: { safe: 6, leaks: 0, unknown: 0, allowed: 0 },
  });
});
