// Every probe. A new one goes into the file of its group.
import type { Probe } from '../probe.ts';
import { access } from './access.ts';
import { deployment } from './deployment.ts';
import { feed } from './feed.ts';
import { functions } from './functions.ts';
import { queries } from './queries.ts';
import { sessions } from './sessions.ts';
import { ttl } from './ttl.ts';
import { writes } from './writes.ts';

export const PROBES: readonly Probe[] = [feed, writes, ttl, queries, functions, sessions, access, deployment].flat();
