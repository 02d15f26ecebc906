// The function app. "main" of package.json names the built file. You can register functions of your own here too.
import { functionApp } from 'millrace/functions';

await functionApp({ root: new URL('../', import.meta.url) });
