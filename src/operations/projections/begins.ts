import type { Start } from '../../engine/views/starts.ts';

/** Where a projection begins, for tables and sentences: `now` is the time that it was. */
export const sayBegin = ({ start, at }: Start): string => (start === 'now' ? at : start);
