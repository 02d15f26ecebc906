import type { Container } from '@azure/cosmos';
import { erasuresUnderWay } from '../../engine/erasures/record.ts';
import { isKept } from '../../engine/views/kept.ts';
import type { View, ViewsByName } from '../../engine/views/views.ts';
import { fetchList } from '../../cosmos/fetch-all.ts';
import { type GateDocument, gatedContainer } from '../../shards/gate/write-gate.ts';
import type { Services } from '../../runtime/workspace.ts';
import { type MigrationRecord, isUnfinishedMigration } from '../migrate/migrations.ts';
import { type Run, readRunning } from '../journal/runs.ts';

/** Something that was begun and has not ended. */
export interface InProgress {
  readonly what: string;
  /** The operator, timer or job whose process works on it; null: none does, or it isn't known. */
  readonly by: string | null;
  /** ISO 8601 UTC; null: it isn't stored. */
  readonly since: string | null;
  /** ISO 8601 UTC: when it ends by itself. */
  readonly until?: string;
}

/**
 * What is in progress: operations that run, versions that are built, switched or kept, closed write gates, migrations,
 * erasures.
 */
export async function readInProgress(
  { place, global }: Services,
  views: ViewsByName | undefined,
  signal: AbortSignal,
): Promise<InProgress[]> {
  const running = await readRunning(global.state, signal);
  const builders = running.filter(({ verb }) => /^projections (rebuild|promote)$/.test(verb));
  return [
    ...running.map(ofOperation),
    ...Object.entries(views ?? {}).flatMap(([name, view]) => ofView(name, view, builders)),
    ...(await ofMigrations(place.state, running, signal)),
    ...(await ofErasures(global.state, signal)),
  ];
}

const ofOperation = ({ verb, arguments: given, actor, at }: Run): InProgress => {
  const named = [given['name'], given['id'], given['container']].filter((value) => typeof value === 'string');
  return { what: [verb, ...named].join(' '), by: actor, since: at };
};

function ofView(name: string, { staged, previous }: View, builders: readonly Run[]): InProgress[] {
  const by = builders.find(({ arguments: { name: given } }) => String(given).split('@')[0] === name)?.actor ?? null;
  const until = previous?.frozenUntil ?? (staged?.phase === 'frozen' ? staged.frozenUntil : undefined);
  const frozen = until !== undefined && Date.now() < Date.parse(until);
  return [
    ...(staged ? [{ what: `rebuild of ${name}@${staged.version}: ${staged.phase}`, by, since: staged.since }] : []),
    ...(frozen ? [{ what: `freeze of ${name}: hosts hold back what it reads`, by, since: null, until }] : []),
    ...(previous?.keptUntil !== undefined && isKept(previous, Date.now())
      ? [
          {
            what: `${name}@${previous.version} is kept`,
            by: null,
            since: previous.replacedAt,
            until: previous.keptUntil,
          },
        ]
      : []),
  ];
}

/** An erasure that was killed has no note: its record says that it has to be resumed. */
const ofErasures = async (state: Container, signal: AbortSignal): Promise<InProgress[]> =>
  (await erasuresUnderWay(state, signal)).map(({ id, at, state: step }) => ({
    what: `erasure ${id} of a tenant: ${step}`,
    by: null,
    since: at,
  }));

type Gate = GateDocument & { readonly _ts: number };
type Migrating = Pick<MigrationRecord, 'name' | 'into' | 'target' | 'direction'>;

/** Closed write gates, and migrations whose writers were not switched yet. */
async function ofMigrations(state: Container, running: readonly Run[], signal: AbortSignal): Promise<InProgress[]> {
  const gates = await fetchList<Gate>(state, "SELECT * FROM c WHERE c.type = 'millrace.gate'", signal, {
    anyFormat: true,
  });
  const migrations = await fetchList<Migrating>(state, "SELECT * FROM c WHERE c.pk = 'migrations'", signal, {
    anyFormat: true,
  });
  const closed = gates.filter((gate) => gate.state === 'closing');
  const targets = new Map(gates.map((gate) => [gatedContainer(gate), gate.target]));
  const unfinished = migrations.filter((one) =>
    isUnfinishedMigration(one, targets.get(one.name) ?? { container: one.name }),
  );
  return [
    ...closed.map((gate) => ({
      what: `write gate of ${gatedContainer(gate)} is closed: its writers wait`,
      by: null,
      since: new Date(gate._ts * 1_000).toISOString(),
    })),
    ...unfinished.map(({ name, into, direction }) => {
      const of = running.find(({ verb, arguments: given }) => verb === 'migrate' && given['name'] === name);
      const what = direction === 'forward' ? `migration of ${name} to ${into}` : `way back of ${name} from ${into}`;
      return { what, by: of?.actor ?? null, since: of?.at ?? null };
    }),
  ];
}
