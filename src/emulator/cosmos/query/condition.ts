import { prepareQuery } from '../../sql/prepare.ts';
import { SqlError } from '../../sql/tokens.ts';
import { WireError } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

/** Whether a patch's condition (`from c where …`) holds for the document. */
export function conditionHolds(condition: string, doc: WireDoc, now: () => number): boolean {
  return asWire(
    () =>
      !prepareQuery(`SELECT VALUE 1 ${condition}`, new Map(), now)
        .run([{ doc, text: '' }])
        .next().done,
  );
}

/** Turns a mistake in a query into the service's 400. */
export function asWire<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    const { code, message, start, end } = error;
    const detail = { errors: [{ severity: 'Error', location: { start, end }, code, message }] };
    throw new WireError(400, `One of the input values is invalid. ${JSON.stringify(detail)}`);
  }
}
