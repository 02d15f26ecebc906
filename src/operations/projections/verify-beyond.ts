import { UsageError } from '../../base/errors.ts';
import { type Pipeline, projectionId } from '../../definition/specs.ts';

/** Something of a pipeline that verification doesn't reach, and why. */
export interface Beyond {
  readonly name: string;
  readonly version: number;
  readonly why: string;
}

const REASONS = {
  publish: 'not compared: an event hub keeps what was sent for its retention only',
  ingest: 'not compared: what it made may have been changed since, and its events may be gone',
  react: 'not compared: a call leaves nothing behind that could be read',
  custom: 'not compared: what its runner writes is its own affair',
  send: 'not compared: its sink doesn’t say what it holds; give it `rows`',
  archive: 'compared by `millrace archive verify`',
} as const;

/** What of a pipeline can't be worked out anew and compared; and, where that is asked for, what can't be repaired. */
export function beyondOf({ effects, publishes, ingests, archives }: Pipeline, repair: boolean): Beyond[] {
  const told = effects.filter((spec) => spec.kind === 'send').filter(({ to }) => to.rows !== undefined);
  const untold = effects.filter((spec) => spec.kind !== 'send' || spec.to.rows === undefined);
  return [
    ...[...untold, ...publishes, ...ingests, ...archives].map(({ kind, name, version }) => ({
      name,
      version,
      why: REASONS[kind],
    })),
    ...(repair ? told : []).map(({ name, version }) => ({
      name,
      version,
      why: 'compared, not repaired: its sink takes a version once. Empty it, or send to another one as a new version.',
    })),
  ];
}

export const notVerifiable = ({ name, version, why }: Beyond): UsageError =>
  new UsageError('not-verifiable', `${projectionId({ name, version })} can't be verified: ${why}`, {
    mend: '`millrace projections verify` compares copies, aggregates, references, embeds, and sinks that say what they hold.',
  });
