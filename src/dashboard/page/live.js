// The stream of events. A stream that is silent for half a minute counts as lost, and is opened again.

const SILENCE_MS = 30_000;

/** `on`: { status(value), runs(rows), connection(state) }, where state is live, lost or connecting. */
export function listen(on) {
  let source;
  let silence;
  let ended = false;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(reopen, SILENCE_MS);
  };
  const open = () => {
    source = new EventSource('/api/events');
    source.addEventListener('open', () => (heard(), on.connection('live')));
    source.addEventListener('alive', heard);
    for (const name of ['status', 'runs'])
      source.addEventListener(name, (event) => {
        heard();
        on[name](JSON.parse(event.data));
      });
    source.addEventListener('error', () => {
      on.connection('lost');
      // The browser tries again by itself, except after an answer that is an error.
      if (source.readyState === EventSource.CLOSED) silence = setTimeout(reopen, 3_000);
    });
    heard();
  };
  const reopen = () => {
    source.close();
    clearTimeout(silence);
    if (ended) return;
    on.connection('lost');
    open();
  };
  on.connection('connecting');
  open();
  return () => {
    ended = true;
    clearTimeout(silence);
    source.close();
  };
}
