import type { z } from 'zod';
import { MillraceError, UsageError, messageOf } from '../base/errors.ts';
import { failureOf, roleHint } from '../cosmos/failure.ts';
import { impatiently, withRetry } from '../cosmos/retry.ts';
import { isObject } from '../base/json.ts';
import { mapSettled } from '../base/map-settled.ts';
import { suggestion } from '../base/near.ts';
import { inSpan } from '../base/telemetry/spans.ts';
import { withSettingsHint } from '../runtime/settings-hint.ts';
import { type Workspace, bulkWorkspace } from '../runtime/workspace.ts';
import {
  type OperationPlace,
  type OverShards,
  failedAt,
  joinPlaces,
  joinPlans,
  onOnePlace,
  operationPlaces,
  planAt,
  withPlaceInput,
} from './at-places.ts';
import type { Context, Plan } from '../procedures/context.ts';
import { operationsError } from '../procedures/errors.ts';
import { whileNoted } from '../procedures/journal/runs.ts';
import { PLACES_AT_ONCE } from '../runtime/places.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Reads no property: the signal of a command line ends the process until it is first read. */
const withOther = (context: Context, other: Partial<Context>): Context =>
  Object.defineProperties({} as Context, {
    ...Object.getOwnPropertyDescriptors(context),
    ...Object.getOwnPropertyDescriptors(other),
  });

/** The result of an operation. `ok: false` means findings or differences: exit code 1. */
export interface OperationResult {
  readonly value: unknown;
  readonly text: string;
  readonly ok: boolean;
}

export type VerbEffect = 'reads' | 'changes' | 'destroys';

/** The words of a name: `shards keys` and `map`. */
interface Words {
  /** Absent: the name has one word. */
  readonly noun?: string;
  readonly verb: string;
}

interface Description {
  /** How it works on a pipeline over shards. Absent: it is refused. */
  readonly shards?: OverShards;
  /** One line that starts with a verb in the imperative. */
  readonly summary: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
  /** More of `--help`, below the examples. */
  readonly help?: string;
  /** An operation with a plan has `--dry-run`; one that `destroys` needs `--yes`. */
  readonly effect: VerbEffect;
  /** Fields of the input with which it does more than its `effect`, such as `repair` of one that reads. */
  readonly effects?: Readonly<Record<string, VerbEffect>>;
  /** True: works through whole containers, so that the account throttles its requests before those of live work. */
  readonly bulk?: true;
  /** The input field that is given by position: `dead-letters show ID`. */
  readonly argument?: string;
  /** Several input fields that are given by position, in the order of the schema: `trace CONTAINER KEY ID`. */
  readonly arguments?: readonly string[];
  /** True: it may run until someone ends it, so no span surrounds it. */
  readonly lasting?: true;
  /** True: no record may keep the input, because it names what is erased. */
  readonly withheld?: true;
  /** Over shards: which inputs work in all places at the same time. Absent: every one, if the operation only reads. */
  readonly sideBySide?: (input: Readonly<Record<string, unknown>>) => boolean;
  /**
   * Of a verb that works in one place: whether an input names keys, so that a job of it looks in the other shards too. They
   * may have moved while it waited.
   */
  readonly namesKeys?: (input: Readonly<Record<string, unknown>>) => boolean;
}

/** The declaration of an operation. The fields of its input become flags and HTTP parameters. */
export interface OperationSpec<S extends z.ZodObject, R> extends Description {
  /** As on the command line: `shards keys map`, or a verb without a noun: `dev`. */
  readonly name: string;
  readonly input: S;
  readonly argument?: keyof z.output<S> & string;
  readonly plan?: (input: z.output<S>, context: Context) => Promise<Plan>;
  readonly run: (input: z.output<S>, context: Context) => Promise<R>;
  /** The result for people, without a final newline. */
  readonly format: (result: R, input: z.output<S>) => string;
  /** False: findings or differences. Default: always true. */
  readonly ok?: (result: R) => boolean;
}

