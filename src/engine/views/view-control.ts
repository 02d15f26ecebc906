import { type Clock, systemClock } from '../../base/clock.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { Page } from '../../feed/reading/change.ts';
import type { Fence } from '../../feed/tenure/fence.ts';
import { endKept, isApplied } from './kept.ts';
import { type ViewsHeld, pausedBy, viewHeldBy } from './held.ts';
import type { Declares, Views, ViewsByName } from './views.ts';

export interface ViewControlOptions {
  /** How long it uses the views that it has read, milliseconds. Default VIEWS_REFRESH_MS. */
  readonly refreshMs?: number;
  readonly clock?: Clock;
}

/**
 * While a host has pages to apply, it reads the views at least this often. A process that changes a view waits for this
 * time and the read lag.
 */
export const VIEWS_REFRESH_MS = 2_000;
/** The longest that a page waits. Then it is given up and read again. */
const PATIENCE_MS = 20_000;

/** Decides which versions apply a page, and makes the page wait while a projection is paused or promoted. */
export class ViewControl {
  readonly #views: Views;
  readonly #pipeline: Declares;
  readonly #versions: ReadonlySet<string>;
  readonly #refreshMs: number;
  readonly #clock: Clock;
  /** As the last page was admitted by them. */
  #admitted: ViewsByName | undefined;
  #known: { readonly at: number; readonly views: Promise<ViewsByName> } | undefined;

  constructor(views: Views, pipeline: Declares, options: ViewControlOptions = {}) {
    this.#views = views;
    this.#pipeline = pipeline;
    this.#versions = new Set(pipeline.projections.map(projectionId));
    this.#refreshMs = options.refreshMs ?? VIEWS_REFRESH_MS;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Returns the ids that must *not* apply the page: versions that are neither current nor kept. Waits while the page must wait.
   * @throws Held when the wait takes too long; the fence's errors
   */
  async admit(page: Page, fence: Fence): Promise<ReadonlySet<string>> {
    const views = await this.#unheld((known) => this.#held(known, page), fence);
    this.#admitted = views;
    await this.#endUnknown(views, page);
    return this.#idle(views);
  }

  /**
   * A kept version that this host doesn't declare misses the page, so it can no longer become current again. That is
   * stored before anything of the page is applied (REB-V27).
   */
  async #endUnknown(views: ViewsByName, { changes }: Page): Promise<void> {
    const now = this.#clock.now();
    for (const [name, { previous }] of Object.entries(views)) {
      if (
        !previous ||
        !isApplied(previous, now) ||
        this.#versions.has(projectionId({ name, version: previous.version }))
      )
        continue;
      const isRead = changes.some(({ container, type }) =>
        previous.reads.some((of) => of.container === container && (of.type === type || type === '')),
      );
      if (!isRead) continue;
      const why = `a host applied changes at ${new Date(now).toISOString()} whose pipeline does not declare it`;
      await this.#views.change(name, (view) => endKept(view, previous.version, why, now));
      this.#known = undefined;
    }
  }

  /** Whether only hosts write for a projection, as far as this host has read. */
  isHostsAlone(name: string): boolean {
    return this.#admitted !== undefined && (this.#admitted[name]?.rewriting ?? []).length === 0;
  }

  /** Waits while an ingest is paused. Throws the same errors as `admit`. */
  async admitEvents(ingest: string, fence: Fence): Promise<void> {
    await this.#unheld((views) => pausedBy(views, ingest), fence);
  }

  async #unheld(heldBecause: (views: ViewsByName) => ViewsHeld | undefined, fence: Fence): Promise<ViewsByName> {
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

  #held(views: ViewsByName, { changes }: Page): ViewsHeld | undefined {
    const types = new Map(changes.map(({ container, type }) => [`${container}/${type}`, { container, type }]));
    for (const of of types.values()) {
      const held = viewHeldBy(views, of, this.#versions, this.#clock.now());
      if (held) return held;
    }
    return undefined;
  }

  #idle(views: ViewsByName): Set<string> {
    const now = this.#clock.now();
    const idle = this.#pipeline.projections.filter(({ name, version }) => {
      const { current, previous = null } = views[name] ?? {};
      return current?.version !== version && !(previous?.version === version && isApplied(previous, now));
    });
    return new Set(idle.map(projectionId));
  }

  #current(): Promise<ViewsByName> {
    const now = this.#clock.monotonic();
    if (this.#known && now - this.#known.at < this.#refreshMs) return this.#known.views;
    const views = this.#views.adopt(this.#pipeline);
    // Its age counts from the request: the answer is not older than that, apart from the read lag.
    const known = { at: now, views };
    this.#known = known;
    views.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return views;
  }
}
