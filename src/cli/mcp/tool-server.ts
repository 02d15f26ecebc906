import { type CallToolResult, Server } from '@modelcontextprotocol/server';
import { operationName } from '../../verbs/operation.ts';
import { type DescribedError, describeError } from '../describe-error.ts';
import type { Answer, Call } from './call-in-thread.ts';
import { type Tool, refuseUnknown, toolNamed } from './tools.ts';

const INSTRUCTIONS =
  'Millrace keeps data derived from Azure Cosmos DB. Every tool only reads. ' +
  'Begin with model_check for the two modelling documents, and with status for a running pipeline. ' +
  'An `ok` of false means findings or differences, and is no failure.';

export type RunCall = (call: Omit<Call, 'workspace'>, signal: AbortSignal) => Promise<Answer>;

/** A server of the Model Context Protocol with these tools. `run` does the work of a call. */
export function toolServer(tools: readonly Tool[], version: string, run: RunCall): Server {
  const server = new Server({ name: 'millrace', version }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
      annotations: { readOnlyHint: true },
    })),
  }));
  server.setRequestHandler(
    'tools/call',
    async ({ params: { name, arguments: input = {} } }, { mcpReq: { signal } }) => {
      try {
        const tool = toolNamed(tools, name);
        refuseUnknown(tool, input);
        return resultOf(await run({ operation: operationName(tool.operation), input }, signal));
      } catch (error) {
        return failed(describeError(error));
      }
    },
  );
  return server;
}

function resultOf(answer: Answer): CallToolResult {
  if ('error' in answer) return failed(answer.error);
  const { value, text, ok } = answer;
  return { content: [{ type: 'text', text }], structuredContent: { ok, result: JSON.parse(value) as unknown } };
}

/** An error that the assistant sees and can act on, and none of the protocol, which its client would hide. */
const failed = (error: DescribedError): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: [error.message, ...(error.hint === undefined ? [] : [error.hint])].join('\n') }],
  structuredContent: { error },
});
