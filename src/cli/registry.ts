import { registry } from '../host/registry.ts';
import { Registry } from '../operations/registry.ts';
import { modelProve } from '../testing/prove/operation.ts';
import { mcp } from './mcp/mcp.operation.ts';
import { schema } from './schema/schema.operation.ts';
import { top } from './top/top.operation.ts';

/** Every verb of the command line. A deployment has those of `host/registry.ts`. */
export const everyOperation: Registry = new Registry([
  ...registry.all(),
  modelProve,
  mcp(() => everyOperation),
  top(),
  schema,
]);
