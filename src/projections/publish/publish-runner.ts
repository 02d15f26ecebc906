import { MillraceError } from '../../base/errors.ts';
import { type PublishSpec, projectionId } from '../../definition/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { EventHubSink } from '../../sinks/event-hub.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { Poison, type Runner, evaluate } from '../runner.ts';
import { messageOf } from './event.ts';
import { LastPublished } from './published.ts';

export interface PublishRunnerOptions {
  readonly sink: EventHubSink;
  /** A projection writes into the published type: what it writes comes back as changes. */
  readonly echoes: boolean;
  readonly stateContainer: string;
}

/**
 * Publishes changes in their order. Waits until the hub has a page before it is done, so that no more than a page a
 * range is ever on its way. What left for the archive, or came back from it, is no news, nor is the
 * deletion of what may never have been of the published type.
 */
export function publishRunner(spec: PublishSpec, { sink, echoes, stateContainer }: PublishRunnerOptions): Runner {
  const id = projectionId(spec);
  const last = echoes ? new LastPublished(stateContainer, id) : undefined;
  const apply = async (changes: readonly Change[], session: SinkSession): Promise<void> => {
    const relevant = changes.filter(
      ({ op, restored, typeUnknown }) => op !== 'archive' && restored !== true && !typeUnknown,
    );
    const messages = evaluate(relevant, (change) => messageOf(spec, change));
    const meant = relevant.filter((_, index) => messages[index] !== undefined);
    const news = new Set(last ? await last.news(meant, session) : meant);
    const going = relevant.flatMap((change, index) => {
      const message = messages[index];
      return message && news.has(change) ? [{ change, message }] : [];
    });
    if (going.length === 0) return;
    const oversized = await sink.publish(
      going.map(({ message }) => message),
      session.fence,
    );
    const refusals = going.flatMap(({ change }, index) => {
      const size = oversized.get(index);
      return size ? [{ change, error: tooLarge(sink.hub, size) }] : [];
    });
    if (refusals.length > 0) throw new Poison(refusals);
    await last?.note([...news], session);
  };
  return { id, order: spec.order, sources: [spec.from], apply };
}

function tooLarge(hub: string, { bytes, limit }: { bytes: number; limit: number }): MillraceError {
  const say = (count: number): string => count.toLocaleString('en-US');
  return new MillraceError('event-too-large', `The event has ${say(bytes)} bytes, ${hub} takes ${say(limit)}`, {
    mend: 'Return less from map: what consumers need, or the key to read the document by.',
  });
}
