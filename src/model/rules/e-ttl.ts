// E7 and E8: time to live.
import type { Place } from '../model.ts';
import { declaredOf } from './declared.ts';
import { type Rule, DESIGN, SOURCES, more, n, together } from './rule.ts';
import { isSaid } from './said.ts';

const TTL = SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB');

const TTL_SET = /\bTTL\b[^.|]{0,40}\b(?:configured|enabled|set)\b/i;

const lasting = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value !== 0 && value >= -1;

export const LIVES: readonly Rule[] = [
  {
    id: 'E7',
    title: 'ttl is a number of seconds, and the container has a default TTL',
    severity: 'error',
    source: `${TTL}; the modelling prompt is wrong here`,
    why: 'ttl is the number of seconds since the last write: −1, or 1 to 2,147,483,647. The prompt suggests a Unix time or an ISO string, but these don’t work. An item’s ttl has an effect only if the container has a default TTL.',
    hint: 'Write seconds. Add a default TTL to the container, -1 if only some items expire.',
    needs: [DESIGN],
    *check(facts) {
      const unset: { readonly name: string; readonly at: Place }[] = [];
      const bare: { name: string; type: string; at: Place; fields: readonly Place[] }[] = [];
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
  {
    id: 'E8',
    title: 'The design doesn’t rely on the immediate deletion of expired documents',
    severity: 'warning',
    source: `${TTL}; the modelling prompt is wrong here`,
    why: 'Cosmos DB hides an expired item immediately, but deletes it in the background with unused RU. So its bytes may remain, which matters for security and for space.',
    hint: 'Delete the document by a request. Or encrypt it and destroy the key.',
    *check({ prose }) {
      const within =
        /\b(ttl|time to live|expir\w+)\b[^.;]{0,60}\b(physically|permanently|immediately|instantly|within (a few )?seconds|at once)\b[^.;]{0,30}\b(delet|remov|purg|gone|eras)/i;
      const removed =
        /\b(ttl|expir\w+)\b[^.;]{0,60}\b(delet|remov|purg|eras)\w*[^.;]{0,20}\b(within (a few )?seconds|immediately|instantly|physically|at once)\b/i;
      for (const { text, label, at } of prose) {
        const all = `${label ?? ''} ${text}`;
        if (
          (within.test(all) || removed.test(all)) &&
          !/\b(not|never|later|hidden|hides?|before physical\w*)\b/i.test(all)
        )
          yield { message: 'An expired document is hidden immediately, but deleted later, when RU are unused', at };
      }
    },
  },
];
