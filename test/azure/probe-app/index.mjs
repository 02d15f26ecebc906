// What a host does with a Cosmos DB trigger, for test/azure/func-start.ts: each delivery is a line of PROBE_FILE.
import { appendFileSync } from 'node:fs';
import { app } from '@azure/functions';

app.cosmosDB('probe', {
  connection: 'COSMOS',
  databaseName: '%COSMOS_DATABASE%',
  containerName: 'Probed',
  leaseConnection: 'COSMOS',
  leaseDatabaseName: '%COSMOS_DATABASE%',
  leaseContainerName: 'leases',
  leaseContainerPrefix: 'probe.',
  createLeaseContainerIfNotExists: false,
  startFromBeginning: true,
  // Without a retry policy: what happens behind a failure is what is asked.
  handler: (documents) => {
    appendFileSync(process.env.PROBE_FILE ?? '', `${JSON.stringify(documents)}\n`);
    if (documents.some(({ fails }) => fails)) throw new Error('This document fails.');
  },
});
