import { channel } from 'node:diagnostics_channel';

/** The events that Millrace publishes on `node:diagnostics_channel`. Each name has a channel: `millrace:<name>`. */
export interface Events {
  'lease:acquired': { container: string; lease: string; host: string };
  'lease:released': { container: string; lease: string; host: string; reason: string };
  /** This host took a lease from a live owner. After `waitedMs` the owner had answered, or its last renewal had expired. */
  'lease:handover': { container: string; lease: string; from: string; answered: boolean; waitedMs: number };
  'lease:checkpoint': { container: string; lease: string; position: string };
  /** A supervisor changed its state (feed/tenure/states.ts). */
  'lease:state': { container: string; lease: string; from: string; event: string; to: string };
  /** A lease vanished. A host created it again at the position that it saw last. */
  'lease:recreated': { container: string; range: { min: string; max: string }; position: string | undefined };
  /** A host changed its decision about a lease, such as to take it or to leave it. */
  'balancer:decided': {
    container: string;
    host: string;
    lease: string;
    sighting: string;
    decision: string;
    why: string;
  };
  /** A call of the handler ended or threw. `startedAt` is wall clock. */
  'handler:ended': {
    container: string;
    lease: string;
    changes: number;
    startedAt: number;
    durationMs: number;
    error?: unknown;
  };
  /** A handler threw; `attempt` counts from 1. */
  'handler:failed': { container: string; lease: string; changes: number; attempt: number; error: unknown };
  'feed:page': { container: string; lease: string; changes: number; charge: number };
  /**
   * Changes that were delivered and not acknowledged will be delivered again, by this host or another. `deliveries`: how
   * often this host has delivered the changes after `position`.
   */
  'feed:rejected': {
    container: string;
    lease: string;
    position: string;
    changes: number;
    deliveries: number;
    error: unknown;
  };
  'feed:failed': { container: string; lease: string; error: unknown };
  'balancer:failed': { container: string; error: unknown };
  /** A callback of the processor's user (`onError`, `onAcquired`, `onReleased`) threw. This has no other effect. */
  /** A shard can't be opened, or the shard map can't be read (`shard` is absent). It will be tried again. */
  'shard:failed': { map: string; shard?: string; error: unknown };
  'callback:failed': { container: string; callback: string; error: unknown };
  /** Fan-out of earlier changes failed. It will be retried. */
  'engine:resume-failed': { error: unknown };
  /** A declaration changed without a new version. Its changes are parked; the other projections continue. */
  'projection:refused': { projection: string; error: unknown };
  /** Changes of tenants that are erased were dropped. */
  'engine:erased': { changes: number };
  'engine:parked': { projection: string; container: string; id: string; error: unknown };
}

/** Publishes an event. Without a subscriber this costs almost nothing. */
export function emit<N extends keyof Events>(name: N, event: Events[N]): void {
  const target = channel(`millrace:${name}`);
  if (target.hasSubscribers) target.publish(event);
}
