/** What tempts: each leaves one step out, or does it elsewhere. */
export const MOVE_MISTAKES = [
  'the shard is part of the identity',
  'the epoch is raised at the flip',
  'running tenures are not waited for',
  'a copy has a version of its own',
  'the source is deleted at the clean-up',
  'the clean-up waits for no host',
  'derived documents are copied',
  'a deletion by a move reaches the global sink',
  'reactions take moves for events',
  'a copy is copied on as it is',
  'a marker has the epoch in which it is read',
  'an epoch is raised while a source is not acknowledged',
  'a cancelled copy is removed as of the target',
  'a document is renewed before its hosts had it',
  'stragglers are not followed',
  'a straggler replaces what was written since',
  'copies keep their version after the flip',
  'a silent router is waited for while writes wait',
  'the mapping moves without a last look',
  'leases are rewound while keys move',
  'a slow mover flips what was brought back',
  'a sweep takes documents of keys that left',
  'cold documents of a side get no marker',
  'letters stay where they were',
  'letters go before hosts have acknowledged',
  'a change by a move settles the letter',
  'a redrive takes a copy for a newer version',
  'what is set aside is not waited for',
  'sweeps are not waited for',
  'records of sweeps are read at once',
] as const;
/** A few histories of some thousand find them: they are tried when many are asked for. */
export const RARE_MISTAKES = [
  'a later epoch is a later version',
  'a cold copy has the version that was archived',
  'a cold copy goes before its hosts had it',
  'a copy of a move leaves the entry',
  'a cancelled move needs no later end of the feed',
] as const;
/** Of moves beside erasures. */
export const ERASE_MISTAKES = [
  'an erasure looks for no move',
  'a move begins beside an erasure',
  'an erasure works where the map has the tenant',
  'an erasure waits for nothing before it removes',
  'an erasure lists documents after its wait',
  'a sweep looks at no erasure',
] as const;
export type MoveMistake = (typeof MOVE_MISTAKES | typeof RARE_MISTAKES | typeof ERASE_MISTAKES)[number];
