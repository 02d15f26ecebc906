import type { UsageError } from '../../base/errors.ts';
import { feedError } from '../errors.ts';

export const processorStopped = (what: string): UsageError =>
  feedError('processor-stopped', `A processor that was stopped ${what}`);
