// The kinds of flags that verbs have most.
import { z } from 'zod';

export const required = (what: string) => z.string().describe(what);
export const optional = (what: string) => z.string().optional().describe(what);
/** Given without a value it would be the empty text, which names nothing. */
export const named = (what: string) => z.string().min(1).optional().describe(what);
export const flag = (what: string) => z.boolean().default(false).describe(what);
/** A number, also from the command line's text. */
export const positive = (what: string) => z.coerce.number().positive().optional().describe(what);
