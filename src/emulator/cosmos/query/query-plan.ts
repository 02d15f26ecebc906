import { planOf } from '../../sql/plan.ts';
import { prepare } from '../../sql/prepare.ts';
import { asWire } from './condition.ts';
import type { Container } from '../storage/container.ts';
import { keysOf } from './candidates.ts';
import { parseBody } from './query.ts';
import { containerHeaders, reply } from '../wire/reply.ts';
import { header } from '../wire/wire.ts';
import type { Call, Doc, Reply } from '../wire/wire.ts';

/** A plan by which the client runs a query itself, range by range (`forceQueryPlan`, `enableQueryControl`). */
export function queryPlan(call: Call, container: Container): Reply {
  const { text, params } = parseBody(call.body);
  const { restrictions } = asWire(() => prepare(text, params));
  const key = header(call.headers, 'x-ms-documentdb-partitionkey');
  const keys = key === undefined ? keysOf(container, restrictions) : [container.keys.parse(key, false)];
  const plan = {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: asWire(() => planOf(text, params)),
    queryRanges: keys ? keys.map((each) => rangeOf(container, each)) : [WHOLE],
  };
  return reply(200, 0, containerHeaders(container), JSON.stringify(plan));
}

const WHOLE: Doc = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false };

function rangeOf(container: Container, key: NonNullable<ReturnType<typeof keysOf>>[number]): Doc {
  const min = container.keys.epk(key);
  const full = key.length === container.keys.steps.length;
  return { min, max: full ? min : `${min}FF`, isMinInclusive: true, isMaxInclusive: full };
}
