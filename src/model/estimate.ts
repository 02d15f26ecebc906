// Estimates of RU and partitions by published figures. Two profiles: Microsoft's (default), and the modelling prompt's.
import type { PatternOperation } from './documents.ts';

export type ProfileName = 'microsoft' | 'seed';

export interface Profile {
  readonly name: ProfileName;
  /** RU of one operation on a document of this many bytes. */
  read(bytes: number): number;
  create(bytes: number): number;
  replace(bytes: number): number;
  remove(bytes: number): number;
  /** RU of a query in one partition that returns this many bytes in so many documents. */
  query(bytes: number, rows?: number): number;
  /** Physical partitions for this much data and load. */
  partitions(gb: number, ruPerSecond: number): number;
}

const kb = (bytes: number): number => Math.max(1, bytes / 1000);

/**
 * Microsoft: 1 KB reads for 1 RU and 100 KB for 10, without indexing 5 and 50 to write ("Request Units in Azure Cosmos
 * DB"); a straight line between. A replace costs twice an insert ("Optimize request cost"). A physical partition holds 50
 * GB and 10,000 RU/s ("Partitioning and horizontal scaling"). Each document of a query's result adds 0.1 RU (ASM-E120).
 */
const MICROSOFT: Profile = {
  name: 'microsoft',
  read: (bytes) => 1 + ((kb(bytes) - 1) * 9) / 99,
  create: (bytes) => 5 + ((kb(bytes) - 1) * 45) / 99,
  replace: (bytes) => 2 * MICROSOFT.create(bytes),
  remove: (bytes) => MICROSOFT.create(bytes),
  query: (bytes, rows = 1) => 2 + MICROSOFT.read(bytes) + 0.1 * (rows - 1),
  partitions: (gb, ruPerSecond) => Math.max(1, Math.ceil(gb / 50), Math.ceil(ruPerSecond / 10_000)),
};

/** The modelling prompt: 1, 5, 7 and 5 RU a KB to read, create, update and delete; partitions by data alone. */
const SEED: Profile = {
  name: 'seed',
  read: (bytes) => kb(bytes),
  create: (bytes) => 5 * kb(bytes),
  replace: (bytes) => 7 * kb(bytes),
  remove: (bytes) => 5 * kb(bytes),
  query: (bytes) => Math.max(2, kb(bytes)),
  partitions: (gb) => Math.max(1, Math.ceil(gb / 50)),
};

export const PROFILES: Readonly<Record<ProfileName, Profile>> = { microsoft: MICROSOFT, seed: SEED };

/** Settings of an organisation; every figure of a rule comes from here or from the documents. */
export interface RuleSettings {
  readonly profile: ProfileName;
  /** RU that each indexed property adds to a write. */
  readonly indexRu: number;
  /** Price of 100 RU/s for one hour in any currency; undefined: the documents' price; without one, costs aren't checked. */
  readonly price: number | undefined;
  /** RPS from which a cross-partition read counts as frequent. */
  readonly frequent: number;
  /** Longest time without a reader of the change feed, in milliseconds, if the documents state none. */
  readonly outageMs: number;
  /** Share of the provisioned maximum that the peak may take. */
  readonly headroom: number;
  /** Percent overlap: single document above, several types in one container from, separate below. */
  readonly thresholds: { readonly single: number; readonly multi: number };
}

export const DEFAULTS: RuleSettings = {
  profile: 'microsoft',
  indexRu: 0.5,
  price: undefined,
  frequent: 10,
  outageMs: 86_400_000,
  headroom: 0.7,
  thresholds: { single: 90, multi: 50 },
};

/** Hours of a month with 30 days. */
export const HOURS_PER_MONTH = 720;

export interface Charge {
  readonly bytes: number;
  /** Documents that a query returns; 1 if absent. */
  readonly rows?: number;
  readonly partitions: number;
  readonly indexed: number;
}

/** RU of one operation on a container; writes include the indexing. */
export function chargeOf(operation: PatternOperation, of: Charge, { indexRu }: RuleSettings, profile: Profile): number {
  const index = of.indexed * indexRu;
  switch (operation) {
    case 'point-read':
      return profile.read(of.bytes);
    case 'query':
      return profile.query(of.bytes, of.rows);
    case 'cross-partition':
      return profile.query(of.bytes, of.rows) + 2.5 * of.partitions;
    case 'replace':
    case 'upsert':
    case 'patch':
      return profile.replace(of.bytes) + index;
    case 'delete':
      return profile.remove(of.bytes) + index;
    case 'create':
    case 'batch':
      break;
  }
  return profile.create(of.bytes) + index;
}
