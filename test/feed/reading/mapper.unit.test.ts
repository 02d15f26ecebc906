import { describe, expect, it } from 'vitest';
import { type SourceContainer, toChange, toDocument } from '../../../src/feed/reading/mapper.ts';
import { type TypeRules, toVersion } from '../../../src/feed/reading/mapper.ts';
import { tenantOf } from '../../../src/pipeline/tenant.ts';

const source = (rules: TypeRules = {}, keyPaths: string[][] = [['tenant']]): SourceContainer => ({
  name: 'Orders',
  keyPaths,
  types: new Map([['order', rules]]),
});

const raw = (over: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'o1',
  tenant: 't1',
  type: 'order',
  cents: 5,
  _rid: 'r',
  _self: 's',
  _etag: '"e1"',
  _attachments: 'attachments/',
  _ts: 1_700_000_000,
  _lsn: 42,
  ...over,
});

describe('a change', () => {
  it('a change is the document as its writer wrote it, with its identity, version and time', () => {
    expect(toChange(source(), raw({ _src: { lsn: 1 }, _mr: { archived: true }, _own: 1 }), 3)).toEqual({
      container: 'Orders',
      type: 'order',
      key: ['t1'],
      id: 'o1',
      version: { epoch: 3, lsn: 42, etag: '"e1"' },
      at: 1_700_000_000_000,
      op: 'upsert',
      doc: { id: 'o1', tenant: 't1', type: 'order', cents: 5, _own: 1 },
    });
  });

  it('a change has every field of its document, whatever it is called', () => {
    const text = JSON.stringify(raw({ 7: 'seven' })).replace('{', '{"__proto__":{"cents":6},"constructor":1,"_":2,');
    const doc = toChange(source(), JSON.parse(text), 1)?.doc;
    expect(JSON.stringify(doc)).toBe(
      '{"7":"seven","__proto__":{"cents":6},"constructor":1,"_":2,"id":"o1","tenant":"t1","type":"order","cents":5}',
    );
    expect(Object.getPrototypeOf(doc)).toBe(Object.prototype);
  });

  it.each([
    ['of a type that no projection reads', { type: 'customer' }],
    ['of one of our own types', { type: 'millrace.tombstone' }],
    ['of a fence of a key', { type: 'millrace.fence' }],
    ['without a type', { type: undefined }],
    ['with a type that is no text', { type: 7 }],
  ])('a document %s is no change', (_title, over) => {
    expect(toChange(source(), raw(over), 1)).toBeUndefined();
  });

  it('a change of one of our own types counts for nothing even where a pipeline names it', () => {
    const own = { ...source(), types: new Map<string, TypeRules>([['millrace.tombstone', {}]]) };
    expect(toChange(own, raw({ type: 'millrace.tombstone' }), 1)).toBeUndefined();
  });

  it('a change is a deletion where the declared predicate says so, and keeps its document', () => {
    const rules = { deleted: (doc: Record<string, unknown>) => doc['cents'] === 0 };
    expect(toChange(source(rules), raw({ cents: 0 }), 1)).toMatchObject({ op: 'delete', doc: { cents: 0 } });
    expect(toChange(source(rules), raw(), 1)).toMatchObject({ op: 'upsert' });
  });

  it('a change is a deletion where its marks say so, as their reader was told', () => {
    const marked = {
      ...source(),
      marks: {
        isEmptied: ({ cents }: Record<string, unknown>) => cents === 0,
        isRestored: () => false,
        isBackfilled: () => false,
        movedOf: () => undefined,
        leavingOf: () => undefined,
      },
    };
    expect(toChange(marked, raw({ cents: 0 }), 1)).toMatchObject({ op: 'delete', doc: { cents: 0 } });
    expect(toDocument(marked, raw({ cents: 0 }))).toBeNull();
    expect(toChange(marked, raw(), 1)).toMatchObject({ op: 'upsert' });
  });

  it('a change is upcast before the predicate looks at it', () => {
    const seen: unknown[] = [];
    const rules: TypeRules = {
      upcast: (old) => ({ ...(old as object), v: 2 }),
      deleted: (doc) => {
        seen.push(doc['v'], doc['_lsn']);
        return false;
      },
    };
    expect(toChange(source(rules), raw(), 1)?.doc).toMatchObject({ v: 2, cents: 5 });
    expect(seen).toEqual([2, undefined]);
  });

  it.each(['upcast', 'deleted'] as const)('a change keeps what %s threw, so that only it is refused', (name) => {
    const thrown = new Error('old format');
    const rules: TypeRules = {
      [name]: () => {
        throw thrown;
      },
    };
    expect(toChange(source(rules), raw(), 1)).toMatchObject({ op: 'upsert', failed: thrown, doc: { cents: 5 } });
  });

  it.each(['_lsn', '_etag', 'id'])('a change without %s is an error, as no order could be told', (name) => {
    const call = () => toChange(source(), raw({ [name]: undefined }), 1);
    expect(call).toThrow(expect.objectContaining({ code: 'malformed-change' }) as Error);
    expect(call).toThrow('Orders');
  });

  it.each([undefined, null, 'text', [raw()]])('a change is never %j', (what) => {
    expect(() => toChange(source(), what, 1)).toThrow(expect.objectContaining({ code: 'malformed-change' }) as Error);
  });
});

