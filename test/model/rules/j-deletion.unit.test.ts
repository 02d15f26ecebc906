import { describe, expect, test } from 'vitest';
import { DELETIONS } from '../../../src/model/rules/j-deletion.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, DELETIONS);
const soft = { kind: 'deletion', type: 'Post', way: 'soft', field: 'isDeleted' };
const hard = { kind: 'deletion', type: 'Owner', way: 'hard' };
const dog = { kind: 'type', type: 'Dog', fields: [{ path: 'ownerId', refersTo: 'Owner' }] };

describe('J23', () => {
  const list = { kind: 'access', name: 'List posts', operation: 'query', type: 'Post', returns: 'list' };

  test('SQL without the mark; with it, or without SQL, nothing', () => {
    expect(found(soft, { ...list, sql: 'SELECT * FROM c WHERE c.userId = @u' })).toEqual([
      expect.stringContaining('"List posts" doesn’t filter by isDeleted'),
    ]);
    expect(found(soft, { ...list, sql: 'SELECT * FROM c WHERE c.isDeleted = false' })).toEqual([]);
    expect(found(soft, { ...list, sql: 'WHERE NOT IS_DEFINED(isDeleted)' })).toEqual([]);
    expect(found(soft, list)).toEqual([]);
  });

  test('a guard, a job and a check of what is unique must see marked documents', () => {
    const check = { ...list, sql: 'SELECT VALUE COUNT(1) FROM c WHERE c.slug = @s', equals: ['slug'] };
    expect(found(soft, check)).toHaveLength(1);
    expect(found(soft, check, { kind: 'unique', type: 'Post', fields: ['slug'] })).toEqual([]);
    for (const aim of ['guard', 'work', 'maintenance']) expect(found(soft, { ...check, aim })).toEqual([]);
    expect(found(soft, { ...check, aim: 'show' })).toHaveLength(1);
  });

  test('a mark that isn’t one of deletion', () => {
    expect(found({ ...soft, field: 'retiredOn' }, { ...list, sql: 'SELECT * FROM c' })).toEqual([]);
  });
});

describe('J24', () => {
  test('a reference that then points to nothing', () => {
    const findings = annotated([], [hard, dog], DELETIONS);
    expect(findings).toMatchObject([{ rule: 'J24', at: { line: 1 }, related: [{ line: 2 }] }]);
    expect(findings[0]?.message).toContain('Dog.ownerId then refers to an Owner that is gone');
    expect(found({ ...hard, also: ['dogs'] }, dog)).toEqual([]);
    expect(found({ ...hard, also: [] }, dog)).toEqual([]);
    expect(found({ ...hard, allowed: false }, dog)).toEqual([]);
    expect(found({ ...hard, way: 'soft' }, dog)).toEqual([]);
    expect(found(hard, { ...dog, purpose: 'audit' })).toEqual([]);
    expect(found(hard, { ...dog, type: 'Notification' })).toEqual([]);
    expect(found(hard, { ...soft, type: 'Owner' }, dog)).toEqual([]);
  });

  test('a delete among the accesses, and a flow that deletes both', () => {
    const remove = { kind: 'access', name: 'Remove an owner', operation: 'delete', type: 'Owner' };
    expect(found(remove, dog)).toHaveLength(1);
    const steps = [
      { operation: 'delete', type: 'Owner' },
      { operation: 'delete', type: 'Dog' },
    ];
    expect(found(remove, dog, { kind: 'flow', name: 'Remove', steps })).toEqual([]);
    // A team that goes with its owners says nothing of an owner who leaves.
    const team = [{ operation: 'delete', type: 'Team' }, ...steps];
    expect(found(remove, dog, { kind: 'flow', name: 'Delete a team', steps: team })).toHaveLength(1);
  });

  test('lists and counts of the deleted', () => {
    const list = {
      kind: 'derived',
      what: 'posts of a tag',
      form: 'view',
      type: 'Tag',
      field: 'topPosts',
      of: 'Post',
      keptBy: 'same-request',
    };
    const count = { ...list, what: 'count', form: 'counter', field: 'total', keptBy: 'queue' };
    expect(found(soft, list, count)).toEqual([
      expect.stringContaining('Tag.topPosts still shows it, and Tag.total still counts it'),
    ]);
    expect(found(soft, { ...list, onDelete: 'removed' }, { ...count, onRepeat: 'recount' })).toEqual([]);
    expect(found(soft, { ...count, field: 'latestPostAt' })).toEqual([]);
    expect(found(soft, { ...count, keptBy: 'query' })).toEqual([]);
    // What nothing keeps at all is J26's.
    expect(found(soft, { ...count, keptBy: undefined })).toEqual([]);
    // What the feed keeps of hard deletes is J27's.
    expect(found({ ...soft, way: 'hard' }, { ...count, keptBy: 'change-feed' })).toEqual([]);
  });

  test('what a TTL removes soon, and what is taken out again', () => {
    const ttl = { kind: 'retention', type: 'Dog', by: 'ttl', seconds: 86_400 };
    expect(found(hard, dog)).toHaveLength(1);
    expect(found(hard, dog, ttl)).toEqual([]);
    expect(found(hard, dog, { ...ttl, seconds: 31_536_000 })).toHaveLength(1);
    expect(found(hard, dog, { ...ttl, by: 'job' })).toHaveLength(1);
    const whole = { kind: 'derived', what: 'totals', form: 'aggregate', type: 'Tag', of: 'Post', onDelete: 'removed' };
    const count = { ...whole, form: 'counter', field: 'total', keptBy: 'queue', onDelete: undefined };
    expect(found(soft, count)).toHaveLength(1);
    expect(found(soft, count, whole)).toEqual([]);
    expect(found(soft, count, { ...whole, type: 'Author' })).toHaveLength(1);
  });
});

describe('J24, stamps', () => {
  test('who created it, unless a read asks for that', () => {
    const form = { kind: 'type', type: 'Form', fields: [{ path: 'createdBy', refersTo: 'Owner' }] };
    expect(found(hard, form)).toEqual([]);
    const mine = { kind: 'access', name: 'My forms', operation: 'query', type: 'Form', equals: ['createdBy'] };
    expect(found(hard, form, mine)).toEqual([expect.stringContaining('Form.createdBy then refers')]);
  });
});
