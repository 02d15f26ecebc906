import type { Call } from './watched.ts';

/** A place where the change passes through: it is entered from another file, and waits there or hands the change on. */
export interface Stop {
  readonly file: string;
  readonly name: string;
}

/** From the page that holds the change to the write that stores its position. */
export function stopsOf(all: readonly Call[]): Stop[] {
  // The position alone is on the way where it comes of handling the change; what reads on behind it has it too.
  const handled = (call: Call | undefined): boolean =>
    call !== undefined && (call.carriesChange || handled(call.caller));
  const calls = all.filter((call) => call.carries && handled(call));
  const through = new Set(calls.filter(({ waits }) => waits));
  for (const call of through) for (let up = call.caller; up; up = up.caller) if (up.carries) through.add(up);

  const from = (call: Call): Call | undefined => {
    let up = call.caller;
    while (up && !through.has(up)) up = up.caller;
    return up;
  };
  const stops = calls.filter((call) => through.has(call) && from(call)?.file !== call.file);
  const first = stops.findIndex(({ file }) => file.startsWith('src/feed/reading/'));
  const last = stops.findIndex(({ file }) => file.startsWith('src/feed/leases/'));
  return stops.slice(first, last + 1).map(({ file, name }) => ({ file, name }));
}
