// E7: time to live.
import type { SourceLine } from '../../model.ts';
import { declaredOf, isIn, linesOf } from '../declared.ts';
import { type Facts, fieldsIn } from '../facts.ts';
import { fieldsOf } from '../fields.ts';
import { type Found, type Rule, DESIGN, SOURCES, more, n, part, together } from '../rule.ts';
import { isSaid, linesSaying } from '../said.ts';

const TTL = SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB');

const TTL_SET = /\bTTL\b[^.|]{0,40}\b(?:configured|enabled|set)\b/i;

const lasting = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value !== 0 && value >= -1;

const EXPIRY = /^(expires?_?(at|on|date)|expiry_?(date|time)?|expiration_?(date|time)?)$/i;
/** Things whose end is a fact of the business; a document about them stays. */
const BUSINESS =
  /subscri|licen|polic|contract|certif|member|product|card|offer|coupon|promot|document|item|food|insur|permit|consent|campaign|plan/i;
const CLEANS =
  /\bttl\b|clean[- ]?up|purg|scheduler|\bjob\b|delet\w+ (expired|after|when)|remov\w+ (expired|after)|expired \w+ (are|is) (deleted|removed)/i;

/** A time of expiry, in documents that nothing removes. */
function* expiring(facts: Facts): Iterable<Found> {
  const { design } = facts;
  if (!design) return;
  for (const detail of facts.containers) {
    const { container } = detail;
    const names = [container.name, ...container.types.map(({ name }) => name)].join(' ');
    if (container.defaultTtl !== undefined || fieldsIn(container).has('ttl') || BUSINESS.test(names)) continue;
    const field = fieldsOf(facts, detail).find((one) => EXPIRY.test(one.field));
    const span = linesOf(design, detail);
    if (field && !linesSaying(design, CLEANS).some(([line]) => isIn(span, line)))
      yield {
        message: `${container.name}: ${field.field} deletes nothing, and the container has no TTL`,
        at: field.at,
        related: [container.at],
      };
  }
}

/** `TTL` and `timeToLive` are fields like others. */
function* misspelt(facts: Facts): Iterable<Found> {
  for (const { container } of facts.containers)
    for (const { examples, at } of container.types) {
      const one = examples.find((example) => Object.keys(example).some((field) => MISSPELT.test(field)));
      const field = one && Object.keys(one).find((name) => MISSPELT.test(name));
      if (one && field !== undefined && !('ttl' in one))
        yield {
          message: `${container.name}: ${field} has no effect; the field that Cosmos DB reads is ttl`,
          at: facts.field(one, field, at),
          hint: 'Write `ttl`, in lower case.',
        };
    }
}
const MISSPELT = /^(?:(?!ttl$)[Tt][Tt][Ll]|[Tt]ime_?[Tt]o_?[Ll]ive)$/;

export const LIVES: readonly Rule[] = [
  {
    id: 'E7',
    title: 'ttl is a number of seconds, and the container has a default TTL',
    source: `${TTL}; the modelling prompt is wrong here`,
    why: 'ttl is the number of seconds since the last write: −1, or 1 to 2,147,483,647. The prompt suggests a Unix time or an ISO string, but these don’t work. An item’s ttl has an effect only if the container has a default TTL, and only under the name `ttl`. A field such as `expiresAt` has none: codes, tokens and sessions then stay, cost storage and are found by queries.',
    hint: 'Write seconds. Add a default TTL to the container, -1 if only some items expire.',
    needs: [DESIGN],
    *check(facts) {
      yield* misspelt(facts);
      yield* part(
        expiring(facts),
        'warning',
        'Set `DefaultTimeToLive` to −1, and write the `ttl` of each document in seconds.',
      );
      const unset: { readonly name: string; readonly at: SourceLine }[] = [];
      const bare: { name: string; type: string; at: SourceLine; fields: readonly SourceLine[] }[] = [];
      for (const detail of facts.containers) {
        const { container } = detail;
        const described = facts.labelled(detail, /^(default ?)?ttl|time to live|生存时间/i);
        if (
          container.defaultTtl !== undefined &&
          (container.defaultTtl === 0 || container.defaultTtl < -1 || container.defaultTtl > 2_147_483_647)
        )
          yield {
            message: `${container.name}: a TTL of ${n(container.defaultTtl)} s isn't −1 or 1 to 2,147,483,647`,
            at: facts.place(detail, 'defaultTtl'),
          };
        if (described && /unix|epoch|iso[ -]?8601|timestamp|\d{4}-\d\d-\d\d/i.test(described.text))
          yield { message: `${container.name}: ttl is a number of seconds, not a point in time`, at: described.at };
        const declared = facts.design && declaredOf(facts.design, detail).find(({ field }) => field === 'ttl');
        if (
          facts.design &&
          declared &&
          container.defaultTtl === undefined &&
          described === undefined &&
          !isSaid(facts.design, detail, TTL_SET)
        )
          unset.push({ name: container.name, at: declared.at });
        for (const { name, examples, at: place } of container.types) {
          const at = facts.example(
            examples.find((example) => 'ttl' in example && !lasting(example['ttl'])) ??
              examples.find((example) => 'ttl' in example),
            place,
          );
          const values = examples.flatMap((example) => ('ttl' in example ? [example['ttl']] : []));
          const wrong = values.find(
            (value) =>
              typeof value !== 'number' ||
              !Number.isInteger(value) ||
              value === 0 ||
              value < -1 ||
              value > 2_147_483_647,
          );
          if (wrong !== undefined)
            yield {
              message: `${container.name}: ttl ${JSON.stringify(wrong)} of a ${name} isn't −1 or 1 to 2,147,483,647 seconds`,
              at,
            };
          else if (values.some((value) => typeof value === 'number' && value > 1_000_000_000))
            yield {
              severity: 'warning',
              message: `${container.name}: a ttl of ${n(Number(values.find((value) => Number(value) > 1_000_000_000)))} s is over 31 years: is it a point in time?`,
              at,
            };
          if (values.length > 0 && container.defaultTtl === undefined)
            bare.push({
              name: container.name,
              type: name,
              at,
              fields: examples.map((one) => facts.field(one, 'ttl', at)),
            });
        }
      }
      yield* together(
        unset,
        `${unset.map(({ name }) => name).join(', ')}: the declared ttl has no effect, because the container has no default TTL`,
      );
      const [first, ...others] = bare;
      if (first)
        yield {
          message: `${first.name}: the ttl of type ${first.type}${more(others.length)} has no effect, because the container has no default TTL`,
          at: first.at,
          related: [...others.map(({ at }) => at), ...bare.flatMap(({ fields }) => fields)],
        };
    },
  },
];
