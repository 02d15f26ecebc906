import { channel } from 'node:diagnostics_channel';

/** What Millrace publishes on `node:diagnostics_channel`, one channel a name: `millrace:<name>`. */
export interface Events {
  'lease:acquired': { container: string; lease: string; host: string };
  'lease:released': { container: string; lease: string; host: string; reason: string };
  'lease:checkpoint': { container: string; lease: string; position: string };
  'feed:page': { container: string; lease: string; changes: number; charge: number };
  'feed:failed': { container: string; lease: string; error: unknown };
  'balancer:failed': { container: string; error: unknown };
  'engine:parked': { projection: string; container: string; id: string; error: unknown };
}

/** Publishes an event; costs next to nothing while nobody listens. */
export function emit<N extends keyof Events>(name: N, event: Events[N]): void {
  const target = channel(`millrace:${name}`);
  if (target.hasSubscribers) target.publish(event);
}
