import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import type { DevSummary } from '../../../src/host/dev/play.ts';
import { type Millrace, millrace } from '../../support/process.ts';
import { SHOP } from '../../support/stage.ts';
import { post } from '../../dashboard/served.ts';

let directory: string;
/** A project of its own that has installed this package. */
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-watch-'));
  cpSync(SHOP, join(directory, 'pipeline'), { recursive: true });
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(inject('built'), join(directory, 'node_modules/millrace'), 'dir');
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const file = (name: string): string => join(directory, 'pipeline', name);
const edit = (name: string, from: string, to: string): void => {
  const text = readFileSync(file(name), 'utf8');
  expect(text).toContain(from);
  writeFileSync(file(name), text.replace(from, to));
};

/** Changes a file, and waits for what the run says of it. */
async function changed(process: Millrace, change: () => void, said: RegExp): Promise<string> {
  const before = process.stdout.length;
  change();
  for (;;) {
    const text = process.stdout.slice(before);
    if (said.test(text)) return text;
    await process.until(new RegExp(`^[^]{${before + text.length + 1}}`));
  }
}

it('`dev` goes over to a changed pipeline, keeps the data, loses nothing, and stays with the one before a broken one', async () => {
  const [, days = ''] =
    /( {4}aggregate\('days'[^]*?\n {4}\}\),\n)/.exec(readFileSync(file('pipeline.ts'), 'utf8')) ?? [];
  edit('pipeline.ts', days, '');
  // In a file of its own, which must be loaded again too.
  writeFileSync(file('name.ts'), 'export const nameOf = (name?: string) => name ?? null;\n');
  edit('pipeline.ts', 'customer?.name ?? null', 'nameOf(customer?.name)');
  edit('pipeline.ts', 'import { aggregate,', "import { nameOf } from './name.ts';\nimport { aggregate,");
  {
    await using dev = millrace(['dev', '--data', 'data', '--rate', '15'], { directory });
    await dev.until(/loading pipeline\/workload/);
    const broken = await changed(
      dev,
      () => edit('pipeline.ts', 'export default', 'export defalt'),
      /runs on: .*\n {2}\S/,
    );
    expect(broken).toContain('pipeline.ts changed, but the pipeline before runs on: ');
    // Corrected in the middle of the load, with a projection more.
    const added = await changed(
      dev,
      () => {
        edit('pipeline.ts', 'export defalt', 'export default');
        edit('pipeline.ts', '  projections: [\n', `  projections: [\n${days}`);
      },
      /days@1 is built from/,
    );
    expect(added).toContain('pipeline.ts changed: checked and reloaded (new: days@1)');
    await changed(dev, () => edit('name.ts', 'export', "throw new Error('no name');\nexport"), /runs on: .*no name/);
    const mended = await changed(dev, () => edit('name.ts', "throw new Error('no name');\n", ''), /reloaded/);
    expect(mended).toContain('name.ts changed: checked and reloaded; every declaration is as before');
    const refused = await changed(
      dev,
      () => edit('pipeline.ts', 'measures: { orders', 'measures: { most: (q) => q.max((order) => order.cents), orders'),
      /runs on/,
    );
    expect(refused).toMatch(/days@1 has written data that doesn't fit: measures\.most/);
    await changed(dev, () => edit('pipeline.ts', 'most: (q) => q.max((order) => order.cents), ', ''), /reloaded/);
    await changed(dev, () => edit('workload.ts', '\n', '\n\n'), /workload\.ts changed\. What is loaded stays/);
    const [, url = ''] = await dev.until(/Dashboard: (\S+)/);
    await dev.until(/105 documents loaded/);
    await dev.until(/All right/);
    // What was loaded stays as it was.
    const contradicted = await changed(dev, () => edit('pipeline.ts', 'cents: order.cents,', 'cents: 7,'), /reloaded/);
    expect(contradicted).toContain('(changed: summaries@1)');
    expect(contradicted).toMatch(/error G2 .*summaries computes cents 7, but the example \S+ has \d+/);
    // The comparison before was with other code.
    await dev.until(/compared with \d+ sink documents: \d+ differences/);
    const { body } = await post(url, '/api/run/status', {});
    expect(body['result']).toMatchObject({ verified: { differences: { 'summaries@1': expect.any(Number) } } });
    await changed(dev, () => edit('pipeline.ts', 'cents: 7,', 'cents: order.cents,'), /changed: summaries@1/);
    dev.kill('SIGINT');
    expect((await dev.ended).code).toBe(130);
    expect(dev.stdout).toMatch(/\nEnded after [\d.]+ s\.\n$/);
  }
  await using once = millrace(['dev', '--once', '--json', '--data', 'data'], { directory });
  await once.ended;
  const { verification, loaded } = JSON.parse(once.stdout) as DevSummary;
  expect(loaded).toMatchObject({ loaded: 105, skipped: 105 });
  expect(verification).toMatchObject({ different: 0, documents: { expected: 59, found: 59 } });
});
