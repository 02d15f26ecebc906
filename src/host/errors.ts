import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const HOST_ERRORS = {
  'dev-restart': {
    meaning: 'A changed pipeline needs a server, or another name, that the running `millrace dev` does not have.',
    hint: 'Stop `millrace dev` and start it again. The pipeline before runs on until then.',
    usage: true,
  },
  'dev-version': {
    meaning:
      'A changed pipeline can’t go on with the data of the running `millrace dev`, by the rules of versions of projections.',
    hint: 'Declare the change as a new version, or start `millrace dev` again with new data.',
    usage: true,
  },
  'dev-shards': {
    meaning:
      '`millrace dev` was called with `--shards` for a pipeline that is not over shards, or without it for one that is.',
    hint: 'Give --shards, the number of embedded databases, exactly if the pipeline declares `shards`.',
    usage: true,
  },
  'app-place-missing': {
    meaning: 'A function app of a pipeline over shards doesn’t say which place it works on.',
    hint: 'Deploy an app for each shard and one for the global place. Set SHARD_DATABASE of each to the database of its shard, or to the value of COSMOS_DATABASE. Or run the pipeline with `millrace run`, which works on all places.',
    usage: true,
  },
  'app-place-rid': {
    meaning:
      'The shards of the pipeline read containers of the global place, and SHARD_RID of a function app isn’t the `_rid` of its shard’s database, which is in the names of these leases.',
    hint: 'Set SHARD_RID to the value that the message names.',
    usage: true,
  },
  'app-place-unknown': {
    meaning: 'SHARD_DATABASE of a function app names no shard of the map.',
    hint: 'Set SHARD_DATABASE to the database of a shard, and SHARD_COSMOS or SHARD_COSMOS__accountEndpoint to its account if that isn’t the account of COSMOS.',
    usage: true,
  },
  'probes-address': {
    meaning: '`--probes` can’t listen at its address.',
    hint: 'Give another port, or stop the process that has this one; MILLRACE_PROBES_ADDRESS is the address.',
    usage: true,
  },
  'app-broken': {
    meaning: 'A file of the function app threw an error while it was imported.',
    hint: 'Fix the error that the message names. In Azure such an app has no functions, and no message says why.',
    usage: true,
  },
  'app-empty': {
    meaning: 'The function app registered no function.',
    hint: 'Call `functionApp()` of `millrace/functions`, or `app.http()` and the like of `@azure/functions`.',
    usage: true,
  },
  'app-file-unreadable': {
    meaning: 'A file of the function app (`host.json`, `local.settings.json` or `package.json`) has an error.',
    hint: 'Correct the file; the message names the place.',
    usage: true,
  },
  'app-missing': {
    meaning: 'The folder holds no function app: it has no `host.json`, or its `package.json` has no "main".',
    hint: 'Go to the folder of a function app, or write one with `millrace init`.',
    usage: true,
  },
  'app-unbuilt': {
    meaning: 'The field `main` of `package.json` matches no file.',
    hint: 'Build the app with `npm run build`.',
    usage: true,
  },
  'authentication-off': {
    meaning: '`MILLRACE_AUTH` requires signed-in callers, and App Service authentication is off.',
    hint: 'Deploy `infra/` with the parameter `entraClientId`, which switches it on.',
    usage: true,
  },
  'azurite-failed': {
    meaning: 'Azurite, the Blob Storage of a development run, did not start or ended unexpectedly.',
    hint: 'Run the command again. If Azurite fails again, give `--data` another folder.',
  },
  'azurite-missing': {
    meaning: 'The pipeline needs Blob Storage, and Azurite is not installed.',
    hint: 'Install it with `npm install --save-dev azurite@3.37.0`, or use a real account: `--account` with `STORAGE` set.',
    usage: true,
  },
  'binding-outdated': {
    meaning: 'A Cosmos DB trigger uses a property name that version 4 of the extension no longer knows.',
    hint: 'Use `connection`, `containerName` and `leaseContainerName`.',
    usage: true,
  },
  'binding-unsupported': {
    meaning: 'A Cosmos DB trigger has a `changeFeedMode` that `millrace functions start` can’t read.',
    hint: 'Run the app with Core Tools (`func start`).',
    usage: true,
  },
  'body-malformed': {
    meaning: 'The body of an HTTP request is not a JSON object.',
    hint: 'Send one JSON object, in UTF-8.',
    usage: true,
  },
  'body-too-large': {
    meaning: 'The body of an HTTP request is larger than Millrace accepts.',
    hint: 'Send only the operation’s input. Write data into containers instead.',
    usage: true,
  },
  'body-type': {
    meaning: 'The body of an HTTP request has a content type other than JSON.',
    hint: 'Send `content-type: application/json`.',
    usage: true,
  },
  'code-unloadable': {
    meaning: 'Node.js can’t load the code of the timers and the HTTP operations.',
    hint: 'Deploy a complete build on a supported Node.js. The log has the file and the reason.',
    usage: true,
  },
  'consumer-group-twice': {
    meaning:
      'Two functions read one event hub in one consumer group: each would get the events of half the partitions.',
    hint: 'Give each function its own consumer group.',
    usage: true,
  },
  'container-differs': {
    meaning: 'A deployed container differs from what the pipeline needs.',
    hint: 'Show the differences with `millrace model apply --dry-run`, or deploy `infra/` again.',
  },
  'data-folder-in-use': {
    meaning: 'Another process keeps its blobs in the data folder.',
    hint: 'End the other process, or give `--data` another folder.',
    usage: true,
  },
  'emulator-failed': {
    meaning: 'The embedded server did not start, ended unexpectedly, or failed to run a command.',
    hint: 'Start the server again. With `--data` it keeps what it had stored.',
  },
  'emulator-unreachable': {
    meaning: 'No embedded server answers at the address.',
    hint: 'Start one with `millrace emulator start`, or give its address with `--endpoint`.',
    usage: true,
  },
  'event-metadata-missing': {
    meaning: 'The Functions host delivered events without their sequence numbers.',
    hint: 'Use version 5 or later of the Event Hubs extension.',
  },
  'example-unknown': {
    meaning: 'There is no example of this name.',
    hint: 'Name one of the folders in `examples/`.',
    usage: true,
  },
  'field-unknown': {
    meaning: 'An HTTP request has a field that the operation does not know.',
    hint: 'Correct or remove the field. GET the base path to list the fields of each operation.',
    usage: true,
  },
  'function-twice': {
    meaning: 'Two functions of the app have the same name.',
    hint: 'Give each function its own name.',
  },
  'function-unknown': {
    meaning: 'The app has no function of this name.',
    hint: 'List the functions with `millrace functions start --list`.',
  },
  'init-documents': {
    meaning: '`millrace init --from` names a folder without `cosmosdb_data_model.md`.',
    hint: 'Name the folder of the two modelling documents, or one of the documents.',
    usage: true,
  },
  'init-install': {
    meaning: 'The project is written, but npm could not install its packages.',
    hint: 'Run `npm install` in the project again; npm’s own messages above say why it failed. Without a network: `npm install --offline --omit=dev`.',
  },
  'init-name': {
    meaning: 'The name of the folder can’t be the name of an npm package.',
    hint: 'Use a-z, 0-9, dashes, dots and underscores, and begin with a letter or a digit.',
    usage: true,
  },
  'init-occupied': {
    meaning: 'The place of the new project exists and is not an empty folder.',
    hint: 'Name an empty folder, or one that does not exist.',
    usage: true,
  },
  'init-unwritable': {
    meaning: 'The files of the new project can’t be written.',
    hint: 'Check the permissions of the folder and the free space on the disk.',
    usage: true,
  },
  'input-missing': {
    meaning: '`--input` is missing, or names a file that does not exist.',
    hint: 'Give `--input` the path of a file with one JSON document a line.',
    usage: true,
  },
  'input-unloadable': {
    meaning: 'The pipeline’s `input.ts` or `workload.ts` can’t be imported, or exports something invalid.',
    hint: 'Export `async function* load({ seed })` that yields steps.',
    usage: true,
  },
  'moving-nothing': {
    meaning: 'The `whileMoving` of `workload.ts` changes no document of the tenant that `millrace dev --shards` moves.',
    hint: 'Name a sharded container, and return a changed document for those that may change.',
    usage: true,
  },
  'into-missing': {
    meaning: '`--into` is missing, or is not of the form Container/type.',
    hint: 'Name the container and the type of the documents, for example `--into Orders/order`.',
    usage: true,
  },
  'into-unknown': {
    meaning: 'The model has no such container or type as `--into` names.',
    hint: 'Give `--into` one of the model’s containers and types.',
    usage: true,
  },
  'lease-prefix-twice': {
    meaning: 'Two functions read one container with the same leases: each would get only a part of the changes.',
    hint: 'Give each function its own `leaseContainerPrefix`.',
    usage: true,
  },
  'load-refused': {
    meaning: 'Cosmos DB refused a document of the input.',
    hint: 'Correct the document in the input and run the command again; it resumes where it stopped.',
  },
  'method-wrong': {
    meaning: 'A GET request names an operation that changes something.',
    hint: 'Send it as POST, with the operator’s key.',
    usage: true,
  },
  'operation-unknown': {
    meaning: 'This build has no operation of this name.',
    hint: 'Correct the name; for a job, deploy its worker and its sender from the same build.',
    usage: true,
  },
  'plan-missing': {
    meaning: 'The operation has no dry run.',
    hint: 'Leave out `dryRun`.',
    usage: true,
  },
  'port-taken': {
    meaning: 'Millrace can’t listen on the port; usually another process uses it.',
    hint: 'End the other process, or give `--port` another number (0: any free port).',
    usage: true,
  },
  'probe-unknown': {
    meaning: 'There is no health probe of this name.',
    hint: 'Name one of: live, ready.',
    usage: true,
  },
  'query-unknown': {
    meaning: 'The query of an HTTP request has a parameter where none is accepted.',
    hint: 'Remove the parameter; POST takes its input as a JSON object in the body.',
    usage: true,
  },
  'rejects-unwritable': {
    meaning: 'The file of rejected lines can’t be written.',
    hint: 'Run the command in a folder that you may write to, or name one with `--data`.',
    usage: true,
  },
  'role-missing': {
    meaning: 'The caller of an HTTP request lacks the app role for it.',
    hint: 'Assign it in Microsoft Entra ID: Enterprise applications → this application → Users and groups.',
    usage: true,
  },
  'schedule-invalid': {
    meaning: 'The schedule of a timer is not a valid NCRONTAB expression.',
    hint: 'Write six fields: second, minute, hour, day, month, day of the week; for example `0 */5 * * * *`.',
    usage: true,
  },
  'settings-encrypted': {
    meaning: '`local.settings.json` is encrypted.',
    hint: 'Decrypt it with `func settings decrypt`.',
    usage: true,
  },
  'shutting-down': {
    meaning: 'The function app is shutting down and takes no more work.',
    hint: 'Try again; another instance takes the work.',
    retryable: true,
  },
  unauthenticated: {
    meaning: 'The caller of an HTTP request is not signed in.',
    hint: 'Send a bearer token for this application beside the key.',
    usage: true,
  },
  unexpected: {
    meaning: 'An error without a code of Millrace: from a library, the runtime or your own code.',
    hint: 'Read the message; the log may have more.',
  },
  'tables-unready': {
    meaning: 'Hosts can’t write a table, so the changes of its source wait.',
    hint: 'Run `millrace doctor`: it names each fault of the tables with its remedy.',
  },
  'worker-ended': {
    meaning: 'The process of the function app ended before the app had started.',
    hint: 'Read the lines that the app wrote before it ended.',
  },
} as const satisfies ErrorCatalogue;

export type HostErrorCode = keyof typeof HOST_ERRORS;

export const hostError = errorsOf(HOST_ERRORS);
