import type { RangePosition } from '../../feed/reading/position.ts';
import { type LeaseGroup, type LeaseInventory, type Monitored, chooseGroups, monitoredOf } from '../leases/groups.ts';
import { operationsError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { feedError } from '../../feed/errors.ts';

/** Another processor's leases of a container, and the pipeline's own leases of the same container. */
export interface Counterparts {
  readonly theirs: LeaseGroup;
  readonly ownPrefix: string;
  /** Absent if the pipeline has no leases for the container yet. */
  readonly ours?: LeaseGroup;
  readonly monitored: Monitored;
}

/**
 * @throws UsageError `leases-none`, `input-invalid`, `not-found`, `lease-unexplained`, `lease-mode-mismatch`, `all-versions-feed`
 */
export function counterparts(inventory: LeaseInventory, prefix: string): Counterparts {
  const [theirs] = chooseGroups(inventory, prefix);
  if (!theirs) throw operationsError('leases-none', `There are no leases with the prefix ${prefix}`);
  if (theirs.own) {
    throw operationsError('input-invalid', `The leases ${prefix} are the pipeline's own`, {
      hint: 'Name the leases of the other function or service. `millrace leases list` shows them.',
    });
  }
  const monitored = monitoredOf(theirs);
  const source = inventory.sources.get(monitored.container.id);
  if (!source) {
    const names = [...inventory.sources.keys()];
    throw sharedError(
      'not-found',
      `The leases ${prefix} belong to ${monitored.container.id}, which the pipeline doesn't read`,
      {
        hint: names.length === 0 ? 'Name a pipeline with --pipeline.' : `The pipeline reads: ${names.join(', ')}.`,
      },
    );
  }
  if (source.mode === 'all-versions') {
    throw sharedError(
      'all-versions-feed',
      `The pipeline reads ${monitored.container.id} by its all-versions feed, and no other processor has positions of that feed`,
      {
        hint: 'Stop the other processor and start the pipeline: it starts at the present. Then run `millrace projections verify --repair` for the changes between.',
      },
    );
  }
  const [strange] = theirs.unexplained;
  if (strange) {
    throw operationsError('lease-unexplained', `The document ${strange.id} is not a known lease: ${strange.why}`);
  }
  const other = theirs.leases.find(({ mode }) => mode !== 'latest-version');
  if (other) {
    throw feedError(
      'lease-mode-mismatch',
      `Lease ${other.id} belongs to the ${other.mode} feed; the pipeline reads the latest-version feed`,
      {
        hint: 'Start the pipeline from a time or from the beginning.',
      },
    );
  }
  const ours = inventory.groups.find((group) => group.prefix === source.prefix && group.leases.length > 0);
  return { theirs, ownPrefix: source.prefix, monitored, ...(ours && { ours }) };
}

/** The positions of a group's leases, without leases that have none. */
export const positionsOf = ({ leases }: Pick<LeaseGroup, 'leases'>): RangePosition[] =>
  leases.flatMap(({ range, position }) => (range && position !== undefined ? [{ range, position }] : []));
