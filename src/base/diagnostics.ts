import { channel } from 'node:diagnostics_channel';

/** What Millrace publishes on `node:diagnostics_channel`, one channel a name: `millrace:<name>`. */
export interface Events {
  'lease:acquired': { container: string; lease: string; host: string };
  'lease:released': { container: string; lease: string; host: string; reason: string };
  /** A lease was taken from an owner who wrote it: that one has answered, or can't act any longer, after so long. */
  'lease:handover': { container: string; lease: string; from: string; answered: boolean; waitedMs: number };
  'lease:checkpoint': { container: string; lease: string; position: string };
  /** A supervisor moved by its table (feed/tenure/states.ts). */
  'lease:state': { container: string; lease: string; from: string; event: string; to: string };
  /** A lease vanished, and was made again where it was last seen. */
  'lease:recreated': { container: string; range: { min: string; max: string }; position: string | undefined };
  /** What a host does about a lease, and why, whenever that changes. */
  'balancer:decided': {
    container: string;
    host: string;
    lease: string;
    sighting: string;
    decision: string;
    why: string;
  };
  /** A handler was done with changes of one page, or threw: when it was called, wall clock, and how long it took, milliseconds. */
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
   * What was handed on and not acknowledged comes again, here or at another host, and why: so many changes after a
   * position, which this host has handed on so often.
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
  /** What changes left to be done after their page couldn't be gone on with; it is tried again. */
  'engine:resume-failed': { error: unknown };
  /** A declaration changed under its version: its changes are parked, the other projections go on. */
  'projection:refused': { projection: string; error: unknown };
  /** A document was stored that isn't of its sink's type, as the model says it: at a path, and why. */
  'projection:misfit': { projection: string; container: string; id: string; path: string; why: string };
  'engine:parked': { projection: string; container: string; id: string; error: unknown };
}

/** Publishes an event; costs next to nothing while nobody listens. */
export function emit<N extends keyof Events>(name: N, event: Events[N]): void {
  const target = channel(`millrace:${name}`);
  if (target.hasSubscribers) target.publish(event);
}
