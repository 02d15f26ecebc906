// The function app: "main" of package.json names what is built of this file. Functions of your own can be registered here too.
import { functionApp } from 'millrace/functions';

await functionApp({ root: new URL('../', import.meta.url) });
