import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deadLinks, unlinked } from '../../scripts/package/links.ts';

test('links to pages that the package leaves out become their text', () => {
  expect(unlinked('By [`SPEC-verify`](../SPEC-verify.md#all), [why](adr/0001-why.md), [a](docs/SPEC-a-b.md).')).toBe(
    'By `SPEC-verify`, why, a.',
  );
  const others = '[runbook](runbook.md#spec) ![a](images/SPEC.png) `[x](SPEC-x.md)` [y](https://y.example/adr/1)';
  expect(unlinked(others)).toBe(others);
});

test('a link to a file that is not in the package is dead', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-links-'));
  try {
    mkdirSync(join(folder, 'docs'));
    writeFileSync(
      join(folder, 'README.md'),
      '[a](docs/a.md#top) [b](docs/b.md#top) [web](https://b.example) [top](#a)',
    );
    writeFileSync(join(folder, 'docs/a.md'), '[up](../README.md) ![no](no.svg)');
    expect(deadLinks(folder).toSorted()).toEqual(['README.md: docs/b.md#top', 'docs/a.md: no.svg']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
