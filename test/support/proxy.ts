import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** Stands before a server of this machine. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
}

/** `pass` is asked for each piece that a client sends, before it is passed on; false: it is swallowed. */
export async function startProxy(server: number, pass: (piece: Buffer) => boolean): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(server, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      // A client that was killed resets its connections.
      socket.on('error', () => undefined);
    }
    client.on('data', (piece: Buffer) => {
      if (pass(piece)) upstream.write(piece);
    });
    upstream.pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
