import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFAULT_TIMINGS } from 'millrace/feed';

const text = readFileSync(join(import.meta.dirname, '../../docs/processor.md'), 'utf8');

test('the times it names are the defaults', () => {
  for (const [name, ms] of Object.entries(DEFAULT_TIMINGS))
    expect(text).toContain(`\`${name}\` ${ms.toLocaleString('en')}`);
});
