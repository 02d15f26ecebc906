// What a pipeline's tenant means for the containers of its model. docs/SPEC-tenants.md, "Fair turns".
import { expect, test } from 'vitest';
import { tenantFollowsFromKey } from '../../src/pipeline/tenant.ts';
import { parseModel } from '../../src/model/reader/read.ts';

const container = (key: string) => {
  const text = `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o1", "type": "order", "storeId": "s1", "day": "d", "store": { "storeId": "s1" } }]
\`\`\`
- **Partition Key**: ${key}
`;
  const [found] = parseModel(text, 'm.md').containers;
  if (!found) throw new Error('The document has no container');
  return found;
};
const rule = { field: 'storeId', kind: 'string' } as const;

test.each([
  ['`/storeId`', true],
  ['`/storeId`, `/day`', true],
  ['`/day`, `/storeId`', true],
  ['`/id`', false],
  ['`/day`', false],
  // A field of the same name that is not the tenant's.
  ['`/store/storeId`', false],
])('the tenant follows from the key %s: %s', (key, follows) => {
  expect(tenantFollowsFromKey(container(key), rule)).toBe(follows);
});
