// docs/SPEC-tenants.md, TEN-T7.
import { expect, test } from 'vitest';
import { defineModel, definePipeline } from 'millrace';
import { parseModel } from '../../../src/model/reader/read.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';

const loaded = (tenant: unknown) => ({
  pipeline: definePipeline({ model: defineModel({}), tenant: 'storeId', projections: [] }),
  model: parseModel(
    `# Shop
## Container Designs
### Orders Container
\`\`\`json
[{ "id": "o1", "type": "order", "storeId": ${JSON.stringify(tenant)} }]
\`\`\`
- **Partition Key**: \`/storeId\`
`,
    'm.md',
  ),
});

test('a tenant is asked for as changes name it, however a person writes the number', () => {
  const asked = askedTenant(loaded(7), '07');
  expect(asked).toMatchObject({ tenant: '7', value: 7 });
  expect([asked.owns('Orders', { storeId: 7 }), asked.owns('Orders', { storeId: '07' })]).toEqual([true, false]);
  expect(askedTenant(loaded('s1'), '07')).toMatchObject({ tenant: '07', value: '07' });
});
