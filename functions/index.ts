// The function app: the host imports this file, named by "main" in package.json, and asks what it registered.
import { functionApp } from '../src/host/functions/function-app.ts';

await functionApp({ root: new URL('../', import.meta.url) });
