import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { messageOf } from '../../src/base/errors.ts';
import type { Started } from './toolchains.ts';

/** A judge that doesn't end is killed. */
const LIMIT_MS = 5 * 60_000;

/** What a judge says of one thing that it tried. */
const verdict = z.object({
  check: z.string(),
  counts: z.record(z.string(), z.number()),
  /** Each difference from what had to be. */
  wrong: z.array(z.string()),
});
export type Verdict = z.output<typeof verdict>;

/** What a judge asks others for, by name; the rest is for the one that answers. */
const request = z.looseObject({ turn: z.string() });
export type Request = z.output<typeof request>;

export interface Judged {
  readonly verdicts: readonly Verdict[];
  /** Why the judge didn't come to its end; absent if it did. */
  readonly broke?: string;
}

/**
 * Runs a judge to its end: its lines of JSON are verdicts, or requests that `answer` carries out while it waits. Where
 * `answer` fails, a user's command failed on the way: that is a verdict too.
 */
export async function judged(
  { command, args }: Started,
  env: Readonly<Record<string, string>>,
  answer: (request: Request) => Promise<object>,
): Promise<Judged> {
  const verdicts: Verdict[] = [];
  const child = spawn(command, args, { stdio: 'pipe', timeout: LIMIT_MS, env: { ...process.env, ...env } });
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  // A program that can't be started rejects before anything awaits it.
  ended.catch(() => undefined);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4_000)));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const parsed: unknown = JSON.parse(line);
      const asked = request.safeParse(parsed);
      if (!asked.success) {
        verdicts.push(verdict.parse(parsed));
        continue;
      }
      const reply = await answer(asked.data).catch((error: unknown) => messageOf(error));
      if (typeof reply === 'string') {
        verdicts.push({ check: `our turn: ${asked.data.turn}`, counts: {}, wrong: [reply] });
        child.kill();
        return { verdicts };
      }
      child.stdin.write(`${JSON.stringify(reply)}\n`);
    }
    const [code, signal] = await ended;
    if (code === 0 && verdicts.length > 0) return { verdicts };
    return { verdicts, broke: `The judge ended with ${code ?? signal}: ${said.trim()}` };
  } catch (error) {
    child.kill();
    return { verdicts, broke: `The judge can't be understood: ${messageOf(error)}` };
  }
}
