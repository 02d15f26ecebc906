import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { waiversIn } from '../../src/model/reader/common.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const REASON = '**TTL**: 30 days, `/storeId`, 400 RU/s; Pattern #3 reads all partitions, 5,000 a second';
const WAIVER = `<!-- millrace-ignore C7 until 2999-12: ${REASON} -->`;

/** All that is read of a document, but for its waivers and its text. */
const read = (document: object): string =>
  JSON.stringify(document, (name, value: unknown) => (['waivers', 'lines'].includes(name) ? undefined : value));

describe('a waiver in a list item', () => {
  it.each([
    ['storefront-shards/cosmosdb_data_model.md', parseDesign],
    ['storefront/cosmosdb_requirements.md', parseRequirements],
  ])('a waiver in a list item of %s changes nothing else that is read, whatever its reason says', (file, parse) => {
    const lines = readFileSync(join(EXAMPLES, file), 'utf8').split('\n');
    const before = read(parse(lines.join('\n'), file));
    const items = lines.flatMap((line, at) => (/^\s*(?:[-*]|\d+\.) \S/.test(line) ? [at] : []));
    expect(items.length).toBeGreaterThan(20);
    const changed = items.filter((at) => {
      const waived = parse(lines.with(at, `${lines[at]} ${WAIVER}`).join('\n'), file);
      expect(waived.waivers.some(({ from, reason }) => from === at + 1 && reason === REASON)).toBe(true);
      return read(waived) !== before;
    });
    expect(changed.map((at) => `${at + 1}: ${lines[at]}`)).toEqual([]);
  });

  test.each([
    ['after the text', `- **TTL**: -1 ${WAIVER}`, 4, 4],
    ['before the text', `- ${WAIVER} **TTL**: -1`, 4, 4],
    ['on a line of its own', `- **TTL**: -1\n  ${WAIVER}`, 4, 5],
    ['in a paragraph of its own', `- **TTL**: -1\n\n  ${WAIVER}`, 4, 6],
    ['of a numbered list', `1. **TTL**: -1 ${WAIVER}`, 4, 4],
    ['of a list in a list', `- x\n  - **TTL**: -1 ${WAIVER}\n  - y`, 5, 5],
    ['with a box', `- [ ] **TTL**: -1 ${WAIVER}`, 4, 4],
    ['of a label whose value follows', `- **Composite Indexes**: ${WAIVER}\n  - x`, 4, 5],
  ])('a waiver in a list item, %s, is of that item', (_, item, from, to) => {
    const [waiver, ...others] = waiversIn(`# Model\n\n## Design\n${item}\n- **Other**: 1\n`, 'model.md');
    expect(others).toEqual([]);
    expect(waiver).toMatchObject({ rule: 'C7', from, to });
  });
});
