import type { UsageError } from '../../base/errors.ts';
import { type Pipeline, isOutside, projectionId } from '../../definition/specs.ts';
import { operationsError } from '../errors.ts';

/** A declared projection that can't be verified, and why. */
export interface Beyond {
  readonly name: string;
  readonly version: number;
  readonly why: string;
}

const REASONS = {
  publish: 'not compared: an event hub keeps events only for its retention',
  ingest: 'not compared: its documents may have changed since, and its events may be deleted',
  react: 'not compared: a call leaves no data to read',
  custom: 'not compared: Millrace does not know what its runner writes',
  send: 'not compared: its sink does not declare `rows`, so Millrace can’t read its content',
  table: 'not compared: no database is opened',
  archive: 'compared by `millrace archive verify`',
} as const;

/** The projections that can't be recomputed and compared. */
export const beyondOf = ({ effects, publishes, ingests, archives }: Pipeline): Beyond[] => {
  const unreadable = effects.filter((spec) => !isOutside(spec) || spec.to.rows === undefined);
  return [...unreadable, ...publishes, ...ingests, ...archives].map(({ kind, name, version }) => ({
    name,
    version,
    why: REASONS[kind],
  }));
};

export const notVerifiable = ({ name, version, why }: Beyond): UsageError =>
  operationsError('not-verifiable', `${projectionId({ name, version })} can't be verified: ${why}`);

/** A sink outside the account lists its whole content or nothing. */
export const notSampled = ({ name, version }: Pick<Beyond, 'name' | 'version'>): Beyond => ({
  name,
  version,
  why: 'not sampled: its sink lists its whole content or nothing; verify without --sample compares it',
});

/** A row of a sink outside the account names no tenant. */
export const notByTenant = ({ name, version }: Pick<Beyond, 'name' | 'version'>): Beyond => ({
  name,
  version,
  why: 'not compared: its rows name no tenant; verify without --tenant compares it',
});

/** Its sink has the rows of all shards. */
export const notByShard = ({ name, version }: Pick<Beyond, 'name' | 'version'>): Beyond => ({
  name,
  version,
  why: 'not compared: its sink has the rows of all shards',
});
