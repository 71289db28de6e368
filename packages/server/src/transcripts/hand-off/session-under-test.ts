import type { EventDraft, PromptPart, SessionEvent } from '@parley/protocol'
import { numbered } from '../../core/index.ts'
import { fc } from '../../testing/peers.ts'

/** A turn as a test writes it. */
export type TurnUnderTest = {
  readonly prompt: string | readonly PromptPart[]
  readonly does: readonly EventDraft[]
  readonly ends?: boolean
}

/** The events of a session with these turns. The prompt of turn n has the id `prm_n`, the first is `prm_1`. */
export function sessionOf(
  turns: readonly TurnUnderTest[],
  { title = 'Tidy up', cwd = '/somewhere' } = {},
): SessionEvent[] {
  const created: EventDraft = { type: 'session.created', agent: 'demo', cwd, title, mode: 'ask' }
  const drafts = turns.flatMap(({ prompt, does, ends = true }, index): EventDraft[] => {
    const number = index + 1
    const turnId = `trn_${number}`
    const parts: PromptPart[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : [...prompt]
    const promptId = `prm_${number}`
    return [
      { type: 'prompt.submitted', promptId, parts, delivery: 'queue' },
      { type: 'turn.started', turnId, promptId },
      ...does.map((draft) => ({ turnId, ...draft })),
      ...(ends
        ? [{ type: 'turn.ended', turnId, outcome: 'completed', stopReason: 'end', durationMs: 5 } as const]
        : []),
    ]
  })
  return [created, ...drafts].map((draft, index) => numbered(draft, 'ses_1', index + 1, 1000 + index))
}

let blocks = 0

export function said(text: string): EventDraft {
  return { type: 'text.written', blockId: `blk_${++blocks}`, text }
}

export function thought(text: string): EventDraft {
  return { type: 'thinking.written', blockId: `blk_${++blocks}`, text }
}

type Call = {
  readonly name?: string
  readonly title?: string
  readonly output?: string
  readonly outcome?: 'completed' | 'failed' | 'denied' | 'cancelled'
}

export function called({
  name = 'Bash',
  title = 'ls',
  output = '',
  outcome = 'completed',
}: Call = {}): EventDraft[] {
  const toolCallId = `call_${++blocks}`
  const input = { command: title }
  return [
    { type: 'tool-call.called', toolCallId, name, kind: 'execute', title, input },
    { type: 'tool-call.ended', toolCallId, outcome, content: [{ type: 'text', text: output }] },
  ]
}

const dangerous = fc.constantFrom(
  '\n',
  '\r\n',
  '\r',
  '\u2028',
  '\u0085',
  '> ',
  '- ',
  '```',
  '</file>',
  '</FILE>',
  '## Facts',
  '### Turn 1',
  'Prompt:',
  'Of 3 turns, 2 are left out.',
  '\u001b[2J',
  '\u202e',
  '\u200b',
  '\ud800',
  '👩‍💻',
)

/** Text with character sequences that could end its quotation. */
export const hostileText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
      { weight: 2, arbitrary: dangerous },
    ),
    {
      maxLength: 12,
    },
  )
  .map((pieces) => pieces.join(''))

const longText = fc
  .tuple(hostileText, fc.integer({ min: 1, max: 400 }))
  .map(([text, times]) => text.repeat(times))
const text = fc.oneof({ weight: 4, arbitrary: hostileText }, { weight: 1, arbitrary: longText })

const call = fc.record({
  name: fc.oneof(fc.constantFrom('Bash', 'Read'), hostileText),
  title: hostileText,
  output: text,
  outcome: fc.constantFrom('completed' as const, 'failed' as const, 'denied' as const),
})

const action = fc.oneof(
  text.map((one) => [said(one)]),
  text.map((one) => [thought(one)]),
  call.map(called),
  text.map((one): EventDraft[] => [{ type: 'agent.noticed', level: 'info', code: 'note', text: one }]),
  text.map((one): EventDraft[] => [{ type: 'plan.updated', entries: [{ text: one, status: 'pending' }] }]),
)

/** Sessions with arbitrary texts of the person, the agent and the tools. */
export const anySession = fc
  .tuple(
    fc.array(fc.record({ prompt: text, does: fc.array(action, { maxLength: 6 }), ends: fc.boolean() }), {
      maxLength: 20,
    }),
    fc.record({ title: hostileText, cwd: hostileText }),
  )
  .map(([turns, facts]) =>
    sessionOf(
      // Only the last turn of a log can be open.
      turns.map(({ does, ends, ...turn }, index) => ({
        ...turn,
        does: does.flat(),
        ends: ends || index < turns.length - 1,
      })),
      facts,
    ),
  )