/** A registered operation: the CLI verb and the HTTP route are generated from it. */
export interface Operation extends Description, Words {
  readonly input: z.ZodObject;
  readonly plan?: (input: unknown, context: Context) => Promise<Plan>;
  /** @throws UsageError `input-invalid` if the schema does not accept the input */
  readonly run: (input: unknown, context: Context) => Promise<OperationResult>;
}

export function defineOperation<S extends z.ZodObject, R>(spec: OperationSpec<S, R>): Operation {
  const { input: own, plan, run, format, ok, name, ...declared } = spec;
  const [verb = '', ...before] = name.split(' ').toReversed();
  const noun = before.toReversed().join(' ');
  const description = { ...declared, ...(noun !== '' && { noun }), verb };
  const how = description.shards;
  const schema = withPlaceInput(own, how);
  const accept = (input: unknown): { accepted: z.output<S>; shard: string | undefined } => {
    const { shard, ...rest } = parse(schema, input, description) as z.output<S> & { shard?: string };
    const alone = how === 'every' || how === 'one';
    return {
      accepted: (alone ? rest : parse(own, input, description)) as z.output<S>,
      shard: alone ? shard : undefined,
    };
  };
  const inLane = (context: Context): Context =>
    description.bulk ? withOther(context, { workspace: bulkWorkspace(context.workspace) }) : context;
  /** Verbs of shards know places by themselves. */
  const guarded = (context: Context): Context =>
    how === 'itself' || name.startsWith('shards ')
      ? context
      : withOther(context, { workspace: onOnePlace(context.workspace, name) });
  const placesOf = async ({ workspace }: Context, shard: string | undefined): Promise<OperationPlace[] | undefined> =>
    how === 'every' || how === 'one' ? operationPlaces(workspace, name, how, shard) : undefined;
  const perform = async (accepted: z.output<S>, context: Context): Promise<OperationResult> => {
    const working = (of: Context) => run(accepted, inLane(guarded(of)));
    const value = await (description.bulk ? noted(context, description, accepted, working) : working(context)).catch(
      explain(context),
    );
    return { value, text: format(value, accepted), ok: ok?.(value) ?? true };
  };
  const runAt = async (input: unknown, context: Context): Promise<OperationResult> => {
    const { accepted, shard } = accept(input);
    const places = await placesOf(context, shard);
    const [only, ...more] = places ?? [];
    if (!only) return perform(accepted, context);
    if (more.length === 0)
      return perform(accepted, withOther(context, { workspace: only.workspace, place: only.name }));
    const between = new Map<string, unknown>();
    // Interim results are those of one place.
    const { show: _, ...rest } = context;
    const inPlace = async ({ name: place, global, workspace }: OperationPlace) => {
      try {
        return { place, global, ...(await perform(accepted, { ...rest, workspace, place, between })) };
      } catch (error) {
        if (context.signal.aborted) throw error;
        // A shard that doesn't answer hides nothing of the others.
        return failedAt({ name: place, global }, error);
      }
    };
    const isBeside = description.sideBySide?.(accepted) ?? description.effect === 'reads';
    return joinPlaces(await mapSettled([only, ...more], inPlace, { concurrency: isBeside ? PLACES_AT_ONCE : 1 }));
  };
  return {
    ...description,
    input: schema,
    ...(plan && {
      plan: async (input: unknown, context: Context) => {
        const { accepted, shard } = accept(input);
        const places = (await placesOf(context, shard)) ?? [undefined];
        const planIn = async (place: OperationPlace | undefined): Promise<Plan> => {
          const at = place ? withOther(context, { workspace: place.workspace }) : context;
          const planned = await plan(accepted, inLane(guarded(at))).catch(explain(at));
          return place ? planAt(place, planned) : planned;
        };
        return joinPlans(await mapSettled(places, planIn, { concurrency: PLACES_AT_ONCE }));
      },
    }),
    run: (input, context) => {
      // A person waits for what is only shown.
      const shows = description.effect === 'reads' && !description.bulk;
      const work = () => (shows ? impatiently(() => runAt(input, context)) : runAt(input, context));
      if (description.lasting) return work();
      return inSpan(() => ({ name: 'millrace.operation', attributes: { 'millrace.operation': name } }), work);
    },
  };
}

