// What host and language worker say to each other: the messages of FunctionRpc.proto that this driver needs, by the
// names they have in JavaScript. Without imports and without syntax that Node 22 can't strip: the worker's side runs on
// each supported Node.

/** One of these. */
export interface TypedData {
  readonly string?: string;
  readonly json?: string;
  readonly bytes?: Uint8Array;
  readonly http?: RpcHttp;
}

interface Nullable {
  readonly value: string;
}

export interface RpcHttp {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly params?: Readonly<Record<string, string>>;
  readonly nullableHeaders?: Readonly<Record<string, Nullable>>;
  readonly nullableQuery?: Readonly<Record<string, Nullable>>;
  readonly nullableParams?: Readonly<Record<string, Nullable>>;
  readonly statusCode?: string;
  readonly body?: TypedData;
}

export interface FunctionMetadata {
  readonly name: string;
  readonly functionId: string;
  readonly bindings: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** What the host indexes by: each binding with its name, as JSON. */
  readonly rawBindings: readonly string[];
  readonly retryOptions?: unknown;
}

export interface InvocationRequest {
  readonly invocationId: string;
  readonly functionId: string;
  readonly inputData: readonly { readonly name: string; readonly data: TypedData }[];
  readonly triggerMetadata: Readonly<Record<string, TypedData>>;
  readonly traceContext: { readonly traceParent: string; readonly traceState: string };
  readonly retryContext?: { readonly retryCount: number; readonly maxRetryCount: number };
}

interface Status {
  readonly status: 'success' | 'failure';
  readonly exception?: { readonly message: string; readonly stackTrace: string };
}

export interface InvocationResponse {
  readonly invocationId: string;
  readonly outputData: readonly { readonly name: string; readonly data: TypedData }[];
  readonly returnValue?: TypedData | null;
  readonly result: Status;
}

export type HostMessage =
  | { readonly workerInitRequest: { readonly hostVersion: string; readonly functionAppDirectory: string } }
  | { readonly functionsMetadataRequest: { readonly functionAppDirectory: string } }
  | { readonly invocationRequest: InvocationRequest }
  | { readonly workerTerminate: object };

interface WorkerMessages {
  readonly workerInitResponse: {
    readonly result: Status;
    readonly capabilities: Readonly<Record<string, string>>;
    readonly runtimeVersion: string;
  };
  readonly functionMetadataResponse: {
    readonly result: Status;
    readonly functionMetadataResults: readonly FunctionMetadata[];
  };
  readonly invocationResponse: InvocationResponse;
  readonly rpcLog: { readonly invocationId?: string; readonly level: string; readonly message: string };
}

/** One of these. */
export type WorkerMessage = Partial<WorkerMessages>;
