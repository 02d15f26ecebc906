import type { Container } from './container.ts';
import type { Doc } from '../wire/wire.ts';

export interface Database {
  readonly id: string;
  readonly rid: string;
  readonly definition: Doc;
  readonly containers: Map<string, Container>;
}

export interface Throughput {
  /** The most RU/s. */
  readonly maximum: number;
  readonly autoscale: boolean;
}

/** The throughput of a container or a database. */
export interface Offer {
  readonly id: string;
  readonly definition: Doc;
}

/** The parts of an account that are stored on disk. */
export interface Holdings {
  readonly databases: Map<string, Database>;
  readonly offers: Map<string, Offer>;
  /** Next number for a resource. */
  nextRid: number;
}
