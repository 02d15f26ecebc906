import type { StoredContainer } from './container.ts';
import type { WireDoc } from '../wire/wire.ts';

export interface StoredDatabase {
  readonly id: string;
  readonly rid: string;
  readonly definition: WireDoc;
  readonly containers: Map<string, StoredContainer>;
}

export interface Throughput {
  /** The most RU/s. */
  readonly maximum: number;
  readonly autoscale: boolean;
}

/** The throughput of a container or a database. */
export interface Offer {
  readonly id: string;
  readonly definition: WireDoc;
}

/** The parts of an account that are stored on disk. */
export interface Holdings {
  readonly databases: Map<string, StoredDatabase>;
  readonly offers: Map<string, Offer>;
  /** Next number for a resource. */
  nextRid: number;
}
