import type { Container } from '@azure/cosmos';
import { type GateDocument, type WriteTarget, gatedContainer, readGates } from '../../shards/write-gate.ts';

/** A container whose writers write elsewhere since it was migrated. */
export interface MovedSource {
  readonly container: string;
  readonly target: WriteTarget;
  /** Where that is, in words. */
  readonly where: string;
}

export interface Here {
  readonly state: Container;
  readonly database: string;
  readonly endpoint: string;
}

/** Of some containers those that nobody writes any more, as their writers were sent elsewhere: what reads them sees nothing new. */
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
