import fc from 'fast-check'
import type { Delta } from '../src/delta.ts'
import type { EventDraft, EventType, SessionEvent, UnknownEvent } from '../src/event.ts'
import { numbered, samples } from './sample-events.ts'

const few = (prefix: string) => fc.constantFrom(...[1, 2, 3].map((number) => `${prefix}_${number}`))
const text = fc.string({ maxLength: 6 })

/**
 * Any event in any order, over a few ids, so that events often share an id. Most such logs are invalid, which the fold
 * must tolerate.
 */
const draft: fc.Arbitrary<EventDraft> = fc
  .record({
    type: fc.constantFrom(...(Object.keys(samples) as EventType[])),
    block: few('blk'),
    call: few('call'),
    prompt: few('prm'),
    request: few('req'),
    turn: few('trn'),
    text,
  })
  .map(({ type, block, call, prompt, request, turn, text }) => {
    const own: Record<string, unknown> = { ...samples[type] }
    const ids = { blockId: block, toolCallId: call, promptId: prompt, requestId: request, turnId: turn, text }
    for (const [field, value] of Object.entries(ids)) if (field in own) own[field] = value
    return own as EventDraft
  })

const unknownDraft = fc.constantFrom(
  { type: 'weather.changed', wind: 3 },
  { type: 'text.written', version: 2, pieces: ['a'] },
)

/** A random part of a log. Its first event may have any `seq`. */
export const randomLog: fc.Arbitrary<(SessionEvent | UnknownEvent)[]> = fc
  .record({
    first: fc.integer({ min: 1, max: 50 }),
    drafts: fc.array(fc.oneof({ weight: 12, arbitrary: draft }, { weight: 1, arbitrary: unknownDraft }), {
      maxLength: 40,
      size: 'max',
    }),
  })
  .map(({ first, drafts }) => drafts.map((one, index) => numbered(one as EventDraft, first + index)))

export const randomDelta: fc.Arbitrary<Delta> = fc
  .record({ block: few('blk'), call: few('call'), offset: fc.integer({ min: 0, max: 12 }), text })
  .chain(({ block, call, offset, text }) =>
    fc.constantFrom<Delta>(
      { type: 'text.streamed', blockId: block, offset, text },
      { type: 'thinking.streamed', blockId: block, offset, text },
      { type: 'tool-call.drafted', toolCallId: call, name: 'Bash' },
      { type: 'tool-call.input-streamed', toolCallId: call, offset, text },
      { type: 'tool-call.output-streamed', toolCallId: call, offset, text },
      { type: 'activity.changed', activity: 'active' },
    ),
  )
