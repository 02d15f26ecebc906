import { describe, expect, it } from 'vitest';
import { definePipeline, ingest, publish } from '../../../src/index.ts';
import { checkPipeline } from '../../../src/pipeline/check/check-pipeline.ts';
import { readModel } from '../../../src/model/reader/read.ts';
import { m } from '../../fixtures/shop/model.ts';
import { SHOP } from '../../support/stage.ts';

const model = await readModel(`${SHOP}/cosmosdb_data_model.md`);
const codes = (options: Partial<Parameters<typeof definePipeline>[0]>): string[] =>
  checkPipeline(definePipeline({ model: m, projections: [], ...options }), model).map(({ code }) => code);
const ORDERS = m.Orders.order;

describe('publish', () => {
  it('stands beside the projections, with the usual ways as defaults', () => {
    const { publishes, projections, findings } = definePipeline({
      model: m,
      projections: [publish('orders-out', { from: ORDERS, to: 'orders' })],
    });
    expect(findings).toEqual([]);
    expect(projections).toEqual([]);
    expect(publishes).toMatchObject([
      { name: 'orders-out', version: 1, to: 'orders', format: 'cloudevents', order: 'partitionKey', images: false },
    ]);
  });

  it('`publish` says what is wrong with it', () => {
    expect(codes({ projections: [publish('Out', { from: ORDERS, to: 'orders' })] })).toEqual(['projection-name']);
    expect(codes({ projections: [publish('out', { from: ORDERS, to: '-x' })] })).toEqual(['hub-name']);
    expect(codes({ projections: [publish('out', { from: ORDERS, to: 'x', format: 'xml' as 'raw' })] })).toEqual([
      'publish-format',
    ]);
    expect(codes({ projections: [publish('out', { from: ORDERS, to: 'x', order: 'none' as 'document' })] })).toEqual([
      'publish-order',
    ]);
    const gone = { ...ORDERS, type: 'ordr' };
    expect(codes({ projections: [publish('out', { from: gone, to: 'x' })] })).toEqual(['type-unknown']);
    const twice = publish('out', { from: ORDERS, to: 'x' });
    expect(codes({ projections: [twice, twice] })).toEqual(['projection-twice']);
  });
});

describe('ingest', () => {
  const into = (options: object = {}) =>
    ingest('in', { from: 'devices', into: ORDERS, map: () => null, ...options } as never);

  it('`ingest` is no projection, but shares their names', () => {
    const pipeline = definePipeline({ model: m, projections: [], ingest: [into()] });
    expect(checkPipeline(pipeline, model)).toEqual([]);
    expect(pipeline.ingests).toMatchObject([{ name: 'in', from: 'devices', consumerGroup: '$Default' }]);
    expect(codes({ projections: [publish('in', { from: ORDERS, to: 'x' })], ingest: [into()] })).toEqual([
      'projection-twice',
    ]);
  });

  it('`ingest` says what is wrong with it', () => {
    expect(codes({ ingest: [into({ from: '' })] })).toEqual(['hub-name']);
    expect(codes({ ingest: [into({ consumerGroup: '$other' })] })).toEqual(['consumer-group']);
    expect(codes({ ingest: [into({ map: undefined })] })).toEqual(['ingest-map']);
    expect(codes({ ingest: [into({ into: { container: 'Order', type: 'order' } })] })).toEqual(['container-unknown']);
  });

  it('`ingest` takes no hub that gets the same documents published, and no type that is derived', async () => {
    const again = publish('out', { from: ORDERS, to: 'devices' });
    expect(codes({ projections: [again], ingest: [into()] })).toEqual(['hub-cycle']);
    const { default: shop } = (await import('../../fixtures/shop/pipeline.ts')) as {
      default: { projections: readonly { into: object }[] };
    };
    const [first] = shop.projections;
    expect(codes({ projections: shop.projections as never, ingest: [into({ into: first?.into })] })).toContain(
      'ingest-into-derived',
    );
  });
});
