import type { ChangedDocument } from '../access/change.ts';
import { projectionsError } from './errors.ts';

/** A document of the state container, to be changed. `what` and `kind` are for messages: `The locator of …`, `a locator`. */
export const stateDocument = (
  container: string,
  pk: string,
  id: string,
  { what, kind }: { readonly what: string; readonly kind: string },
): ChangedDocument => ({
  container,
  key: [pk],
  id,
  what,
  refused: (why) => projectionsError('state-refused', `The state container refused ${kind}: ${why}`),
});
