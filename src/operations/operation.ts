import type { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { MillraceError, UsageError, messageOf } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Screen } from './screen.ts';
import { suggestion } from '../base/near.ts';
import type { Workspace } from '../runtime/workspace.ts';

/** What an operation would do, for `--dry-run`. */
export interface Plan {
  /** One sentence each; none: nothing to do. */
  readonly steps: readonly string[];
  /** Request units it would take; 0 where it is a handful. */
  readonly ru: number;
  /** How long it would take, waits included; absent where that is nothing to speak of. */
  readonly seconds?: number;
}

export interface Context {
  readonly workspace: Workspace;
  /** Who asked; goes into what the operation records. */
  readonly actor: string;
  /** Aborted by Ctrl-C: stop cleanly and throw its reason, or return. */
  readonly signal: AbortSignal;
  /** For people while it runs; the result is not printed here. */
  readonly screen: Screen;
  /** For waits that belong to a procedure; absent: the system's. */
  readonly clock?: Clock;
}

/** What procedures work with. */
export const partsOf = async ({ workspace, signal }: Context) => ({
  loaded: await workspace.pipeline(),
  services: await workspace.services(),
  settings: workspace.settings(),
  signal,
});

/** What the operation came to. `ok: false` means findings or differences: exit code 1. */
export interface Outcome {
  readonly value: unknown;
  readonly text: string;
  readonly ok: boolean;
}

interface Description {
  /** Absent: a bare verb such as `dev`. */
  readonly noun?: string;
  readonly verb: string;
  /** One line, for lists. */
  readonly summary: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
  /** `changes` can be previewed by `--dry-run` where it has a plan; `destroys` wants `--yes`. */
  readonly effect: 'reads' | 'changes' | 'destroys';
  /** The input field that is given by position: `dead-letters show NAME`. */
  readonly argument?: string;
}

/** How an operation is declared: its input's field descriptions become flags, and its HTTP parameters later. */
export interface OperationSpec<S extends z.ZodObject, R> extends Description {
  readonly input: S;
  readonly argument?: keyof z.output<S> & string;
  readonly plan?: (input: z.output<S>, context: Context) => Promise<Plan>;
  readonly run: (input: z.output<S>, context: Context) => Promise<R>;
  /** The result for people, without a final newline. */
  readonly format: (result: R, input: z.output<S>) => string;
  /** False: findings or differences. Default: always true. */
  readonly ok?: (result: R) => boolean;
}

/** A registered operation: CLI verb, HTTP route and button are generated from this. */
export interface Operation extends Description {
  readonly input: z.ZodObject;
  readonly plan?: (input: unknown, context: Context) => Promise<Plan>;
  /** @throws UsageError `input-invalid` for input that the schema refuses */
  readonly run: (input: unknown, context: Context) => Promise<Outcome>;
}

export function defineOperation<S extends z.ZodObject, R>(spec: OperationSpec<S, R>): Operation {
  const { input: schema, plan, run, format, ok, ...description } = spec;
  const accept = (input: unknown): z.output<S> => parse(schema, input, description);
  return {
    ...description,
    input: schema,
    ...(plan ? { plan: (input: unknown, context: Context) => plan(accept(input), context).catch(told(context)) } : {}),
    run: async (input, context) => {
      const accepted = accept(input);
      const value = await run(accepted, context).catch(told(context));
      return { value, text: format(value, accepted), ok: ok?.(value) ?? true };
    },
  };
}

/** An error as it is told wherever it came up: with what isn't there, or with what the identity lacks. */
const told =
  ({ workspace }: Context) =>
  async (raw: unknown): Promise<never> => {
    const error = raw instanceof MillraceError ? raw : asUsageError(raw);
    const missing = error instanceof UsageError && MISSING.test(error.code);
    throw (missing && (await missingDatabase(workspace, error))) || error;
  };

const MISSING = /^(lease-)?container-missing$|^account-unprepared$/;

/** The database of the settings where it is what lacks, not just a container in it. */
async function missingDatabase(workspace: Workspace, cause: unknown): Promise<UsageError | undefined> {
  const { cosmos, database } = await workspace.services();
  const databases = await withRetry(() => cosmos.databases.readAll().fetchAll(), { reads: true }).catch(
    () => undefined,
  );
  const known = databases?.resources.map(({ id }) => id);
  if (!known || known.includes(database.id)) return undefined;
  return new UsageError('database-missing', `There is no database ${database.id}${suggestion(database.id, known)}`, {
    cause,
    mend: 'Check COSMOS_DATABASE; `millrace model apply` creates it.',
  });
}

/** What the service answers in words of ours, where it is the operator's to mend. */
function asUsageError(cause: unknown): unknown {
  const { kind } = failureOf(cause);
  if (kind === 'not-found') {
    return new UsageError('account-unprepared', 'A container that this needs does not exist', {
      cause,
      mend: '`millrace model apply --dry-run` says which; `millrace model apply` creates it.',
    });
  }
  if (kind !== 'denied') return cause;
  return new UsageError('rights-missing', `This identity may not do that: ${messageOf(cause).split('\n')[0] ?? ''}`, {
    cause,
    mend: '`millrace doctor` says where it may write; it needs the role "Cosmos DB Built-in Data Contributor" on the account or the database.',
  });
}

/** `noun verb`, as on the command line. */
export const operationName = ({ noun, verb }: Pick<Description, 'noun' | 'verb'>): string =>
  noun ? `${noun} ${verb}` : verb;

function parse<S extends z.ZodObject>(schema: S, input: unknown, of: Pick<Description, 'noun' | 'verb'>): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw new UsageError(
    'input-invalid',
    `${field === '' ? 'The input' : `--${kebab(field)}`}: ${issue?.message ?? 'is wrong'}`,
    { mend: `See \`millrace ${operationName(of)} --help\`.` },
  );
}

export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
