// What pages read while they are open: the stream of events, or where the server has none, answers to questions.
import { run } from './api.js';

/** A stream that is silent for so long counts as lost, and is opened again. */
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
    source = new EventSource('api/events');
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

/** Asks for the status every `pollMs`, while the page can be seen. */
export const polls = (pollMs) => (on) => {
  let timer;
  let ended = false;
  const ask = async () => {
    clearTimeout(timer);
    const at = new Date().toISOString();
    try {
      const { result: value } = await run('status');
      if (!ended) on.status({ at, value });
    } catch (error) {
      if (ended) return;
      if (error.code === 'unreachable' || error.code === 'unauthenticated') on.connection('lost');
      else on.status({ at, error });
    }
    if (!ended && !document.hidden) timer = setTimeout(() => void ask(), pollMs);
  };
  const seen = () => (document.hidden ? clearTimeout(timer) : void ask());
  document.addEventListener('visibilitychange', seen);
  on.connection('connecting');
  void ask();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  };
};
