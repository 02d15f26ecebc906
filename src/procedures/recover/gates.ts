import type { Database } from '@azure/cosmos';
import { fetchAll, fetchList } from '../../cosmos/fetch-all.ts';
import { withRetry } from '../../cosmos/retry.ts';
import type { Services } from '../../runtime/workspace.ts';
import { type GateDocument, type WriteTarget, decideGate, gatedContainer } from '../../shards/gate/write-gate.ts';
import { type MigrationRecord, Migrations, isUnfinishedMigration } from '../migrate/migrations.ts';
import { operationsError } from '../errors.ts';
import type { RecoveryFinding } from './finding.ts';

/** A gated container, where the state says that writers write, and the migration that the state knows. */
interface Gated {
  readonly name: string;
  readonly target: WriteTarget;
  readonly record: MigrationRecord | undefined;
}

/** What the account has: each container's rid, and which containers have documents that were copied from which. */
interface Account {
  readonly rids: ReadonlyMap<string, string>;
  readonly copies: readonly { readonly from: string; readonly into: string }[];
}

/**
 * Gates and migrations that don't fit the documents. A gate that is older than a switch sends writers that start now to one
 * container, while those that run stay with the other: they ignore a generation below the one that they know. Another
 * migration may then copy old versions over new ones.
 */
export async function findGates(
  { place: { database, state } }: Services,
  signal: AbortSignal,
): Promise<RecoveryFinding[]> {
  const gates = await fetchList<GateDocument>(state, "SELECT * FROM c WHERE c.type = 'millrace.gate'", signal, {
    anyFormat: true,
  });
  const records = await fetchList<MigrationRecord>(state, "SELECT * FROM c WHERE c.pk = 'migrations'", signal, {
    anyFormat: true,
  });
  const { rids, copies } = await look(database, [state.id], signal);
  const names = new Set([
    ...gates.map(gatedContainer),
    ...records.map(({ id }) => id),
    ...copies.map(({ from }) => from),
  ]);
  return [...names].flatMap((name): RecoveryFinding[] => {
    const target = gates.find((gate) => gatedContainer(gate) === name)?.target ?? { container: name };
    const record = records.find(({ id }) => id === name);
    // A way back copies too, and is the other container's.
    const other = records.some(({ id, into }) => id !== name && into === name);
    const what = faultOf({ name, target, record }, { rids, copies: other ? [] : copies }, database.id);
    return what === undefined ? [] : [{ about: `write gate of ${name}`, remedy: 'you', gates: [name], ...what }];
  });
}

function faultOf(
  { name, target, record }: Gated,
  { rids, copies }: Account,
  here: string,
): Pick<RecoveryFinding, 'what' | 'hint' | 'gates'> | undefined {
  const isHere = ({ database = here, endpoint }: WriteTarget): boolean => database === here && endpoint === undefined;
  const decide = (into: string): string =>
    `Stop the writers. Then say --writers ${name}=${into} if they wrote to ${into} before the disaster, and --writers ${name}=${name} if they did not.`;
  if (isHere(target) && !rids.has(target.container))
    return {
      what: `writers write to ${target.container}, which does not exist`,
      hint: `Stop the writers, and say where they write: --writers ${name}=CONTAINER.`,
    };
  if (record && isUnfinishedMigration(record, target))
    return {
      what: `the state says that a migration to ${record.into} is half-way: it may have ended since the time of the state, or have copied documents that are lost now`,
      hint: `${decide(record.into)} After that empty the other container before you migrate again.`,
    };
  const intoHere = record !== undefined && isHere(record.target ?? target);
  const isOther =
    record && (record.rids[0] !== rids.get(name) || (intoHere && record.rids[1] !== rids.get(record.into)));
  if (isOther && record.direction === 'forward' && rids.has(name))
    return {
      what: `its migration to ${record.into} was one of earlier containers: there is no way back, and no other migration may begin`,
      hint: decide(record.into),
    };
  if (record && (record.direction === 'back' || record.again)) return undefined;
  if (target.container !== name) {
    // The documents that a way back copies.
    if (!copies.some(({ from, into }) => from === target.container && into === name)) return undefined;
    return {
      what: `writers write to ${target.container}, and ${name} has documents that were copied from it: the state may be older than a way back`,
      hint: decide(target.container),
    };
  }
  const copied = isHere(target) ? copies.find(({ from, into }) => from === name && into !== name) : undefined;
  if (!copied) return undefined;
  return {
    what: `the state knows no migration of it, and ${copied.into} has documents that were copied from it: the state may be older than a migration, or the migration was given up`,
    hint: decide(copied.into),
    // After a way back both have such documents, and without any state nothing shows which of them has the gate.
    gates: [name, copied.into],
  };
}

