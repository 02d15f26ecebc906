import { type Clock, systemClock } from '../../base/clock.ts';
import { type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import type { Page } from '../../feed/reading/change.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import { type Held, type Views, type ViewsByName, heldBy, pausedBy } from './views.ts';

export interface ViewControlOptions {
  /** How old what it knows of the views may be, milliseconds. Default VIEWS_REFRESH_MS. */
  readonly refreshMs?: number;
  readonly clock?: Clock;
}

/** Every host asks this often at least, while it has pages to apply; whoever changes a view waits that long and the read lag. */
export const VIEWS_REFRESH_MS = 2_000;
/** A page that must wait does so for this long before it is given up and read again. */
const PATIENCE_MS = 20_000;

/** Says which versions take part in applying a page, and makes it wait while a projection is paused or promoted. */
export class ViewControl {
  readonly #views: Views;
  readonly #projections: readonly ProjectionSpec[];
  readonly #versions: ReadonlySet<string>;
  readonly #refreshMs: number;
  readonly #clock: Clock;
  #known: { readonly at: number; readonly views: Promise<ViewsByName> } | undefined;

  constructor(views: Views, projections: readonly ProjectionSpec[], options: ViewControlOptions = {}) {
    this.#views = views;
    this.#projections = projections;
    this.#versions = new Set(projections.map(projectionId));
    this.#refreshMs = options.refreshMs ?? VIEWS_REFRESH_MS;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * The ids that must *not* apply the page: versions that aren't current. Waits while the page has to; throws Held when
   * that lasts, and what the fence throws when its holder may no longer act.
   */
  async admit(page: Page, fence: Fence): Promise<ReadonlySet<string>> {
    return this.#idle(await this.#unheld((views) => this.#held(views, page), fence));
  }

  /** Waits while an ingest is paused; throws as `admit` does. */
  async admitEvents(ingest: string, fence: Fence): Promise<void> {
    await this.#unheld((views) => pausedBy(views, ingest), fence);
  }

  async #unheld(heldBecause: (views: ViewsByName) => Held | undefined, fence: Fence): Promise<ViewsByName> {
    const began = this.#clock.monotonic();
    for (;;) {
      const views = await this.#current();
      const held = heldBecause(views);
      if (!held) return views;
      if (this.#clock.monotonic() - began > PATIENCE_MS) throw held;
      await this.#clock.sleep(this.#refreshMs, fence.signal);
      fence.assert();
    }
  }

  #held(views: ViewsByName, { changes }: Page): Held | undefined {
    const types = new Map(changes.map(({ container, type }) => [`${container}/${type}`, { container, type }]));
    for (const of of types.values()) {
      const held = heldBy(views, of, (id) => this.#versions.has(id), this.#clock.now());
      if (held) return held;
    }
    return undefined;
  }

  #idle(views: ViewsByName): Set<string> {
    const idle = this.#projections.filter(({ name, version }) => views[name]?.current?.version !== version);
    return new Set(idle.map(projectionId));
  }

  #current(): Promise<ViewsByName> {
    const now = this.#clock.monotonic();
    if (this.#known && now - this.#known.at < this.#refreshMs) return this.#known.views;
    const views = this.#views.adopt(this.#projections);
    // From when it was asked: what it says may be as old as that, and no older but for the read lag.
    const known = { at: now, views };
    this.#known = known;
    views.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return views;
  }
}
