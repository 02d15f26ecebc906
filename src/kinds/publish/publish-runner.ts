import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { type PublishSpec, projectionId } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { EventHubSink } from '../../access/event-hub.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import type { EffectRecords } from '../effects/records.ts';
import { Poison, type Runner, evaluate } from '../runner.ts';
import { eventMessageOf, isLeftOut } from './event.ts';

export interface PublishRunnerOptions {
  readonly sink: EventHubSink;
  /** Where others write into the published documents, and their writes come back as changes. */
  readonly records?: EffectRecords | undefined;
  /**
   * Every document that comes is published, for a replay: under the id that it had when its content was published last.
   * The record of that stays as it is.
   */
  readonly again?: boolean;
}

/**
 * Publishes changes in their order. It ends only when the hub has the whole page, so at most one page of a range is in
 * flight. It leaves out documents that moved to or from the archive or to another shard or were backfilled, and deletions
 * of documents whose type is unknown.
 */
export function publishRunner(spec: PublishSpec, { sink, records, again = false }: PublishRunnerOptions): Runner {
  const id = projectionId(spec);
  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    const relevant = changes.filter((change) => isPublished(again ? asEvent(change) : change));
    const before = again ? await records?.known(relevant, access) : undefined;
    const versions = new Map(relevant.map((change, at) => [change, before?.[at]?.version ?? change.version]));
    const messages = evaluate(relevant, (change) =>
      eventMessageOf(spec, { ...change, version: versions.get(change) ?? change.version }),
    );
    const going = relevant.flatMap((change, index) => {
      const message = messages[index];
      return message ? [{ change, message }] : [];
    });
    if (going.length === 0) return;
    const oversized = await sink.publish(
      going.map(({ message }) => message),
      access.fence,
    );
    const refusals = going.flatMap(({ change }, index) => {
      const size = oversized.get(index);
      return size ? [{ change, error: tooLarge(sink.hub, size) }] : [];
    });
    if (refusals.length > 0) throw new Poison(refusals);
  };
  // A replay publishes what is there, whichever process wrote it.
  const runner: Runner = { id, order: spec.order, sources: [spec.from], ...(!again && { isEvent }), apply };
  return records && !again
    ? records.guard(runner, (change) => isPublished(change) && !isLeftOut(spec, change))
    : runner;
}

const isEvent = ({ restored, backfilled, moved }: Change): boolean =>
  restored !== true && backfilled !== true && moved !== true;

const isPublished = (change: Change): boolean => isEvent(change) && !change.typeUnknown;

/** For a replay, which publishes each document that is there. */
const asEvent = (change: Change): Change =>
  change.gone ? change : { ...change, restored: false, backfilled: false, moved: false };

function tooLarge(hub: string, { bytes, limit }: { bytes: number; limit: number }): MillraceError {
  const say = (count: number): string => count.toLocaleString('en-US');
  return sharedError('too-large', `The event has ${say(bytes)} bytes; event hub ${hub} accepts ${say(limit)}`, {
    hint: 'Return less from `map`: the fields that consumers need, or the key to read the document by.',
  });
}
