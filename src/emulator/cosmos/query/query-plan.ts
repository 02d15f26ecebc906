import { scanPlanOf } from '../../sql/plan.ts';
import { prepareQuery } from '../../sql/prepare.ts';
import { asWire } from './condition.ts';
import type { StoredContainer } from '../storage/container.ts';
import { candidateKeysOf } from './candidates.ts';
import { parseBody } from './query.ts';
import { containerHeaders, reply } from '../wire/reply.ts';
import { header } from '../wire/wire.ts';
import type { WireCall, WireDoc, Reply } from '../wire/wire.ts';

/** A plan by which the client runs a query itself, range by range (`forceQueryPlan`, `enableQueryControl`). */
export function queryPlan(call: WireCall, container: StoredContainer): Reply {
  const { text, params } = parseBody(call.body);
  const { restrictions } = asWire(() => prepareQuery(text, params));
  const key = header(call.headers, 'x-ms-documentdb-partitionkey');
  const keys = key === undefined ? candidateKeysOf(container, restrictions) : [container.keys.parse(key, false)];
  const plan = {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: asWire(() => scanPlanOf(text, params)),
    queryRanges: keys ? keys.map((each) => rangeOf(container, each)) : [WHOLE],
  };
  return reply(200, 0, containerHeaders(container), JSON.stringify(plan));
}

const WHOLE: WireDoc = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false };

function rangeOf(container: StoredContainer, key: NonNullable<ReturnType<typeof candidateKeysOf>>[number]): WireDoc {
  const min = container.keys.epk(key);
  const full = key.length === container.keys.steps.length;
  return { min, max: full ? min : `${min}FF`, isMinInclusive: true, isMaxInclusive: full };
}
