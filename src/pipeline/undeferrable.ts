// Where a flood of one tenant delays the others (docs/SPEC-tenants.md, "Fair turns").
import { type Model, containerOf } from '../model/model.ts';
import { feedModeOf } from './all-versions.ts';
import { feedReaders, sourcesOf } from './pipeline.ts';
import type { Pipeline } from './specs.ts';
import { tenantFollowsFromKey, tenantRuleOf } from './tenant.ts';

/** Why a flood of one tenant can't be deferred, by source container. Containers that belong to no tenant are left out. */
export function withoutTurns(pipeline: Pipeline, model: Model): Map<string, string> {
  const found = new Map<string, string>();
  for (const { container: name } of feedReaders(pipeline).flatMap(sourcesOf)) {
    const rule = tenantRuleOf(pipeline, model, name);
    const container = containerOf(model, name);
    if (!rule || !container) continue;
    if (!tenantFollowsFromKey(container, rule))
      found.set(name, `its partition key ${container.partitionKey.join(', ')} doesn't have ${rule.field}`);
    else if (feedModeOf(pipeline, name) === 'all-versions') found.set(name, 'it is read by its all-versions feed');
  }
  return found;
}
