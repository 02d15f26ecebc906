import { createHmac, timingSafeEqual } from 'node:crypto';
import { AmqpRefusal } from './refusal.ts';

export type Right = 'Send' | 'Listen';

/** A shared access policy. */
export interface AccessKey {
  readonly name: string;
  readonly key: string;
  readonly rights: readonly Right[];
}

/** The rights of a connection by its tokens: the path of an entity (`hub/…`) with rights and end. */
export class Claims {
  readonly #granted = new Map<string, { rights: readonly Right[]; until: number }>();

  /**
   * Accepts a shared access signature for `audience` (`sb://host:port/hub/…`).
   * @throws AmqpRefusal if no known key has signed it, it is for another audience, or it has expired
   */
  put(audience: string, token: unknown, type: unknown, keys: readonly AccessKey[]): void {
    if (type !== 'servicebus.windows.net:sastoken' || typeof token !== 'string')
      throw unauthorized(`A token of type ${String(type)} is not supported here. Use a connection string.`);
    const fields = new URLSearchParams(token.replace(/^SharedAccessSignature /, ''));
    const [sr, sig, se, skn] = ['sr', 'sig', 'se', 'skn'].map((name) => fields.get(name) ?? '');
    const key = keys.find(({ name }) => name === skn);
    const signed = createHmac('sha256', key?.key ?? '')
      .update(`${encodeURIComponent(sr ?? '')}\n${se}`)
      .digest();
    const given = Buffer.from(sig ?? '', 'base64');
    if (!key || given.length !== signed.length || !timingSafeEqual(given, signed))
      throw unauthorized(`Invalid signature: the token for ${audience} is not signed by a known key.`);
    if (Number(se) * 1000 < Date.now()) throw unauthorized(`The token for ${audience} has expired.`);
    if (!audience.startsWith(sr ?? '')) throw unauthorized(`The token is for ${sr}, not for ${audience}.`);
    this.#granted.set(pathOf(audience), { rights: key.rights, until: Number(se) * 1000 });
  }

  /** @throws AmqpRefusal if no token gives that right on the entity */
  assert(right: Right, path: string): void {
    for (const [prefix, { rights, until }] of this.#granted) {
      const covers = path.toLowerCase() === prefix || path.toLowerCase().startsWith(`${prefix}/`);
      if (covers && rights.includes(right) && until > Date.now()) return;
    }
    throw unauthorized(`Unauthorized access. '${right}' claim(s) are required to perform this operation on ${path}.`);
  }
}

const pathOf = (audience: string): string =>
  audience
    .replace(/^[a-z]+:\/\/[^/]*\//, '')
    .replace(/\/\$management$/, '')
    .toLowerCase();

const unauthorized = (why: string): AmqpRefusal => new AmqpRefusal('amqp:unauthorized-access', why);