/** Looks into every container, since the state may know nothing of a migration. */
async function look(database: Database, without: readonly string[], signal: AbortSignal): Promise<Account> {
  const { resources } = await withRetry(() => database.containers.readAll().fetchAll(), { reads: true, signal });
  const rids = new Map(resources.map((one) => [one.id, (one as { _rid?: string })._rid ?? '']));
  const names = new Map([...rids].map(([name, rid]) => [rid, name]));
  const copies: { from: string; into: string }[] = [];
  for (const into of rids.keys()) {
    if (without.includes(into)) continue;
    const open = new Set(names.keys());
    for (let found: string | undefined = ''; found !== undefined;) {
      found = undefined;
      const query = {
        query: 'SELECT TOP 1 VALUE c._mr.moved.rid FROM c WHERE ARRAY_CONTAINS(@rids, c._mr.moved.rid)',
        parameters: [{ name: '@rids', value: [...open] }],
      };
      for await (const rid of fetchAll<string>(database.container(into), query, signal, { anyFormat: true }))
        found = rid;
      if (found === undefined) break;
      open.delete(found);
      copies.push({ from: names.get(found) ?? '', into });
    }
  }
  return { rids, copies };
}

/** Where writers write, by gated container, as the operator says: `Orders=OrdersByCustomer,Customers=Customers`. */
export type Writers = ReadonlyMap<string, string>;

/** @throws UsageError `input-invalid` */
export function parseWriters(text: string | undefined): Writers {
  const pairs = text === undefined ? [] : text.split(',').map((one) => one.split('=').map((part) => part.trim()));
  const wrong = pairs.some((pair) => pair.length !== 2 || pair.includes(''));
  const writers = new Map(pairs.map(([name = '', into = '']) => [name, into]));
  if (!wrong && writers.size === pairs.length) return writers;
  throw operationsError('input-invalid', `--writers ${text} does not name each container once`, {
    hint: 'Write --writers CONTAINER=TARGET, several with commas. The target may be the container itself.',
  });
}

/** @throws UsageError `input-invalid` */
export async function assertWriters(
  writers: Writers,
  { place: { database } }: Services,
  signal: AbortSignal,
): Promise<void> {
  if (writers.size === 0) return;
  const { resources } = await withRetry(() => database.containers.readAll().fetchAll(), { reads: true, signal });
  const known = resources.map(({ id }) => id);
  const unknown = [...writers].flat().find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw operationsError(
    'input-invalid',
    `--writers names ${unknown}, and database ${database.id} has no such container`,
    {
      hint: `Name some of: ${known.join(', ')}.`,
    },
  );
}

/**
 * Opens each gate where the operator says (REC-G1). The generation becomes the time in seconds, above every one that a
 * running writer knows. The migration's record goes: its positions are of another time.
 */
export async function decideGates(
  writers: Writers,
  { place: { database, state } }: Services,
  now: number,
): Promise<void> {
  for (const [name, into] of writers) {
    const target = into === name ? { container: name } : { container: into, database: database.id };
    await new Migrations(state).remove(name);
    await decideGate(state, name, target, Math.floor(now / 1000));
  }
}
