import { expect, test } from 'vitest';
import { KEY_FIELDS } from '../../../src/model/rules/j-key-fields.ts';
import { annotated } from './annotated.ts';

const said = (annotations: object[], lines: string[] = []) =>
  annotated(lines, annotations, KEY_FIELDS).map(({ rule, message }) => `${rule} ${message}`);
const container = (key: string, facts: object = {}) => ({
  kind: 'container',
  container: 'payments',
  key: [key],
  ...facts,
});
const type = (name: string, fields: string[], facts: object = {}) => ({
  kind: 'type',
  type: name,
  container: 'payments',
  complete: true,
  fields: fields.map((path) => ({ path })),
  ...facts,
});

test('a type that is listed in full has the key’s field', () => {
  const payment = type('Payment', ['id', 'matchId', 'amount']);
  const [one, ...others] = said([container('/userId'), payment]);
  expect(others).toEqual([]);
  expect(one).toContain('J45 payments is keyed by userId (line 1), and the fields of Payment have no userId (line 2)');
  expect(said([container('/UserId'), type('Payment', ['id', 'userId', 'amount'])])).toEqual([]);
  expect(said([container('/userId'), { ...payment, complete: false }])).toEqual([]);
  expect(said([container('/id'), payment])).toEqual([]);
  expect(said([container('/userId', { existing: true }), payment])).toEqual([]);
  // The text gives the value in another place.
  expect(
    said([container('/pk'), payment, { kind: 'keyValue', container: 'payments', type: 'Payment', from: ['matchId'] }]),
  ).toEqual([]);
  expect(said([container('/userId'), payment], ['payments', 'class Payment extends Owned'])).toEqual([]);
});

const keyValue = (facts: object) => ({ kind: 'keyValue', container: 'payments', ...facts });

test('the key’s value is told of all types of a container', () => {
  const types = [type('Order', ['id'], { complete: false }), type('Log', ['id'], { complete: false })];
  const told = keyValue({ type: 'Order', format: 'order:{orderId}' });
  expect(said([container('/pk'), ...types, told])[0]).toContain(
    'no place says what pk is of Log, as it does for Order',
  );
  expect(said([container('/pk'), ...types, told, keyValue({ type: 'Log', format: 'log' })])).toEqual([]);
  expect(said([container('/pk'), ...types])).toEqual([]);
  // A row of the table that nobody annotated.
  const table = ['container', '| Order | order:1 |', '| Log | log |', '| Order | order:{orderId} |'];
  expect(said([container('/pk'), ...types, told], table)).toEqual([]);
  // A key that each caller has needs no word for each type.
  expect(said([container('/userId'), ...types, { ...told, from: ['userId'], format: undefined }])).toEqual([]);
});

test('reads by id that are queries because of old documents are a finding', () => {
  const read = {
    kind: 'access',
    container: 'payments',
    name: 'Read by id',
    operation: 'query',
    equals: ['id'],
    returns: 'one',
  };
  const old = keyValue({ required: false });
  expect(said([container('/userId'), read, old])[0]).toContain(
    '"Read by id": the id is known, and payments is asked by a query over all partitions, because some documents have no userId (line 3)',
  );
  expect(said([container('/userId'), read])).toEqual([]);
  expect(said([container('/userId'), { ...read, returns: 'list' }, old])).toEqual([]);
});

test('types of one container have one discriminator', () => {
  const told = (name: string, path?: string) =>
    type(name, ['id'], { complete: false, ...(path !== undefined && { discriminator: { path } }) });
  expect(said([container('/id'), told('A', 'role'), told('B', 'type'), told('C')])[0]).toContain(
    'J46 payments holds A, B and C, and they are told apart by different fields: role for A (line 2) and type for B (line 3); C has none',
  );
  expect(said([container('/id'), told('A', 'type'), told('B', 'type'), told('C', 'type')])).toEqual([]);
  expect(said([container('/id'), told('A', 'type'), told('B', 'type'), told('C')])).toEqual([]);
});

test('a unique key on a field that not every type has lets one of them in', () => {
  const unique = container('/id', { uniqueKeys: [['email']] });
  const lines = ['payments', 'type A', 'type B'];
  const [a, b] = [type('A', ['id'], { complete: false }), type('B', ['id'], { complete: false })];
  expect(said([unique, a, b], lines)[0]).toContain(
    'payments has the unique key email for all of its 2 types, and no place says that each document of A and B has a value of its own',
  );
  expect(said([unique, a, type('B', ['id', 'email', 'name'])], lines)).toEqual([]);
  expect(said([unique, type('A', ['id', 'x', 'y']), type('B', ['id', 'email', 'name'])], lines)[0]).toContain(
    'and A hasn’t the field',
  );
  expect(said([unique, a, b], [...lines, 'Every document has an email of its own.'])).toEqual([]);
  expect(said([unique, a], lines)).toEqual([]);
});
