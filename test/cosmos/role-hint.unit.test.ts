import { expect, test } from 'vitest';
import { roleHint } from '../../src/cosmos/failure.ts';

const refused = (action: string, scope: string): object => ({
  code: 403,
  substatus: 5301,
  message: `Request blocked by Auth shop : principal [1] does not have required RBAC permissions to perform action [Microsoft.DocumentDB/databaseAccounts/${action}] on resource [${scope}].`,
});
const items = 'sqlDatabases/containers/items';

test.each([
  [
    { code: 403, substatus: 5300, message: 'The given request [POST /dbs/shop/colls]' },
    'Operator',
    /^No role for data/,
  ],
  [refused(`${items}/read`, 'shop/Orders'), 'Built-in Data Reader', /^To read there.*Reader" on shop\/Orders;/],
  [refused('sqlDatabases/containers/executeQuery', 'shop'), 'Built-in Data Reader', /on shop;/],
  [refused('readMetadata', '/'), 'Built-in Data Reader', /on the account;/],
  [refused(`${items}/upsert`, 'shop/Days'), 'Built-in Data Contributor', /^To upsert there.*on shop\/Days\.$/],
  [{ code: 403, message: 'Forbidden' }, 'Built-in Data Contributor', /on the account or the database\.$/],
])('the role for %j is Cosmos DB %s', (error, role, hint) => {
  expect(roleHint(error)).toMatch(hint);
  expect(roleHint(error)).toContain(`"Cosmos DB ${role}"`);
});
