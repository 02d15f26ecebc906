import { describe, expect, test } from 'vitest';
import { RELATIONS } from '../../../src/model/rules/j-relations.ts';
import { said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, RELATIONS);
const typed = (type: string, fields: object[], container?: string): object => ({
  kind: 'type',
  type,
  fields,
  container,
});

describe('J33', () => {
  const plan = typed('Plan', [{ path: 'steps', type: 'array', refersTo: 'Step' }]);
  const step = typed('Step', [{ path: 'planId', refersTo: 'Plan' }]);

  test('a list of ids and the id of the parent', () => {
    expect(found(plan, step)).toEqual([
      expect.stringContaining('is stored twice, in Plan.steps and in Step.planId, and nothing keeps both in step'),
    ]);
    expect(found(plan, typed('Step', [{ path: 'planId' }]))).toEqual([]);
    const steps = [
      { operation: 'create', type: 'Step' },
      { operation: 'patch', type: 'Plan' },
    ];
    expect(found(plan, step, { kind: 'flow', name: 'Add', steps })).toHaveLength(1);
    expect(found(plan, step, { kind: 'flow', name: 'Add', steps, together: 'batch' })).toEqual([]);
    const kept = { kind: 'derived', what: 'steps', form: 'copy', type: 'Plan', field: 'steps', keptBy: 'change-feed' };
    expect(found(plan, step, kept)).toEqual([]);
  });

  test('a tree of one type', () => {
    const tree = typed('Category', [
      { path: 'parentId', refersTo: 'Category' },
      { path: 'childIds', type: 'array', refersTo: 'Category' },
    ]);
    expect(found(tree)).toHaveLength(1);
  });
});

describe('J33, within a document', () => {
  test('a list that repeats another', () => {
    const chat = typed('Chat', [{ path: 'charts', type: 'array' }]);
    const copy = { kind: 'derived', what: 'charts', form: 'copy', type: 'Chat', field: 'charts', of: 'Chat' };
    expect(found(chat, copy)).toEqual([expect.stringContaining('Chat.charts repeats what the same Chat has')]);
    expect(found(typed('Chat', [{ path: 'charts', type: 'string' }]), copy)).toEqual([]);
    expect(found(chat, { ...copy, keptBy: 'same-request' })).toEqual([]);
  });
});

describe('J36', () => {
  const user = { path: 'userId', refersTo: 'User' };
  const venue = { path: 'venueId', refersTo: 'Venue' };
  const review = typed('Review', [user, venue]);

  test('one review of each user', () => {
    expect(found(review)).toEqual([
      expect.stringContaining('Nothing keeps a User from making several Review of the same Venue'),
    ]);
    expect(found(review, { kind: 'id', type: 'Review', from: ['venueId', 'userId'] })).toEqual([]);
    expect(found(review, { kind: 'unique', type: 'Review', fields: ['venueId', 'userId'] })).toEqual([]);
    expect(found(typed('Comment', [user, venue]))).toEqual([]);
    expect(found(typed('Review', [venue]))).toEqual([]);
  });

  test('one booking at a time', () => {
    const times = [
      { path: 'date', type: 'date' },
      { path: 'startTime', type: 'string' },
    ];
    const booking = typed('Booking', [user, venue, ...times, { path: 'createdAt', type: 'date' }], 'bookings');
    const container = { kind: 'container', container: 'bookings', key: ['/userId'] };
    expect(found(container, booking)).toEqual([
      expect.stringContaining('at the same time (venueId, date and startTime) apart'),
    ]);
    expect(found(container, booking)[0]).toContain('the check for others reads all partitions');
    expect(found({ ...container, key: ['/venueId'] }, booking)[0]).not.toContain('all partitions');
    const create = { kind: 'access', name: 'Book', operation: 'create', type: 'Booking', guard: 'create-conflict' };
    expect(found(container, booking, create)).toEqual([]);
    expect(found(typed('Booking', [user, venue], 'bookings'))).toEqual([]);
  });
});
