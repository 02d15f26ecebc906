import type { Container } from '@azure/cosmos';
import { type GateDocument, type WriteTarget, gatedContainer, readGates } from '../../shards/gate/write-gate.ts';

/** A container that was migrated: its writers now write to another one. */
export interface MovedSource {
  readonly container: string;
  readonly target: WriteTarget;
  /** The target as text. */
  readonly where: string;
}

export interface Here {
  readonly state: Container;
  readonly database: string;
  readonly endpoint: string;
}

/** The migrated ones among some containers: their readers see no new changes. */
export async function movedSources(containers: ReadonlySet<string>, here: Here): Promise<MovedSource[]> {
  const gates = (await readGates(here.state)).filter((gate) => containers.has(gatedContainer(gate)));
  return gates
    .map(({ pk, target }: GateDocument) => ({ container: gatedContainer({ pk }), target }))
    .flatMap(({ container, target }) => {
      const { database = here.database, endpoint = here.endpoint } = target;
      const otherAccount = new URL(endpoint).host !== new URL(here.endpoint).host;
      const otherDatabase = otherAccount || database !== here.database;
      if (target.container === container && !otherDatabase) return [];
      const where = [
        target.container,
        ...(otherDatabase ? [`in database ${database}`] : []),
        ...(otherAccount ? [`of ${new URL(endpoint).host}`] : []),
      ];
      return [{ container, target, where: where.join(' ') }];
    });
}
