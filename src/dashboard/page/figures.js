// What pages derive from the status that the stream sends.
import { placesOf } from './api.js';

/**
 * The hosts of all places, with their leases in all of them. A process that hosts several places reports itself to each,
 * with everything that it does; it counts once.
 */
export function hostsOf(status) {
  const hosts = new Map();
  for (const { place, value } of placesOf(status))
    for (const { owner, leases, status: of } of value?.hosts ?? []) {
      const name = of ? `${owner} ${of.startedAt}` : `${place} ${owner}`;
      const known = hosts.get(name);
      const later = known?.status && known.status.at > of.at ? known.status : of;
      hosts.set(name, { name, owner, leases: (known?.leases ?? 0) + leases, status: later });
    }
  return [...hosts.values()];
}

/** All ranges, with the host that owns them. */
export const rangesOf = (status) =>
  hostsOf(status).flatMap(({ name, owner, status: of }) =>
    (of?.ranges ?? []).map((range) => ({ owner, ...range, name: `${name} ${range.container} ${range.lease}` })),
  );

/** The sum of a figure; null if none is known. */
export function sumOf(values) {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === 0 ? null : known.reduce((all, one) => all + one, 0);
}

/** What hosts report of each tenant, added up, and its dead letters in all places; the costliest first. */
export function tenantsOf(status) {
  const letters = placesOf(status).flatMap(({ value }) =>
    (value?.tenants?.tenants ?? []).map(({ tenant, deadLetters }) => ({ tenant, changes: 0, charge: 0, deadLetters })),
  );
  const reports = hostsOf(status).flatMap(({ status: of }) =>
    (of?.tenants?.tenants ?? []).map(({ tenant, changes, charge }) => ({ tenant, changes, charge, deadLetters: 0 })),
  );
  return [...Map.groupBy([...letters, ...reports], ({ tenant }) => tenant)]
    .map(([tenant, of]) => ({
      tenant,
      changes: sumOf(of.map(({ changes }) => changes)),
      charge: sumOf(of.map(({ charge }) => charge)),
      deadLetters: sumOf(of.map(({ deadLetters }) => deadLetters)),
    }))
    .toSorted((a, b) => b.charge - a.charge);
}

/**
 * The sources of all places. What a shard reads of the global place is no source of a place: each shard has leases of its
 * own for it, of which hosts report the ranges alone. They know how many changes are left, and not how old the oldest is.
 */
export function sourcesOf(status) {
  const own = placesOf(status).flatMap(({ place, value }) =>
    (value?.sources ?? []).map((of) => ({ ...of, name: place ? `${place}/${of.container}` : of.container })),
  );
  const known = new Set(own.map(({ name }) => name));
  const read = rangesOf(status).filter(({ container }) => container.includes('/') && !known.has(container));
  const others = [...Map.groupBy(read, ({ container }) => container)].map(([name, of]) => {
    const leases = [...new Map(of.map((range) => [range.lease, range.lag])).values()];
    const left = leases.includes(null) ? null : sumOf(leases);
    return {
      name,
      container: name.split('/').at(-1),
      leases: leases.length,
      lag: left === null ? { known: false } : { known: true, changes: left, ageMs: null },
      troubled: [],
    };
  });
  return [...own, ...others];
}

/** The lag of all sources together, or of one container in all places; unknown if one is. `ageMs` is null if it is not known. */
export function lagOf(status, container) {
  const lags = sourcesOf(status)
    .filter((source) => container === undefined || source.container === container)
    .map(({ lag }) => lag);
  if (lags.length === 0 || lags.some(({ known }) => !known)) return null;
  const unknown = lags.some(({ changes, ageMs }) => changes > 0 && ageMs === null);
  return {
    known: true,
    changes: sumOf(lags.map(({ changes }) => changes)),
    ageMs: unknown ? null : Math.max(...lags.map(({ ageMs }) => ageMs ?? 0)),
  };
}

/** Changes that each projection's hosts applied since they started: { id: changes }. */
export function appliedBy(status) {
  const applied = new Map();
  for (const { status: of } of hostsOf(status))
    for (const { projection, changes } of of?.projections ?? [])
      applied.set(projection, (applied.get(projection) ?? 0) + changes);
  return applied;
}

/** RU a change of each projection, of all changes that its hosts applied: { id: RU }. */
export function costsOf(status) {
  const reports = hostsOf(status).flatMap(({ status: of }) => of?.projections ?? []);
  const applied = appliedBy(status);
  const costs = new Map();
  for (const { projection, changes, ruPerChange } of reports)
    if (changes > 0)
      costs.set(projection, (costs.get(projection) ?? 0) + (ruPerChange * changes) / applied.get(projection));
  return costs;
}

/** Rates from what was applied at two times: the stream's own measure, quicker than the hosts' windows. */
export class Speeds {
  #samples = [];

  add(at, status) {
    this.#samples.push({ at, applied: appliedBy(status) });
    while (this.#samples.length > 2 && at - this.#samples[0].at > 15_000) this.#samples.shift();
  }

  /** Changes a second of a projection; null: not known yet. */
  of(projection) {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    const [before, now] = [first?.applied.get(projection), last?.applied.get(projection)];
    if (before === undefined || now === undefined || last.at === first.at) return null;
    return Math.max(0, (1000 * (now - before)) / (last.at - first.at));
  }

  all() {
    const ids = [...(this.#samples.at(-1)?.applied.keys() ?? [])];
    return sumOf(ids.map((id) => this.of(id)));
  }
}
