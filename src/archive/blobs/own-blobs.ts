// Which blobs of a store are a place's own, where several places share it.
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import { prefixOf } from './layout.ts';
import type { ListedManifest } from './manifests.ts';
import type { Archive } from '../types.ts';

type IsOwn = (blob: string) => boolean;
type Readable = Extract<ListedManifest, { readonly manifest: unknown }>;

/** The blobs that have documents which are archived in this place; all, if the store is its own. */
export async function ownBlobs(
  { shared, spec, stateContainer, access }: Pick<Archive, 'shared' | 'spec' | 'stateContainer' | 'access'>,
  signal: AbortSignal,
): Promise<IsOwn> {
  if (!shared) return () => true;
  const names = new Set(await new Entries(stateContainer).blobs(prefixOf(spec), access(untilStopped(signal))));
  return (name) => names.has(name);
}

/** A manifest with the blobs of this place. Undefined: it lists others only. */
export function ownOf({ place, manifest }: Readable, isOwn: IsOwn): Readable | undefined {
  const blobs = manifest.blobs.filter(({ name }) => isOwn(name));
  if (blobs.length === 0 && manifest.blobs.length > 0) return undefined;
  return { place, manifest: { ...manifest, blobs } };
}
