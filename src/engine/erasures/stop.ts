import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import { VIEWS_REFRESH_MS } from '../views/view-control.ts';

/**
 * How long after a write no host acts any more on what it read before the write, milliseconds (ERASE-S7). A read may show
 * the state before for the read lag. A host may use what it has read for the refresh. It begins its last request within
 * the write bound, and that takes effect within the landing bound.
 */
export const stopBoundMs = (readLagMs: number, refreshMs: number = VIEWS_REFRESH_MS): number =>
  readLagMs + refreshMs + WRITE_BOUND_MS + LANDING_BOUND_MS;
