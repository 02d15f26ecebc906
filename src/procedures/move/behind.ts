// Why leases may stand still: those that a version of a projection has for itself belong to no host that always runs.

export interface OwnLeases {
  /** `summaries@2`. */
  readonly projection: string;
  readonly why: string;
  /** What moves them on, or removes them. */
  readonly remedy: string;
  /** No host works with them, or will until the version is promoted or dropped. */
  readonly isStaged: boolean;
}

/** `PIPELINE.PROJECTION@VERSION.` or `PIPELINE.PROJECTION@VERSION.PURPOSE.` before the address of the account. */
const OWN = /(?:^|\.)([^.@]+@\d+)\.(?:([\w-]+)\.)?(?:fill\.)?$/;

/** The versions of projections that have some leases for themselves, by the names of the leases. `hostname`: of the account. */
export function ownLeases(ids: readonly string[], hostname: string): OwnLeases[] {
  const found = new Map<string, OwnLeases>();
  for (const id of ids) {
    const [, projection, purpose = ''] = OWN.exec(id.slice(0, Math.max(0, id.indexOf(`${hostname}_`)))) ?? [];
    if (projection !== undefined)
      found.set(`${projection} ${purpose}`, { projection, isStaged: purpose === '', ...remedyOf(projection, purpose) });
  }
  return [...found.values()];
}

function remedyOf(projection: string, purpose: string): Pick<OwnLeases, 'why' | 'remedy'> {
  const [name] = projection.split('@');
  if (purpose.startsWith('replay-'))
    return {
      why: 'has a replay that has not ended',
      remedy: `Run \`millrace projections replay ${name}\` with its flags again`,
    };
  if (purpose.startsWith('rebuild-'))
    return { why: 'has a rebuild that has not ended', remedy: `Run \`millrace projections rebuild ${name}\` again` };
  if (purpose === 'back')
    return {
      why: 'is on its way back to being current',
      remedy: `Run \`millrace projections promote ${name} --back\` again`,
    };
  return {
    why: 'is filled, or being filled, and not promoted',
    remedy: `Run \`millrace projections promote ${name}\`, or remove the version with \`millrace projections drop ${projection}\``,
  };
}
