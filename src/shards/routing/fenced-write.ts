import type { OperationInput, OperationResponse } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { Refused, transact } from '../../cosmos/transact.ts';
import { Unavailable } from '../../cosmos/retry.ts';
import { shardsError } from '../errors.ts';
import { throwDenied } from '../map/access-denied.ts';
import { fenceId } from '../map/fences.ts';
import type { RoutedPass } from './values.ts';

export interface FencedWriteOptions {
  /**
   * True: the operations may take effect twice, so they are sent again after an unknown outcome. Default false: the call
   * ends with `ambiguous-outcome`, as after any write whose answer was lost.
   */
  readonly repeatable?: boolean;
}

interface FencedWrite extends Required<FencedWriteOptions> {
  readonly container: string;
  readonly mapping: string;
  readonly operations: readonly OperationInput[];
  readonly clock: Clock;
}

/**
 * One batch whose first operation patches the fence, on condition that it has this mapping. A patch that changes nothing
 * would not do: two batches that write no document in common may both take effect. Returns undefined if the fence refused it.
 * @throws MillraceError `fenced-write-refused`, `ambiguous-outcome`, `unavailable`
 */
export async function writeFenced(
  pass: RoutedPass,
  { container, mapping, operations, repeatable, clock }: FencedWrite,
): Promise<readonly OperationResponse[] | undefined> {
  const { key, shard, signal } = pass;
  const condition = `from c where c.mapping = ${JSON.stringify(mapping)}`;
  const passFence: OperationInput = {
    operationType: 'Patch',
    id: fenceId(shard.id),
    resourceBody: { condition, operations: [{ op: 'incr', path: '/writes', value: 1 }] },
  };
  const before = (): void => {
    if (signal.aborted) throw new Unavailable(`No answer to a fenced write of ${container} in time`, signal.reason);
  };
  try {
    const send = (): readonly OperationInput[] => [passFence, ...operations];
    const options = { clock, before, reads: repeatable };
    const [, ...results] = await transact(pass.container(container), key, send, options, { abortSignal: signal });
    return results;
  } catch (error) {
    if (!(error instanceof Refused)) return throwDenied(pass.container(container), 'write')(error);
    if (error.at === 0 && (error.kind === 'precondition' || error.kind === 'not-found')) return undefined;
    const which = error.at > 0 ? `operation ${error.at - 1} of a batch` : 'a batch';
    throw shardsError(
      'fenced-write-refused',
      `Cosmos DB answered ${which} on ${container} for ${JSON.stringify(key)} with ${error.code}`,
      { cause: error },
    );
  }
}
