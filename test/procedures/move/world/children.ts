import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect, HostWork } from './host-process.ts';
import type { WriterReport, WriterWork } from './writer-process.ts';

const start = (file: string, work: HostWork | WriterWork): ChildProcess =>
  fork(join(import.meta.dirname, file), [JSON.stringify(work)], {
    execArgv: ['--conditions=millrace-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });

const isAlive = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

async function end(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Host processes of all shards. One that was killed is started again. */
export class WorldHosts implements AsyncDisposable {
  readonly #work: Omit<HostWork, 'host' | 'log'>;
  readonly #folder: string;
  readonly #logs: string[] = [];
  readonly #running = new Map<string, ChildProcess>();

  constructor(work: Omit<HostWork, 'host' | 'log'>, logs: string) {
    this.#work = work;
    this.#folder = logs;
  }

  get names(): string[] {
    return [...this.#running.keys()];
  }

  /** A log for each life: a line that a kill cut off spoils no other. */
  async start(host: string): Promise<void> {
    const log = join(this.#folder, `${host}-${this.#logs.length}.jsonl`);
    this.#logs.push(log);
    const child = start('host-process.ts', { ...this.#work, host, log });
    this.#running.set(host, child);
    const exit = once(child, 'exit');
    if ((await Promise.race([once(child, 'message'), exit.then(() => undefined)])) === undefined)
      throw new Error(`The host ${host} ended before it had started`);
  }

  async kill(host: string): Promise<void> {
    await end(this.#running.get(host)!);
    await this.start(host);
  }

  effects(): Effect[] {
    return this.#logs.filter(existsSync).flatMap((log) => {
      // What follows the last line end was cut off, and its effect runs again.
      const whole = readFileSync(log, 'utf8').split('\n').slice(0, -1);
      return whole.map((line) => JSON.parse(line) as Effect);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map(end));
  }
}

/** Processes of an application. They are not killed, because they know what was acknowledged. */
export class WorldWriters implements AsyncDisposable {
  readonly #children: ChildProcess[] = [];
  readonly #last: WriterReport[] = [];
  #failed: string | undefined;
  #isOver = false;

  constructor(works: readonly WriterWork[]) {
    for (const [at, work] of works.entries()) {
      const child = start('writer-process.ts', work);
      child.on('message', (report: WriterReport) => void (this.#last[at] = report));
      child.once('exit', (code) => {
        if (!this.#isOver || code !== 0) this.#failed = `The writer ${work.name} ended with ${code}`;
      });
      this.#children.push(child);
    }
  }

  /** @throws Error if a writer has ended */
  reports(): readonly WriterReport[] {
    if (this.#failed !== undefined) throw new Error(this.#failed);
    return this.#last.filter((report) => report !== undefined);
  }

  get writes(): number {
    return this.reports().reduce((sum, { writes }) => sum + writes, 0);
  }

  async stop(): Promise<readonly WriterReport[]> {
    this.#isOver = true;
    const ends = this.#children.filter(isAlive).map((child) => once(child, 'exit'));
    for (const child of this.#children) child.send('stop');
    await Promise.all(ends);
    return this.reports();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#children.map(end));
  }
}
