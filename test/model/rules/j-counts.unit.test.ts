import { describe, expect, test } from 'vitest';
import { COUNTS } from '../../../src/model/rules/j-counts.ts';
import { annotated, said } from './annotated.ts';

const found = (...all: object[]): string[] => said(all, COUNTS);
const rating = { kind: 'derived', what: 'rating', form: 'aggregate', type: 'Venue', field: 'rating', of: 'Review' };
const count = { ...rating, what: 'count', form: 'counter', field: 'reviewCount' };

describe('J26', () => {
  test('values of one type that nothing keeps are one finding', () => {
    expect(found(rating, count)).toEqual([
      expect.stringContaining('Venue.rating and Venue.reviewCount (of Review) follow from other documents'),
    ]);
    expect(found({ ...rating, keptBy: 'query' })).toEqual([]);
    expect(found({ ...rating, snapshot: true })).toEqual([]);
    expect(found(rating, { ...rating, onRepeat: 'recount' })).toEqual([]);
  });

  test('a use that writes both, a sentence on a recount, and a type that isn’t designed here', () => {
    const steps = ['Review', 'Venue'].map((type) => ({ operation: 'upsert', type }));
    const flow = { kind: 'flow', name: 'Review', steps };
    expect(found(count, flow)).toHaveLength(1);
    expect(found(count, { ...flow, together: 'batch' })).toEqual([]);
    const recount = { kind: 'fact', of: 'Venue.reviewCount', property: 'updated by', value: 'nightly recount' };
    expect(found(count, recount)).toEqual([]);
    expect(found(count, { ...recount, of: 'Venue.name' })).toHaveLength(1);
    expect(found(count, { kind: 'type', type: 'Venue', existing: true })).toEqual([]);
  });

  test('words beside the number that make a repetition harmless', () => {
    const beside = (text: string, one: object): string[] => annotated([text], [one], COUNTS).map(({ rule }) => rule);
    const queued = { ...count, keptBy: 'queue' };
    expect(beside('counted with a marker for each review', queued)).toEqual([]);
    expect(beside('the counter is idempotent', queued)).toEqual([]);
    // A key of the request, and a count by the request itself.
    expect(beside('jobs have an idempotency key', queued)).toEqual(['J26']);
    expect(beside('the market makers', queued)).toEqual(['J26']);
  });

  test('a number in the memory of a process', () => {
    expect(found({ ...count, keptBy: 'memory' })).toEqual([
      expect.stringContaining('Venue.reviewCount is counted in the memory of a process'),
    ]);
    expect(found({ ...count, keptBy: 'memory', onRepeat: 'recount' })).toEqual([]);
  });

  test('a count of things that aren’t stored', () => {
    const helpful = { kind: 'derived', what: 'votes', form: 'counter', type: 'Review', field: 'helpfulCount' };
    expect(found(helpful)).toEqual([
      expect.stringContaining('No stored documents are named that Review.helpfulCount could be counted from'),
    ]);
    expect(found({ ...helpful, form: 'aggregate', field: 'dataSummary' })).toEqual([]);
  });

  test('no count of many: a value of the parent, of the document itself, or the last one', () => {
    const booking = { kind: 'type', type: 'Booking', fields: [{ path: 'venueId', refersTo: 'Venue' }] };
    expect(found(booking, { ...rating, type: 'Booking', field: 'price', of: 'Venue' })).toEqual([]);
    expect(found({ ...count, of: 'Venue' })).toEqual([]);
    expect(found({ ...rating, field: 'latestReviewAt' })).toEqual([]);
  });

  test('a write that sets the field keeps it', () => {
    const write = { kind: 'access', name: 'Rate', operation: 'patch', type: 'Venue', sets: ['rating'] };
    expect(found(rating, write)).toEqual([]);
  });

  test('queue and feed deliver again', () => {
    expect(found({ ...count, keptBy: 'queue' })).toEqual([expect.stringContaining('message of the queue')]);
    expect(found({ ...count, keptBy: 'change-feed' })).toEqual([expect.stringContaining('of the change feed')]);
    expect(found({ ...count, keptBy: 'queue', onRepeat: 'safe' })).toEqual([]);
    // What is said of the whole type is said of its fields.
    const whole = { kind: 'derived', what: 'venues', form: 'view', type: 'Venue', of: 'Review', keptBy: 'queue' };
    expect(found(count, whole)).toEqual([expect.stringContaining('message of the queue')]);
  });

  test('the same request, in two containers or one', () => {
    const request = { ...count, keptBy: 'same-request' };
    const at = (type: string, container: string): object => ({ kind: 'type', type, container });
    expect(found(request, at('Venue', 'venues'), at('Review', 'reviews'))).toEqual([
      expect.stringContaining('Venue.reviewCount is in venues, and what it counts, Review, in reviews'),
    ]);
    expect(found(request, at('Venue', 'venues'), at('Review', 'venues'))).toEqual([]);
  });
});

describe('J26, figures that nobody else counts', () => {
  const run = { kind: 'type', type: 'ScanRun', purpose: 'job', fields: [{ path: 'processed' }] };
  const processed = { kind: 'derived', what: 'processed', form: 'counter', type: 'ScanRun', field: 'processed' };
  const update = { kind: 'access', name: 'Update', operation: 'upsert', type: 'ScanRun', readFirst: true };

  test('a run sets its own, a process says how it is, a vote counts', () => {
    expect(found(run, processed)).toEqual([expect.stringContaining('a repeated request counts again')]);
    expect(found(run, processed, update)).toEqual([]);
    expect(
      found({ ...run, purpose: 'state', type: 'Post' }, { ...processed, type: 'Post' }, { ...update, type: 'Post' }),
    ).toHaveLength(1);
    const agent = { kind: 'type', type: 'Agent', fields: [{ path: 'lastHeartbeat' }] };
    expect(found(agent, { ...processed, type: 'Agent', field: 'pending' })).toEqual([]);
    expect(found(agent, { ...processed, type: 'Agent', field: 'votes' })).toEqual([
      expect.stringContaining('a repeated click or request'),
    ]);
  });

  test('a schema of another system, and what a model put out', () => {
    const beside = (text: string, one: object, type: object): number =>
      annotated(
        [text],
        [
          { ...one, line: 1 },
          { ...type, line: 2 },
        ],
        COUNTS,
      ).length;
    const incident = { kind: 'type', type: 'Incident' };
    const bookmarks = { ...processed, type: 'Incident', field: 'bookmarkCount' };
    expect(beside('Incident: schema matches that of the product', bookmarks, incident)).toBe(0);
    expect(beside('Incident: the schema of this service', bookmarks, incident)).toBe(1);
    const prediction = { kind: 'type', type: 'Prediction', purpose: 'result' };
    const features = { ...rating, type: 'Prediction', field: 'features', of: 'Event' };
    expect(beside('the input of the model', features, prediction)).toBe(0);
    expect(beside('how many events there were', features, prediction)).toBe(1);
  });
});
