// Where a flood of one tenant can't be deferred. docs/SPEC-tenants.md, "Fair turns".
import { expect, test } from 'vitest';
import { copy, definePipeline, source } from 'millrace';
import { withoutTurns } from '../../src/pipeline/undeferrable.ts';
import { parseModel } from '../../src/model/reader/read.ts';
import { namesOf } from '../support/names-of.ts';

interface Thing {
  id: string;
  type: 'thing';
  storeId: string;
}
interface Shop {
  ById: { thing: Thing };
  ByStore: { thing: Thing };
  Whole: { thing: Thing };
  Shared: { thing: Thing };
  Copies: { thing: Thing };
}
const design = (name: string, key: string, doc: object, purpose = 'things'): string => `### ${name} Container
\`\`\`json
[${JSON.stringify(doc)}]
\`\`\`
- **Purpose**: ${purpose}
- **Partition Key**: \`${key}\`
`;
const thing = { id: 't', type: 'thing', storeId: 's1' };
const TEXT = `# Shop
## Container Designs
${design('ById', '/id', thing)}
${design('ByStore', '/storeId', thing)}
${design('Whole', '/storeId', thing)}
${design('Shared', '/id', { id: 't', type: 'thing' }, 'reference data')}
${design('Copies', '/storeId', thing)}`;
const m = namesOf<Shop>();
const copies = (['ById', 'ByStore', 'Whole', 'Shared'] as const).map((name) =>
  copy(name, { from: m[name].thing, into: m.Copies.thing, map: () => ({ ...thing, type: 'thing' }) as never }),
);
const pipeline = definePipeline({
  name: 'p',
  model: m,
  tenant: 'storeId',
  sources: [source({ of: m.Whole.thing, feed: 'all-versions' })],
  projections: copies,
});

test('a key without the tenant and an all-versions feed are named, with the reason', () => {
  expect([...withoutTurns(pipeline, parseModel(TEXT, 'm.md'))]).toEqual([
    ['ById', "its partition key /id doesn't have storeId"],
    ['Whole', 'it is read by its all-versions feed'],
  ]);
  const { tenant: _, ...without } = pipeline;
  expect(withoutTurns(without, parseModel(TEXT, 'm.md')).size).toBe(0);
});
