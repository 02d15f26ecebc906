import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EventPosition } from '@azure/event-hubs';
import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import type { FunctionMetadata, FunctionsCore } from './core.ts';
import { hostError } from '../errors.ts';

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
  Values: z.record(z.string(), z.string(), { error: 'must be an object whose values are strings' }).default({}),
  Host: z.looseObject({ LocalHttpPort: z.int().min(0).max(65_535).optional() }).optional(),
});
const packageJson = z.looseObject({ main: z.string().optional() });

/** The settings of host.json for Event Hubs triggers. */
export interface HubHostSettings {
  readonly maxEventBatchSize: number;
  /** Where the reader of a partition without a position begins. */
  readonly start: EventPosition;
}

export interface AppFiles {
  /** The first part of every route; `api` if host.json names none. */
  readonly routePrefix: string;
  readonly values: Readonly<Record<string, string>>;
  readonly port: number | undefined;
  readonly eventHubs: HubHostSettings;
}

/**
 * Reads the files that make a folder a function app.
 * @throws UsageError `app-invalid`
 */
export function readAppFiles(root: string): AppFiles {
  const host = read(root, 'host.json', hostJson);
  if (!host) {
    throw hostError('app-invalid', `${root} is not the folder of a function app: it has no host.json`, {
      hint: 'Go to the folder of a function app, or write one with `millrace init`.',
    });
  }
  const settings = read(root, 'local.settings.json', localSettings);
  if (settings?.IsEncrypted) {
    throw hostError('app-invalid', 'local.settings.json is encrypted', {
      hint: 'Decrypt it with `func settings decrypt`.',
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
  const why = `host.json can't be read: extensions.eventHubs.initialOffsetOptions.enqueuedTimeUtc is not a time: ${JSON.stringify(enqueuedTimeUtc)}`;
  throw hostError('app-invalid', why, { hint: 'Write a time such as 2026-11-01T00:00:00Z.' });
}

/**
 * Imports the files that "main" of package.json names, like the Functions worker, and returns the registered functions.
 * @throws UsageError `app-invalid`
 */
export async function indexApp(core: FunctionsCore, root: string): Promise<readonly FunctionMetadata[]> {
  const main = read(root, 'package.json', packageJson)?.main;
  if (main === undefined) {
    throw hostError('app-invalid', `package.json of ${root} has no "main" to name the app's files`, {
      hint: 'Write "main": "dist/functions/*.js".',
    });
  }
  const files = globSync(main, { cwd: root });
  if (files.length === 0) {
    // The Functions host would find no function and report nothing.
    throw hostError('app-invalid', `"main" of package.json matches no file: ${main}`, {
      hint: 'Build the app with `npm run build`.',
    });
  }
  for (const file of files.toSorted()) {
    try {
      await import(pathToFileURL(join(root, file)).href);
    } catch (error) {
      throw hostError('app-invalid', `${file} can't be loaded: ${messageOf(error)}`, {
        hint: 'Fix the error that the message names. In Azure such an app has no functions, and no message says why.',
        cause: error,
      });
    }
  }
  if (core.functions.length > 0) return core.functions;
  throw hostError('app-invalid', `${files.join(', ')} registered no function`, {
    hint: 'Call `functionApp()` of `millrace/functions`, or `app.http()` and the like of `@azure/functions`.',
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
    : `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is invalid'}`;
  throw hostError('app-invalid', `${name} can't be read: ${why}`, {
    hint: name === 'local.settings.json' ? 'See local.settings.example.json for its form.' : `Correct ${file}.`,
  });
}
