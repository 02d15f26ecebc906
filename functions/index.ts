// The function app: the host imports this file, named by "main" in package.json, and asks what it registered.
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../src/base/package.ts';
import { registerFunctions } from '../src/host/functions-app.ts';
import { openWorkspace } from '../src/host/workspace.ts';

await registerFunctions(openWorkspace({ directory: fileURLToPath(packageRoot) }));
