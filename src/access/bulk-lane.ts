import type { Container, OperationInput, OperationResponse } from '@azure/cosmos';
import { landingSignal } from '../cosmos/request-timeout.ts';
import { failureOf } from '../cosmos/failure.ts';
import { AmbiguousOutcome, type RetryOptions, withRetry } from '../cosmos/retry.ts';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import type { Grant } from '../cosmos/budget/limit.ts';
import type { Spending } from '../cosmos/budget/meter.ts';
import type { Key } from '../feed/reading/change.ts';

/** The answer to one operation. `lost`: its outcome is unknown. */
export type LaneResult = OperationResponse | 'lost';

interface Waiting {
  readonly operation: OperationInput;
  readonly resolve: (result: LaneResult) => void;
  readonly reject: (error: unknown) => void;
}

const MOST = 100;
const AT_ONCE = 8;

/**
 * Sends single operations on many partition keys together, up to a hundred in one bulk request: about eight times the
 * throughput of single requests (BENCH-B2). The operations stay independent, and each keeps its condition.
 *
 * It uses `items.bulk`, which the SDK has deprecated in favour of `executeBulkOperations`; but that one takes a second for
 * each call (docs/adr/0006). Neither of them retries throttled operations in the way that is needed here, so this class
 * does.
 */
export class BulkLane {
  readonly #container: Container;
  readonly #meter: Meter;
  readonly #options: RetryOptions;
  readonly #spending: Spending | undefined;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #underway = 0;

  constructor(container: Container, meter: Meter, options: RetryOptions, spending?: Spending) {
    this.#container = container;
    this.#meter = meter;
    this.#options = options;
    this.#spending = spending;
  }

  submit(operation: OperationInput): Promise<LaneResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      // Wait for the end of this turn of the event loop, so that all its operations are in the queue.
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#underway < AT_ONCE) {
      const some = this.#waiting.splice(0, MOST);
      this.#underway += 1;
      void this.#send(some).finally(() => {
        this.#underway -= 1;
        this.#flush();
      });
    }
  }

  async #send(some: readonly Waiting[], again = false): Promise<void> {
    await Promise.all((await this.#byPartition(some)).map((those) => this.#sendTogether(those, again)));
  }

  /**
   * With a budget each physical partition gets a call of its own. The client sends a request to each anyway, and a 429 of
   * one rejects the whole call: no client could tell whose budget it concerns, and all of them would be sent again.
   */
  async #byPartition(some: readonly Waiting[]): Promise<readonly (readonly Waiting[])[]> {
    const spending = this.#spending;
    if (!spending || some.length === 1) return [some];
    try {
      const named = await Promise.all(
        some.map(async (one) => [await spending.partitionOf(this.#container.id, keyOf(one.operation)), one] as const),
      );
      return [...Map.groupBy(named, ([name]) => name).values()].map((of) => of.map(([, one]) => one));
    } catch {
      // The request itself says why.
      return [some];
    }
  }

  async #sendTogether(some: readonly Waiting[], again: boolean): Promise<void> {
    let rest = some;
    try {
      await withRetry(async () => {
        const grants = await this.#grants(rest);
        let results: readonly (OperationResponse | undefined)[] = [];
        let refused = false;
        try {
          this.#options.before?.();
          results = await this.#container.items.bulk(
            rest.map(({ operation }) => operation),
            { continueOnError: true },
            { contentResponseOnWriteEnabled: this.#options.reads, abortSignal: landingSignal() },
          );
        } catch (error) {
          refused = failureOf(error).kind === 'throttled';
          throw error;
        } finally {
          for (const [index, grant] of grants.entries())
            grant.account(results[index]?.requestCharge, refused || results[index]?.statusCode === 429);
        }
        this.#meter.count(results.reduce((sum, result) => sum + (result?.requestCharge ?? 0), 0));
        const throttled: Waiting[] = [];
        for (const [index, one] of rest.entries()) {
          const result = results[index];
          if (result?.statusCode === 429 || result?.statusCode === 449) throttled.push(one);
          else one.resolve(result ?? 'lost');
        }
        rest = throttled;
        if (throttled.length > 0) throw Object.assign(new Error('Throttled within a bulk request'), { code: 429 });
      }, this.#options);
    } catch (error) {
      await this.#answerAll(rest, error, again);
    }
  }

  /** One grant for each operation. */
  async #grants(some: readonly Waiting[]): Promise<Grant[]> {
    const spending = this.#spending;
    if (!spending) return [];
    return Promise.all(
      some.map(({ operation }) => spending.take(this.#container.id, keyOf(operation), this.#options.signal)),
    );
  }

  /** Answers the operations of a request that failed as a whole. */
  async #answerAll(rest: readonly Waiting[], error: unknown, again: boolean): Promise<void> {
    const { kind, status, substatus } = failureOf(error);
    if (error instanceof AmbiguousOutcome) {
      for (const { resolve } of rest) resolve('lost');
    } else if (status === undefined || (kind !== 'too-large' && kind !== 'refused')) {
      for (const { reject } of rest) reject(error);
    } else if (again) {
      const answer = {
        statusCode: status,
        ...(substatus !== undefined && { subStatusCode: substatus }),
        requestCharge: 0,
      };
      for (const { resolve } of rest) resolve(answer);
    } else {
      // One operation made the service refuse the request, or the SDK did: at a split it sends an empty request to the part
      // that gets none of the operations (ASM-E71). So send each again, alone. An operation that was already done fails on its own
      // condition.
      for (const one of rest) await this.#send([one], true);
    }
  }
}

/** The access passes an array, with one value for each level. */
const keyOf = ({ partitionKey }: OperationInput): Key => partitionKey as unknown as Key;
