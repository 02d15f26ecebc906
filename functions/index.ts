// The function app. "main" in package.json names this file; the Functions host imports it and reads what it registered.
import { functionApp } from '../src/host/functions/function-app.ts';

await functionApp({ root: new URL('../', import.meta.url) });
