import { Worker, isMainThread } from 'node:worker_threads';
import { BEATS, pulse, userPlace } from '../base/user-code.ts';

/** Seconds without a heartbeat and without another call of the user's code, after which signals end the process. */
const STUCK_S = 2;
/** The same, after which the watchdog speaks. */
const SILENT_S = 5;
const BEAT_MS = 500;
const LOOK = Symbol.for('millrace.watchdog');

/**
 * Its own words, so that a bundle needs no file. It counts its ticks instead of measuring time: a suspended machine
 * suspends both threads. What it asks of the main thread is answered in the middle of a loop.
 */
const THREAD = `
const { Session } = require('node:inspector');
const { writeSync } = require('node:fs');
const { workerData: { pulse, after } } = require('node:worker_threads');
let [seen, ticks] = ['', 0];
setInterval(() => {
  const now = pulse.join();
  ticks = now === seen ? ticks + 1 : 0;
  seen = now;
  if (!after.includes(ticks)) return;
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: 'globalThis[Symbol.for("millrace.watchdog")](' + ticks + ')' }, (_, answer) => {
    session.disconnect();
    const line = answer?.result?.value;
    if (line) writeSync(2, line + '\\n');
  });
}, 1000);`;

/** The listeners of signals, which a thread that doesn't return can't run. */
export interface Signals {
  on(): void;
  off(): void;
}

let watched = false;

/**
 * Watches this thread from another one: if a function of the user does not return for `SILENT_S`, a line on standard
 * error names it. Already earlier, and until it returns, a signal ends the process without asking it.
 */
export function startWatchdog(signals: Signals): void {
  // Vitest runs its tests in threads, and the session above is one with the main thread.
  if (watched || !isMainThread) return;
  watched = true;
  let off = false;
  const look = (seconds: number): string => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 100;
    const { stack = '' } = new Error();
    Error.stackTraceLimit = stackTraceLimit;
    const { call, frame } = userPlace(stack);
    if (!call && !frame) return '';
    if (!off) signals.off();
    off = true;
    if (seconds < SILENT_S) return '';
    const place = `${call ?? frame?.name ?? 'A function'}${frame ? ` (${frame.place})` : ''}`;
    return `${place} has not returned for ${seconds} s, and this process does nothing else meanwhile. Ctrl-C ends it at once.`;
  };
  Reflect.set(globalThis, LOOK, look);
  setInterval(() => {
    Atomics.add(pulse, BEATS, 1);
    if (!off) return;
    off = false;
    signals.on();
  }, BEAT_MS).unref();
  new Worker(THREAD, { eval: true, workerData: { pulse, after: [STUCK_S, SILENT_S] } }).unref();
}
