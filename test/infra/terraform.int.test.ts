// The module of infra/terraform over what `model infra` writes. Its provider isn't to be had here, so Terraform evaluates it
// with a resource that is built in, whose input is what the provider would be given.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Value, at, bicepFiles, declarations } from './bicep.ts';

const ROOT = join(import.meta.dirname, '../..');
const MODULE = readFileSync(join(ROOT, 'infra/terraform/main.tf'), 'utf8');
const ACCOUNT = '/subscriptions/S/resourceGroups/R/providers/Microsoft.DocumentDB/databaseAccounts/a';
const hasTerraform = spawnSync('terraform', ['version']).status === 0;

interface Planned {
  readonly type: string;
  readonly name: string;
  readonly parent_id: string;
  readonly body: { readonly properties: Record<string, unknown> };
}

function planned(variables: object): Planned[] {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-terraform-'));
  const terraform = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('terraform', args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`terraform ${args[0]}: ${stdout}${stderr}`);
    return stdout;
  };
  try {
    const builtIn = MODULE.replace(/^ {2}required_providers.*\n/m, '')
      .replaceAll('azapi_resource', 'terraform_data')
      .replace(/^(resource "terraform_data"[^]*?)^ {2}(type[^]*?)^}$/gm, '$1  input = {\n$2}\n}');
    writeFileSync(join(folder, 'main.tf'), builtIn);
    const pipeline = { pipeline_file: 'pipeline.json', account_id: ACCOUNT, ...variables };
    writeFileSync(join(folder, 'pipeline.json'), readFileSync(join(ROOT, 'infra/pipeline.json')));
    writeFileSync(join(folder, 'terraform.tfvars.json'), JSON.stringify(pipeline));
    terraform('init', '-no-color');
    terraform('plan', '-no-color', '-input=false', '-out=plan');
    const { planned_values: values } = JSON.parse(terraform('show', '-json', 'plan')) as {
      planned_values: { root_module: { resources: { values: { input: Planned } }[] } };
    };
    return values.root_module.resources.map((of) => of.values.input);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('the module of Terraform has at most 60 lines, and says that it was not run', () => {
  expect(MODULE.split('\n').length - 1).toBeLessThanOrEqual(60);
  expect(MODULE).toContain('# NOT RUN:');
});

it.skipIf(!hasTerraform)('the module of Terraform makes the containers that Bicep makes, and the same roles', () => {
  const made = planned({ principals: { app: 'P', applier: 'Q' }, scopes: { resourceGroup: '/subscriptions/S/g' } });
  const file = bicepFiles().find((of) => of.file === 'modules/containers.bicep')!;
  const wanted = declarations(file, 'resource').flatMap(({ body }) => at(body, 'properties.resource') ?? []);
  const ofType = (type: string) => made.filter((of) => of.type.startsWith(`Microsoft.${type}@`));
  const containers = ofType('DocumentDB/databaseAccounts/sqlDatabases/containers');
  const byId = new Map(containers.map(({ name, body }) => [name, body.properties['resource']]));
  const resources = wanted.filter((of): of is object & Value => typeof of === 'object' && of !== null && 'id' in of);
  expect([...byId.values()]).toEqual(expect.arrayContaining(resources));
  expect(byId.size).toBe(resources.length);
  const optionsOf = (id: string) => containers.find(({ name }) => name === id)?.body.properties['options'];
  expect([optionsOf('Catalog'), optionsOf('leases')]).toEqual([{ autoscaleSettings: { maxThroughput: 2_000 } }, {}]);
  expect(containers.map((of) => of.parent_id)).toContain(`${ACCOUNT}/sqlDatabases/storefront`);
  // No principal was given for the router, and no storage for the app.
  expect(ofType('DocumentDB/databaseAccounts/sqlRoleAssignments').map(({ body }) => body.properties)).toEqual([
    {
      principalId: 'P',
      scope: `${ACCOUNT}/dbs/storefront`,
      roleDefinitionId: `${ACCOUNT}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002`,
    },
  ]);
  expect(
    ofType('Authorization/roleAssignments').map((of) => [of.parent_id, of.body.properties['principalId']]),
  ).toEqual([['/subscriptions/S/g', 'Q']]);
});

it.skipIf(!hasTerraform)('the module of Terraform gives a serverless account no throughput', () => {
  const made = planned({ principals: {}, serverless: true });
  expect(made.length).toBeGreaterThan(10);
  for (const { body } of made) expect(body.properties['options'] ?? {}).toEqual({});
});
