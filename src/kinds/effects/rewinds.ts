import type { DocumentAccess } from '../../access/document-access.ts';
import type { Change, Version } from '../../feed/reading/change.ts';
import { isBelow } from '../../feed/reading/ends.ts';
import type { Rewound } from '../../feed/reading/epochs.ts';

/** Which changes come again because leases were moved back, so that their effects are to be had again. */
export class Rewinds {
  readonly #stateContainer: string;
  /** By container and epoch. An epoch's document is complete before a host reads in it. */
  readonly #known = new Map<string, Promise<readonly Rewound[]>>();

  constructor(stateContainer: string) {
    this.#stateContainer = stateContainer;
  }

  /** Whether a change comes again by a rewind since `before` was seen. A move of keys raises the epoch, and repeats none. */
  async repeats(before: Version, change: Change, access: DocumentAccess): Promise<boolean> {
    const { epoch } = change.version;
    if (epoch <= before.epoch) return false;
    const rewinds = await this.#rewinds(change.container, epoch, access);
    return rewinds.some((one) => before.epoch < one.epoch && one.epoch <= epoch && isBelow(one, change));
  }

  #rewinds(container: string, epoch: number, access: DocumentAccess): Promise<readonly Rewound[]> {
    const name = `${epoch}|${container}`;
    const known = this.#known.get(name);
    if (known) return known;
    const asked = access
      .read(this.#stateContainer, ['epochs'], [container], { current: true })
      .then(([stored]) => (stored?.['rewinds'] ?? []) as readonly Rewound[]);
    this.#known.set(name, asked);
    asked.catch(() => this.#known.delete(name));
    return asked;
  }
}
