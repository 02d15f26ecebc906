import { UsageError } from '../../base/errors.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { type LeaseGroup, type LeaseRoom, type Monitored, chooseGroups, monitoredOf } from './groups.ts';

/** Another processor's leases of a container, and the pipeline's own of the same one. */
export interface Counterparts {
  readonly theirs: LeaseGroup;
  readonly ownPrefix: string;
  /** Absent where the pipeline has no leases of it yet. */
  readonly ours?: LeaseGroup;
  readonly monitored: Monitored;
}

/**
 * @throws UsageError `prefix-unknown`, `prefix-own`, `monitored-unknown`, `source-unknown`, `lease-unexplained`,
 * `lease-mode-mismatch`, `lease-all-versions`
 */
export function counterparts(room: LeaseRoom, prefix: string): Counterparts {
  const [theirs] = chooseGroups(room, prefix);
  if (!theirs) throw new UsageError('prefix-unknown', `There are no leases of the prefix ${prefix}`);
  if (theirs.own) {
    throw new UsageError('prefix-own', `The leases ${prefix} are the pipeline's own`, {
      mend: 'Name those of the other function or service: `millrace leases list` shows them.',
    });
  }
  const monitored = monitoredOf(theirs);
  const source = room.sources.get(monitored.container.id);
  if (!source) {
    const names = [...room.sources.keys()];
    throw new UsageError(
      'source-unknown',
      `The leases ${prefix} are about ${monitored.container.id}, which the pipeline doesn't read`,
      {
        mend: names.length === 0 ? 'Name a pipeline by --pipeline.' : `The pipeline reads: ${names.join(', ')}.`,
      },
    );
  }
  if (source.mode === 'all-versions') {
    throw new UsageError(
      'lease-all-versions',
      `The pipeline reads ${monitored.container.id} by its all-versions feed, whose positions no other processor shares`,
      {
        mend: 'Stop the other one, start the pipeline, which begins at now, and then put right what lies between by `millrace projections verify --repair`.',
      },
    );
  }
  const [strange] = theirs.unexplained;
  if (strange) {
    throw new UsageError('lease-unexplained', `The document ${strange.id} can't be read: ${strange.why}`, {
      mend: 'Whoever wrote it knows where that range stands; nothing was changed.',
    });
  }
  const other = theirs.leases.find(({ mode }) => mode !== 'latest-version');
  if (other) {
    throw new UsageError(
      'lease-mode-mismatch',
      `Lease ${other.id} is of the ${other.mode} feed; the pipeline reads the latest-version feed`,
      {
        mend: 'Start the pipeline from a time or from the beginning.',
      },
    );
  }
  const ours = room.groups.find((group) => group.prefix === source.prefix && group.leases.length > 0);
  return { theirs, ownPrefix: source.prefix, monitored, ...(ours && { ours }) };
}

/** How far a group's leases are, where they have been anywhere. */
export const positionsOf = ({ leases }: Pick<LeaseGroup, 'leases'>): RangePosition[] =>
  leases.flatMap(({ range, position }) => (range && position !== undefined ? [{ range, position }] : []));
