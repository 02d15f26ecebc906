import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Started } from './toolchains.ts';

/** A client that asks for ever is ended. */
const LIMIT_MS = 15 * 60_000;

/** What a judge says of one thing that it tried. */
const verdict = z.object({
  check: z.string(),
  counts: z.record(z.string(), z.number()),
  /** Each difference from what had to be. */
  wrong: z.array(z.string()),
});
export type Verdict = z.output<typeof verdict>;

/** What a judge asks others for, by name; the rest is for whoever answers. */
const request = z.looseObject({ turn: z.string() });
export type Request = z.output<typeof request>;

/**
 * Runs a judge to its end: its lines of JSON are verdicts, or requests that `answer` carries out while it waits.
 * That a judge failed, said nothing or something else is a verdict too.
 */
export async function verdicts(
  { command, args }: Started,
  env: Readonly<Record<string, string>>,
  answer: (request: Request) => Promise<object>,
): Promise<Verdict[]> {
  const child = spawn(command, args, { stdio: 'pipe', timeout: LIMIT_MS, env: { ...process.env, ...env } });
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4_000)));
  const found: Verdict[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const parsed: unknown = JSON.parse(line);
      const asked = request.safeParse(parsed);
      if (asked.success) child.stdin.write(`${JSON.stringify(await answer(asked.data))}\n`);
      else found.push(verdict.parse(parsed));
    }
  } catch (error) {
    child.kill();
    found.push({ check: 'what was said and asked for', counts: {}, wrong: [String(error)] });
  }
  const [code, signal] = await ended;
  if (code !== 0 || found.length === 0) {
    const end = `It ended with ${code ?? signal} after ${found.length} checks: ${said.trim()}`;
    found.push({ check: 'the judge itself', counts: {}, wrong: [end] });
  }
  return found;
}
