import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const EMULATOR_ERRORS = {
  'emulator-answer': {
    meaning: 'The embedded server answers a request with an error status, like Cosmos DB.',
    hint: 'Handle the status and the sub-status as you handle those of Cosmos DB.',
  },
  'emulator-cannot-listen': {
    meaning: 'The embedded server can’t listen on the host and port.',
    hint: 'Name another host or port.',
    usage: true,
  },
  'emulator-container-unknown': {
    meaning: 'The embedded server has no container of this name.',
    hint: 'Name an existing container as database/container.',
    usage: true,
  },
  'emulator-data-not-written': {
    meaning: 'The embedded server can no longer write to its data folder.',
    hint: 'Free space on its disk, then restart the server. It keeps every write that it has answered.',
    usage: true,
  },
  'emulator-data-unusable': {
    meaning: 'The embedded server can’t use its data folder.',
    hint: 'Name a folder that this user may write to and that no other embedded server has open.',
    usage: true,
  },
  'emulator-faults-invalid': {
    meaning: 'The faults for the embedded server are not valid.',
    hint: 'Correct the faults; docs/emulator.md lists them. `adverse` sets all faults of a bad day.',
    usage: true,
  },
  'emulator-host-not-local': {
    meaning: 'Other machines could reach the embedded server at this host.',
    hint: 'Leave the host out, or set `allowRemote` if other machines may read and write every document.',
    usage: true,
  },
  'emulator-key-invalid': {
    meaning: 'The key of the embedded server is not Base64.',
    hint: 'Leave the key out to use the published emulator key.',
    usage: true,
  },
  'emulator-no-history': {
    meaning: 'The embedded server does not keep the past for as long as a failover or a restore needs.',
    hint: 'Set the fault `historyMs` (`--history`) to at least this time before the writes.',
    usage: true,
  },
  'emulator-number-invalid': {
    meaning: 'A number for the embedded server is too small.',
    hint: 'Give a number that is at least the one in the message.',
    usage: true,
  },
  'emulator-port-in-use': {
    meaning: 'Another process listens on the port of the embedded server.',
    hint: 'End that process, name another port, or name port 0 for any free port.',
    usage: true,
  },
  'emulator-principal-unknown': {
    meaning: 'The embedded server has no principal of this name.',
    hint: 'Name one of the principals that the server was started with.',
    usage: true,
  },
  'emulator-principals-invalid': {
    meaning: 'The principals for the embedded server are not valid.',
    hint: 'Give each a role, `reader` or `contributor`, or an array such as `[{ role: "reader", scope: "shop/orders" }]`.',
    usage: true,
  },
  'emulator-principals-need-tls': {
    meaning: 'Principals are set without TLS, and clients send tokens only over TLS.',
    hint: 'Set `tls` too, or leave the principals out.',
    usage: true,
  },
  'emulator-without-tokens': {
    meaning: 'The embedded server runs without TLS, so it issues no tokens.',
    hint: 'Start it with `tls: true`.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const emulatorError = errorsOf(EMULATOR_ERRORS);
