import { z } from 'zod';
import { packageVersion } from '../../base/package.ts';
import { type Operation, defineOperation } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import { callInThread } from './call-in-thread.ts';
import { toolsOf } from './tools.ts';

/** Only the command line has it: its standard input and output are the connection. */
export const mcp = (registry: () => Registry): Operation =>
  defineOperation({
    name: 'mcp',
    summary: 'Serve the verbs that only read as tools for an assistant: an MCP server on standard input and output',
    examples: ['millrace mcp', 'millrace mcp --pipeline examples/flights', 'millrace mcp --env production'],
    help: `Tools run pipeline.ts of the pipeline folder, and of no other folder: start it for a project whose code you would run.

Configuration of a client. The name of its file and its first key depend on the client:
  {
    "mcpServers": {
      "millrace": { "command": "npx", "args": ["millrace", "mcp"], "cwd": "/path/of/the/project" }
    }
  }`,
    shards: 'itself',
    effect: 'reads',
    lasting: true,
    input: z.object({}),
    run: async (_, { workspace, signal }) => {
      // A lazy import: no other verb needs the protocol.
      const { serveTools } = await import('./serve-tools.ts');
      // The folder of now: what a call runs doesn't follow a package.json that is edited later.
      const opened = { ...(workspace.opened ?? { directory: workspace.directory }), pipeline: workspace.folder };
      const tools = toolsOf(registry());
      await serveTools({
        tools,
        version: packageVersion(),
        run: (call, stop) => callInThread({ ...call, workspace: opened }, stop, process.stderr),
        input: process.stdin,
        output: process.stdout,
        log: process.stderr,
        signal,
      });
      return { tools: tools.length };
    },
    format: () => '',
  });
