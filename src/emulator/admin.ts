import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { UsageError } from '../base/errors.ts';
import type { Controls } from './controls.ts';
import type { Faults } from './cosmos/time-and-charge/faults.ts';
import type { EmulatorStats } from './cosmos/server/stats.ts';
import { badRequest, header, parseObject, WireError } from './cosmos/wire/wire.ts';
import type { WireCall, Reply } from './cosmos/wire/wire.ts';

/** What the command endpoint can do beyond the controls. */
export interface Server extends Controls {
  faults(faults: Faults | 'adverse'): void;
  stall(ms: number): void;
  now(): number;
  stats(): EmulatorStats;
}

type Command = (server: Server, body: unknown) => object | Promise<object>;

function command<S extends z.ZodType>(
  schema: S,
  run: (server: Server, input: z.output<S>) => object | Promise<object>,
): Command {
  return (server, body) => {
    const { success, data, error } = schema.safeParse(body);
    if (!success) throw badRequest(z.prettifyError(error));
    return run(server, data);
  };
}

/** Named `database/container`. */
const container = z.string();

/** The commands of `POST /_millrace/<name>`: the schema of the body, and what the command does. */
const COMMANDS: Readonly<Record<string, Command>> = {
  split: command(
    z.strictObject({ container, range: z.string().optional(), refuse: z.int().min(0).default(0) }),
    (server, { container: of, range, refuse }) => ({ ranges: server.split(of, range, { refuse }) }),
  ),
  merge: command(
    z.strictObject({ container, ranges: z.tuple([z.string(), z.string()]).optional() }),
    (server, { container: of, ranges }) => ({ ranges: [server.merge(of, ranges)] }),
  ),
  throttle: command(
    z.strictObject({ container, ruPerSecond: z.number().nullable() }),
    (server, { container: of, ruPerSecond }) => {
      server.throttle(of, ruPerSecond ?? undefined);
      return { ruPerSecond };
    },
  ),
  clock: command(
    z.strictObject({
      advanceMs: z.number().optional(),
      freeze: z.boolean().optional(),
      purge: z.boolean().default(false),
    }),
    (server, { advanceMs = 0, freeze, purge }) => {
      if (freeze !== undefined) server.freeze(freeze);
      server.advance(advanceMs);
      if (purge) server.purge();
      return { now: new Date(server.now()).toISOString() };
    },
  ),
  expire: command(z.strictObject({ container, id: z.string() }), (server, { container: of, id }) => ({
    items: server.expire(of, id),
  })),
  failover: command(z.strictObject({ container, lossMs: z.number() }), (server, { container: of, lossMs }) => ({
    items: server.failover(of, lossMs),
  })),
  stall: command(z.strictObject({ ms: z.number().min(0) }), (server, { ms }) => {
    server.stall(ms);
    return { ms };
  }),
  restore: command(
    z.strictObject({ container: container.optional(), agoMs: z.number().min(0).default(0) }),
    (server, { container: of, agoMs }) => ({ items: server.restore(of, agoMs) }),
  ),
  // `server.faults` checks them, so that the errors are the same over HTTP and in the process.
  faults: (server, body) => {
    const { preset, ...faults } = body as Faults & { preset?: unknown };
    server.faults(preset === 'adverse' ? preset : faults);
    return {};
  },
  stats: command(z.strictObject({}), (server) => server.stats()),
};

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/** Answers commands to the server itself: only from this machine, and only with the account's key as bearer token. */
export function admin(server: Server, key: string): (from: string | undefined, call: WireCall) => Promise<Reply> {
  return async (from, call) => {
    try {
      allow(from, call, key);
      const [, name = '', ...rest] = call.segments;
      const posted = call.method === 'POST' && rest.length === 0;
      const run = posted && Object.hasOwn(COMMANDS, name) && COMMANDS[name];
      if (!run)
        throw new WireError(404, `There is no such command. Use POST with one of ${Object.keys(COMMANDS).join(', ')}.`);
      return { status: 200, headers: {}, text: JSON.stringify(await run(server, parseObject(call.body))) };
    } catch (error) {
      if (error instanceof WireError) return error.reply();
      if (error instanceof UsageError) return badRequest(`${error.message} ${error.hint ?? ''}`.trim()).reply();
      throw error;
    }
  };
}

function allow(from: string | undefined, { headers }: WireCall, key: string): void {
  if (!LOOPBACK.test(from ?? '')) throw new WireError(403, 'The server accepts commands only from its own machine.');
  const given = Buffer.from(header(headers, 'authorization') ?? '');
  const wanted = Buffer.from(`Bearer ${key}`);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw new WireError(401, "Commands need the account's key: 'authorization: Bearer <key>'.");
  }
}
