// A change is confirmed in a dialog, which shows what it would do. One dialog is one press: it carries a number that the
// server knows, so a double click or a repeated request does nothing twice.
import { plan, run } from './api.js';
import { duration, count } from './format.js';
import { failure, focusPage, h, loading } from './dom.js';

/**
 * A button that opens the dialog of an operation; null: this user may not run it. `what` completes the name that the button
 * and the dialog have for who can't see where it stands.
 */
export const actButton = (context, { confirm, text = confirm, what, title = `${confirm} ${what}`, ...asked }) =>
  context.can(asked.operation)
    ? h('button', {
        type: 'button',
        class: asked.destroys || asked.danger ? 'danger' : '',
        text,
        'aria-label': `${text} ${what}`,
        on: { click: () => act({ ...asked, confirm, title }) },
      })
    : null;

/** Of one projection, or of all. */
export const verifyButton = (context, name, done) =>
  actButton(context, {
    operation: 'projections verify',
    input: name === undefined ? {} : { name },
    confirm: 'Verify',
    text: name === undefined ? 'Verify all' : 'Verify',
    what: name ?? 'projections',
    title: `Verify ${name ?? 'all projections'}`,
    done,
  });

/**
 * Asks and runs. `operation`, `input`, or several `inputs`, one after the other; `title`; `confirm` (the button's word); `ask`:
 * fields as { name, label, required, value }, whose values join the input; `destroys`: it can't be undone. `done(result)` is
 * called with the answer.
 */
export function act({ operation, input = {}, inputs = [input], title, confirm, ask = [], destroys = false, done }) {
  const once = crypto.randomUUID();
  const fields = ask.map((of) => ({
    ...of,
    node: h('input', {
      name: of.name,
      required: of.required,
      minlength: of.required ? 3 : undefined,
      value: of.value,
      autocomplete: 'off',
    }),
  }));
  const steps = h('div', { class: 'steps' }, loading());
  const outcome = h('div', { class: 'outcome', role: 'status' });
  const go = h('button', { type: 'submit', class: destroys ? 'danger' : 'primary', disabled: true, text: confirm });
  const close = h('button', { type: 'button', class: 'quiet', text: 'Cancel', on: { click: () => dialog.close() } });
  const given = () =>
    Object.fromEntries(fields.map(({ name, node }) => [name, node.value.trim()]).filter(([, value]) => value !== ''));
  let pressed = false;
  const submit = async (event) => {
    event.preventDefault();
    if (pressed) return;
    pressed = true;
    go.disabled = true;
    for (const { node } of fields) node.readOnly = true;
    close.textContent = 'Close';
    outcome.replaceChildren(
      h('p', { class: 'loading', text: 'Running. You may close this: it goes on, and Operations shows it.' }),
    );
    try {
      const answers = [];
      for (const one of inputs) answers.push(await run(operation, { ...one, ...given() }, { once, yes: destroys }));
      const answer = {
        ...answers[0],
        ok: answers.every(({ ok }) => ok),
        text: answers.map(({ text }) => text).join('\n'),
      };
      outcome.replaceChildren(said(answer));
      done?.(answer);
    } catch (error) {
      outcome.replaceChildren(failure(error));
    }
  };
  const opener = document.activeElement;
  const closed = () => {
    dialog.remove();
    // The browser gives the focus back to the button; what was done may have taken that away.
    if (!opener?.isConnected) focusPage();
  };
  const dialog = h(
    'dialog',
    { 'aria-label': title, on: { close: closed } },
    h(
      'form',
      { on: { submit } },
      h('h2', { text: title }),
      steps,
      fields.map(({ label, node }) => h('label', {}, label, node)),
      destroys ? h('p', { class: 'warn', text: 'This can’t be undone.' }) : null,
      outcome,
      h('p', { class: 'buttons' }, close, go),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  void showPlan(operation, inputs, fields, steps, go);
}

/** The rows of a table keep their lines on a narrow screen, and are scrolled sideways. Other lines wrap. */
const said = ({ ok, text }) =>
  h(
    'pre',
    { class: ok ? 'said' : 'said bad', tabindex: '0' },
    (text || 'Done.')
      .split('\n')
      .map((line) => h('span', { class: /\S {2}/.test(line) ? 'aligned' : '', text: `${line}\n` })),
  );

async function showPlan(operation, inputs, fields, steps, go) {
  try {
    // A plan needs a valid input: what will be asked for has a placeholder.
    const filled = Object.fromEntries(
      fields.filter(({ required }) => required).map(({ name }) => [name, 'to be given']),
    );
    const plans = [];
    for (const one of inputs) plans.push(await plan(operation, { ...filled, ...one }));
    const list = plans.flatMap((of) => of.steps);
    const [ru, seconds] = ['ru', 'seconds'].map((name) => plans.reduce((sum, of) => sum + (of[name] ?? 0), 0));
    const more = list.length > 20 ? [h('li', { text: `… and ${count(list.length - 20)} more` })] : [];
    const costs = [ru > 0 ? `${count(ru)} RU` : '', seconds ? duration(seconds) : ''].filter(Boolean).join(', ');
    steps.replaceChildren(
      list.length === 0
        ? h('p', { text: 'There is nothing to do.' })
        : h(
            'ul',
            {},
            list.slice(0, 20).map((step) => h('li', { text: step })),
            more,
          ),
      costs === '' ? h('span') : h('p', { class: 'note', text: `About ${costs}.` }),
    );
    go.disabled = list.length === 0;
  } catch (error) {
    steps.replaceChildren(failure(error));
  }
}
