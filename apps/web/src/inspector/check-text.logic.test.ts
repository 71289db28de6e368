import { expect, it } from 'vitest'
import { checkText } from './check-text.logic.ts'

const good = { events: 12, sealedTo: 10, isLate: false, findings: [] }

it.each([
  ['names the last sealed event', good, 'Verified to event 10.', false],
  [
    'says that a log is older than its seals',
    { ...good, isLate: true },
    'Verified to event 10. A version of Parley without seals started the log.',
    false,
  ],
  ['says that nothing is sealed', { ...good, sealedTo: 0 }, 'No event is sealed yet.', false],
  [
    'shows what is wrong',
    { ...good, findings: ['Event 4: was changed'] },
    'The verification failed. Event 4: was changed.',
    true,
  ],
  [
    'counts further problems',
    { ...good, findings: ['Event 4: was changed', 'Event 5: a', 'Event 6: b'] },
    'The verification failed. Event 4: was changed. 2 more problems were found.',
    true,
  ],
  [
    'says that the server did not check the log',
    { error: 'No answer.' },
    'The log could not be verified. No answer.',
    true,
  ],
])('%s', (_, result, text, isBad) => {
  expect(checkText(result)).toEqual({ text, isBad })
})
