import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Kept } from './kept-changes.ts';
import { type DeadLetter, type LetterDocument, toDeadLetter } from './letter-document.ts';

/** Selects dead letters. An absent field selects all. */
export interface LetterFilter {
  /** `name@version`, or a name for all its versions. */
  readonly projection?: string | undefined;
  /** The id of the source document. */
  readonly id?: string | undefined;
  readonly code?: string | undefined;
  /** The full partition key of the source document. */
  readonly key?: readonly unknown[] | undefined;
  /** First parked at this time or later, ISO 8601 UTC. */
  readonly since?: string | undefined;
}

/** All dead letters with one code. */
export interface LetterGroup {
  readonly code: string;
  readonly count: number;
  /** When the oldest of them was first parked, and when one was last refused. ISO 8601 UTC. */
  readonly oldest: string;
  readonly newest: string;
  /** The id and the message of the oldest. */
  readonly example: string;
  readonly message: string;
  /** `name@version`, in alphabetical order. */
  readonly projections: readonly string[];
}

/** Everything but the stored change, which may be large. The first three are for the check of the format. */
const FIELDS = (
  'pk,kind,format,projection,container,key,document,type,tenant,version,op,' +
  'code,message,hint,attempts,waits,firstAt,lastAt'
).split(',');
type Listed = Omit<LetterDocument, 'id' | '_etag' | keyof Kept>;

/** The dead letters of a selection, oldest first. Reads no stored change. @throws UsageError `container-missing` */
export async function listLetters(
  state: Container,
  filter: LetterFilter,
  signal: AbortSignal = new AbortController().signal,
): Promise<DeadLetter[]> {
  const found = await Array.fromAsync(read(state, filter, signal), toDeadLetter);
  return found.toSorted((a, b) => (a.firstAt < b.firstAt ? -1 : 1));
}

/** The dead letters of a selection that count, by code, the largest group first. Keeps one entry a code, however many letters there are. */
export async function groupLetters(
  state: Container,
  filter: LetterFilter,
  counts: (letter: DeadLetter) => boolean,
  signal: AbortSignal,
): Promise<LetterGroup[]> {
  const groups = new Map<string, Omit<LetterGroup, 'projections'> & { projections: Set<string> }>();
  for await (const stored of read(state, filter, signal)) {
    if (!counts(toDeadLetter(stored))) continue;
    const { code, projection, firstAt, lastAt, document, message } = stored;
    const of = groups.get(code);
    const first = of === undefined || firstAt < of.oldest;
    groups.set(code, {
      code,
      count: (of?.count ?? 0) + 1,
      oldest: first ? firstAt : of.oldest,
      newest: of === undefined || lastAt > of.newest ? lastAt : of.newest,
      example: first ? document : of.example,
      message: first ? message : of.message,
      projections: (of?.projections ?? new Set()).add(projection),
    });
  }
  return [...groups.values()]
    .map((of) => ({ ...of, projections: [...of.projections].toSorted() }))
    .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
}

async function* read(state: Container, filter: LetterFilter, signal: AbortSignal): AsyncGenerator<Listed> {
  const key = filter.key === undefined ? undefined : canonical(filter.key);
  for await (const stored of fetchAll<Listed>(state, queryOf(filter), signal))
    if (key === undefined || canonical(stored.key) === key) yield stored;
}

function queryOf({ projection, id, code, since }: LetterFilter): SqlQuerySpec {
  const parameters: SqlParameter[] = [];
  const conditions = ["c.kind = 'dead-letter'"];
  const add = (name: string, value: string | undefined, condition: string): void => {
    if (value === undefined) return;
    parameters.push({ name, value });
    conditions.push(condition);
  };
  const versioned = projection?.includes('@') === true;
  add(
    '@projection',
    projection,
    versioned ? 'c.projection = @projection' : "STARTSWITH(c.projection, CONCAT(@projection, '@'))",
  );
  add('@id', id, 'c.document = @id');
  add('@code', code, 'c.code = @code');
  add('@since', since, 'c.firstAt >= @since');
  const fields = FIELDS.map((field) => `c.${field}`).join(', ');
  return { query: `SELECT ${fields} FROM c WHERE ${conditions.join(' AND ')}`, parameters };
}
