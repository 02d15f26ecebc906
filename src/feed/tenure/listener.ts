import type { Lease } from '../leases/lease.ts';
import type { Terminal } from './states.ts';

/**
 * Notices for the code that opened a host. The diagnostics channels have the same ones, but of all hosts of the process.
 * No method may throw.
 */
export interface TenureListener {
  acquired(lease: Lease): void;
  /** `why`: for `lost`, what took the lease away. */
  released(lease: Lease, ending: Terminal, why: string): void;
  /** Without a lease: listing, taking or creating leases failed. */
  failed(error: unknown, lease?: Lease): void;
}
