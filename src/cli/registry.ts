import { verbs } from '../host/registry.ts';
import { Registry } from '../verbs/registry.ts';
import { modelProve } from '../testing/prove/operation.ts';
import { mcp } from './mcp/mcp.operation.ts';
import { schema } from './schema/schema.operation.ts';

/** Every verb of the command line. A deployment has those of `host/registry.ts`. */
export const everyOperation: Registry = new Registry([...verbs, modelProve, mcp(() => everyOperation), schema]);
