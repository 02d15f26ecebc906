import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EventPosition } from '@azure/event-hubs';
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { z } from 'zod';
import { UsageError, messageOf } from '../../base/errors.ts';
import type { FunctionMetadata, FunctionsCore } from './core.ts';

/** Defaults of the extension from version 6 on ("Azure Event Hubs bindings for Azure Functions", host.json). */
const hubsOfHost = z.looseObject({
  maxEventBatchSize: z.int().min(1).default(100),
  initialOffsetOptions: z
    .looseObject({
      type: z.enum(['fromStart', 'fromEnd', 'fromEnqueuedTime']).default('fromStart'),
      enqueuedTimeUtc: z.string().default(''),
    })
    .prefault({}),
});
const hostJson = z.looseObject({
  version: z.string().optional(),
  extensions: z
    .looseObject({
      http: z.looseObject({ routePrefix: z.string().default('api') }).optional(),
      eventHubs: hubsOfHost.prefault({}),
    })
    .prefault({}),
});
const localSettings = z.looseObject({
  IsEncrypted: z.boolean().optional(),
  Values: z.record(z.string(), z.string(), { error: 'must be an object of texts' }).default({}),
  Host: z.looseObject({ LocalHttpPort: z.int().min(0).max(65_535).optional() }).optional(),
});
const packageJson = z.looseObject({ main: z.string().optional() });

/** What host.json says of Event Hubs triggers. */
export interface HubHostSettings {
  readonly maxEventBatchSize: number;
  /** Where a partition without a position begins. */
  readonly start: EventPosition;
}

export interface AppFiles {
  /** What comes before every route; `api` where host.json names none. */
  readonly routePrefix: string;
  readonly values: Readonly<Record<string, string>>;
  readonly port: number | undefined;
  readonly eventHubs: HubHostSettings;
}

/**
 * The files that make a folder a function app.
 * @throws UsageError `app-missing`, `app-file-unreadable`, `settings-encrypted`
 */
export function readAppFiles(root: string): AppFiles {
  const host = read(root, 'host.json', hostJson);
  if (!host) {
    throw new UsageError('app-missing', `There is no host.json in ${root}, so it is no function app`, {
      mend: 'Go to the folder of one; `millrace init` writes one.',
    });
  }
  const settings = read(root, 'local.settings.json', localSettings);
  if (settings?.IsEncrypted) {
    throw new UsageError('settings-encrypted', 'local.settings.json is encrypted', {
      mend: 'Decrypt it with `func settings decrypt`.',
    });
  }
  return {
    routePrefix: host.extensions.http?.routePrefix ?? 'api',
    values: settings?.Values ?? {},
    port: settings?.Host?.LocalHttpPort,
    eventHubs: { maxEventBatchSize: host.extensions.eventHubs.maxEventBatchSize, start: startOf(host) },
  };
}

function startOf({ extensions }: z.infer<typeof hostJson>): EventPosition {
  const { type, enqueuedTimeUtc } = extensions.eventHubs.initialOffsetOptions;
  if (type === 'fromStart') return { offset: '-1' };
  if (type === 'fromEnd') return { offset: '@latest' };
  const enqueuedOn = new Date(enqueuedTimeUtc);
  if (!Number.isNaN(enqueuedOn.getTime())) return { enqueuedOn };
  const why = `host.json can't be read: extensions.eventHubs.initialOffsetOptions.enqueuedTimeUtc is no time: ${JSON.stringify(enqueuedTimeUtc)}`;
  throw new UsageError('app-file-unreadable', why, { mend: 'Write one such as 2026-11-01T00:00:00Z.' });
}

/**
 * Imports what "main" of package.json names, as the worker does, and returns what was registered.
 * @throws UsageError `app-missing`, `app-file-unreadable`, `app-unbuilt`, `app-broken`, `app-empty`
 */
export async function indexApp(core: FunctionsCore, root: string): Promise<readonly FunctionMetadata[]> {
  const main = read(root, 'package.json', packageJson)?.main;
  if (main === undefined) {
    throw new UsageError('app-missing', `package.json of ${root} has no "main", which names the app's files`, {
      mend: 'Write "main": "dist/functions/*.js".',
    });
  }
  const files = globSync(main, { cwd: root });
  if (files.length === 0) {
    // The host would find no function and say nothing.
    throw new UsageError('app-unbuilt', `"main" of package.json matches no file: ${main}`, {
      mend: 'Build it first, by `npm run build`.',
    });
  }
  for (const file of files.toSorted()) {
    try {
      await import(pathToFileURL(join(root, file)).href);
    } catch (error) {
      throw new UsageError('app-broken', `${file} can't be loaded: ${messageOf(error)}`, {
        cause: error,
        mend: 'In Azure the app would have no functions, without a word. Nothing may throw at import.',
      });
    }
  }
  if (core.functions.length > 0) return core.functions;
  throw new UsageError('app-empty', `${files.join(', ')} registered no function`, {
    mend: 'Call functionApp() of millrace/functions, or app.http() and its like of @azure/functions.',
  });
}

function read<T>(root: string, name: string, schema: z.ZodType<T>): T | undefined {
  const file = join(root, name);
  if (!existsSync(file)) return undefined;
  const errors: ParseError[] = [];
  const value: unknown = parse(readFileSync(file, 'utf8'), errors, { allowTrailingComma: true });
  const [error] = errors;
  const parsed = schema.safeParse(value);
  if (!error && parsed.success) return parsed.data;
  const issue = parsed.error?.issues[0];
  const why = error
    ? `${printParseErrorCode(error.error)} at character ${error.offset}`
    : `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is wrong'}`;
  throw new UsageError('app-file-unreadable', `${name} can't be read: ${why}`, {
    mend: name === 'local.settings.json' ? 'See local.settings.example.json for its form.' : `Mend ${file}.`,
  });
}