/** Bulk operations are long ones, so `status` shows them while they run. */
async function noted<R>(
  context: Context,
  description: Description & Words,
  given: object,
  work: (context: Context) => Promise<R>,
): Promise<R> {
  const { workspace, actor, clock } = context;
  const services = await workspace.services().catch(() => undefined);
  if (!services) return work(context);
  const of = { verb: operationName(description), arguments: description.withheld ? {} : { ...given }, actor };
  return whileNoted(services.global.state, { ...of, ...(clock && { clock }) }, (running) =>
    work(withOther(context, { running })),
  );
}

/** Throws an error as users should see it: with the missing database or container, or the missing rights. */
const explain =
  ({ workspace }: Context) =>
  async (raw: unknown): Promise<never> => {
    const error = raw instanceof MillraceError ? raw : asUsageError(raw);
    const missing = error instanceof UsageError && MISSING.test(error.code);
    throw (missing && (await missingDatabase(workspace, error))) || (await withSettingsHint(error, workspace));
  };

const MISSING = /^(lease-)?container-missing$|^account-unprepared$/;

/** An error if the whole database of the settings is missing, not only a container of it. */
async function missingDatabase(workspace: Workspace, cause: unknown): Promise<UsageError | undefined> {
  // A verb may have failed at an account that these settings don't name.
  const database = await workspace.services().then(
    ({ place }) => place.database,
    () => undefined,
  );
  if (!database) return undefined;
  const databases = await withRetry(() => database.client.databases.readAll().fetchAll(), { reads: true }).catch(
    () => undefined,
  );
  const known = databases?.resources.map(({ id }) => id);
  if (!known || known.includes(database.id)) return undefined;
  return sharedError('missing', `There is no database ${database.id}${suggestion(database.id, known)}`, {
    cause,
    hint: 'Check `COSMOS_DATABASE`, or create the database with `millrace model apply`.',
  });
}

/** Errors of the service that an operator can fix, as errors of Millrace. */
function asUsageError(cause: unknown): unknown {
  const { kind } = failureOf(cause);
  if (kind === 'not-found') {
    return operationsError('account-unprepared', 'A container that this command needs does not exist', { cause });
  }
  if (kind !== 'denied') return cause;
  return sharedError('denied', `This identity has no right to do that: ${messageOf(cause).split('\n')[0] ?? ''}`, {
    hint: `${roleHint(cause)} \`millrace doctor\` shows where it may write.`,
    cause,
  });
}

/** What an operation does with an input. */
export const effectOf = (
  { effect, effects = {} }: Pick<Description, 'effect' | 'effects'>,
  input: Readonly<Record<string, unknown>>,
): VerbEffect =>
  Object.entries(effects).find(([field]) => input[field] !== undefined && input[field] !== false)?.[1] ?? effect;

/** `noun verb`, as on the command line. */
export const operationName = ({ noun, verb }: Words): string => (noun ? `${noun} ${verb}` : verb);

function parse<S extends z.ZodObject>(schema: S, input: unknown, of: Words): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw operationsError(
    'input-invalid',
    `${field === '' ? 'The input' : `--${kebab(field)}`}: ${issue ? numberIssue(issue, input) : 'is wrong'}`,
    { hint: `Run \`millrace ${operationName(of)} --help\`.` },
  );
}

/** zod's message, or what is wrong with a number, which is said with the value that was given. */
function numberIssue(issue: z.core.$ZodIssue, input: unknown): string {
  const [name = ''] = issue.path;
  const value = isObject(input) ? input[String(name)] : undefined;
  if (issue.path.length !== 1 || (typeof value !== 'string' && typeof value !== 'number')) return issue.message;
  if (issue.code === 'invalid_type' && issue.expected === 'number') return `${value} is not a number`;
  if (issue.code === 'invalid_type' && issue.expected === 'int') return `${value} is not a whole number`;
  if (issue.code === 'too_big' && issue.origin !== 'string')
    return `${value} is not ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
  if (issue.code === 'too_small' && issue.origin !== 'string')
    return `${value} is not ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
  return issue.message;
}

export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