describe('the key of a change', () => {
  const nested = [['tenant'], ['address', 'city']];

  it('the key of a change has a value a level, as the container orders them', () => {
    expect(toChange(source({}, nested), raw({ address: { city: 'Oslo' } }), 1)?.key).toEqual(['t1', 'Oslo']);
    expect(toChange(source(), raw({ tenant: 0 }), 1)?.key).toEqual([0]);
    expect(toChange(source(), raw({ tenant: null }), 1)?.key).toEqual([null]);
  });

  it('the key of a change has {} where the document has nothing, and keeps the other levels', () => {
    expect(toChange(source(), raw({ tenant: undefined }), 1)?.key).toEqual([{}]);
    expect(toChange(source({}, nested), raw({ address: 'Oslo' }), 1)?.key).toEqual(['t1', {}]);
    expect(toChange(source({}, nested), raw({ tenant: undefined, address: { city: 'Oslo' } }), 1)?.key).toEqual([
      {},
      'Oslo',
    ]);
  });
});

describe('a document read from its source', () => {
  const rules: TypeRules = {
    upcast: (old) => ({ ...(old as object), v: 2 }),
    deleted: (doc) => doc['cents'] === 0,
  };

  it('a document read from its source is what its projections would see of its change', () => {
    expect(toDocument(source(rules), raw())).toEqual(toChange(source(rules), raw(), 1)?.doc);
  });

  it('a document read from its source is nothing where it counts as deleted or is of another type', () => {
    expect(toDocument(source(rules), raw({ cents: 0 }))).toBeNull();
    expect(toDocument(source(rules), raw({ type: 'customer' }))).toBeNull();
  });
});

// docs/SPEC-tenants.md, TEN-T1 and TEN-T2.
describe('the tenant of a change', () => {
  const of = (doc: Record<string, unknown>): string => tenantOf({ field: 'tenant', kind: 'string' }, doc);
  const tenanted = (keyPaths?: string[][], rules: TypeRules = {}): SourceContainer => ({
    ...source(rules, keyPaths),
    tenant: { field: 'tenant', of },
  });

  it('the tenant of a change is what the document says, after `upcast`', () => {
    expect(toChange(tenanted(), raw(), 1)).toMatchObject({ tenant: 't1' });
    const upcast = (old: unknown): Record<string, unknown> => ({ ...(old as object), tenant: 'new' });
    expect(toChange(tenanted([['id']], { upcast }), raw({ tenant: undefined }), 1)).toMatchObject({ tenant: 'new' });
    expect(toChange(source(), raw(), 1)).not.toHaveProperty('tenant');
  });

  it('a document without a tenant fails its change, but not its deletion', () => {
    for (const tenant of [undefined, null, '', 7]) {
      const change = toChange(tenanted([['id']]), raw({ tenant }), 1);
      expect(change).toMatchObject({
        op: 'upsert',
        failed: { code: tenant === 7 ? 'tenant-invalid' : 'tenant-missing' },
      });
      expect(change).not.toHaveProperty('tenant');
    }
    const rules = { deleted: () => true };
    const deletion = toChange(tenanted([['id']], rules), raw({ tenant: undefined }), 1);
    expect(deletion).toMatchObject({ op: 'delete' });
    expect(deletion).not.toHaveProperty('failed');
  });

  it('the search for a tenant leaves the error of `upcast` as it is', () => {
    const failing = (): never => {
      throw new Error('upcast');
    };
    expect(toChange(tenanted([['id']], { upcast: failing }), raw({ tenant: undefined }), 1)).toMatchObject({
      failed: { message: 'upcast' },
    });
  });

  it('the tenant of a deletion in the feed of all versions comes from the key, else from the document before', () => {
    const metadata = { operationType: 'delete', lsn: 5, crts: 1, id: 'o1', partitionKey: { tenant: 't1' } };
    const version = (container: SourceContainer, entry: object) => toVersion(container, entry, 1, () => undefined);
    expect(version(tenanted(), { metadata })).toMatchObject({ op: 'delete', tenant: 't1' });
    const byId = { ...metadata, partitionKey: { id: 'o1' } };
    expect(version(tenanted([['id']]), { metadata: byId })).not.toHaveProperty('tenant');
    expect(version(tenanted([['id']]), { metadata: byId, previous: raw() })).toMatchObject({ tenant: 't1' });
  });
});
