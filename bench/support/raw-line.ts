import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer as far as it was looked at: every byte of its body has come, and none was parsed. */
export interface RawAnswer {
  readonly status: number;
  /** The value of a header, its name in lower case; empty where there is none. */
  header(name: string): string;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
// What the SDK sends with each request beside what it means.
const USUAL = [
  'accept: application/json',
  'cache-control: no-cache',
  'x-ms-version: 2020-07-15',
  'x-ms-documentdb-query-enablecrosspartition: true',
  'x-ms-documentdb-responsecontinuationtokenlimitinkb: 1',
  'x-ms-cosmos-sdk-supportedcapabilities: 1',
  'x-ms-cosmos-allow-tentative-writes: true',
];

/**
 * One connection to a Cosmos DB server that sends signed GETs one after another: the least that a client can cost, so
 * that what is measured is the server.
 */
export class RawLine implements Disposable {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #key: Buffer;
  #head: Buffer | undefined;
  #answer: RawAnswer | undefined;
  #missing = 0;
  #settle: ((answer: RawAnswer) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(socket: Socket, host: string, key: string) {
    this.#socket = socket.setNoDelay(true);
    this.#host = host;
    this.#key = Buffer.from(key, 'base64');
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => this.#fail?.(new Error('The server closed the connection')));
    socket.on('error', (error) => this.#fail?.(error));
  }

  static async open({ endpoint, key }: { endpoint: string; key: string }): Promise<RawLine> {
    const { hostname, port, host } = new URL(endpoint);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawLine(socket, host, key);
  }

  /** @param link what is signed: the item's, or of a feed the container's; `path` is the request's */
  get(path: string, link: string, headers: readonly string[]): Promise<RawAnswer> {
    const date = new Date().toUTCString();
    const text = `get\ndocs\n${link}\n${date.toLowerCase()}\n\n`;
    const signature = createHmac('sha256', this.#key).update(text).digest('base64');
    const lines = [
      `GET /${path} HTTP/1.1`,
      `host: ${this.#host}`,
      ...USUAL,
      `x-ms-date: ${date}`,
      `authorization: ${encodeURIComponent(`type=master&ver=1.0&sig=${signature}`)}`,
      ...headers,
    ];
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
    });
  }

  [Symbol.dispose](): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#answer) this.#missing -= chunk.length;
    else {
      this.#head = this.#head ? Buffer.concat([this.#head, chunk]) : chunk;
      const end = this.#head.indexOf(END_OF_HEAD);
      if (end === -1) return;
      this.#answer = answerOf(this.#head.toString('latin1', 0, end));
      this.#missing = Number(this.#answer.header('content-length')) - (this.#head.length - end - END_OF_HEAD.length);
      this.#head = undefined;
    }
    if (this.#missing > 0) return;
    const answer = this.#answer;
    this.#answer = undefined;
    this.#settle?.(answer);
  }
}

function answerOf(head: string): RawAnswer {
  return {
    status: Number(head.slice(9, 12)),
    header: (name) => new RegExp(`\r\n${name}: ([^\r]*)`, 'i').exec(head)?.[1] ?? '',
  };
}
