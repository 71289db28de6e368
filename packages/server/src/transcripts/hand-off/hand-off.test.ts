import { redactedFields, type SessionEvent } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HandOffOptions } from '../../core/hand-off-writer.ts'
import { numbered } from '../../core/index.ts'
import { handOff } from './index.ts'
import { anySession, called, said, sessionOf, thought } from './session-under-test.ts'

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 100)
const options: HandOffOptions = {
  reason: 'hand-off',
  agentName: () => 'Demo',
  budget: 96_000,
  takesImages: true,
}
const image = (name: string) => ({ type: 'image' as const, mimeType: 'image/png', data: 'AAAA', name })

const textOf = (events: readonly SessionEvent[], given: Partial<HandOffOptions> = {}) =>
  handOff(events, { ...options, ...given }).text

describe('a hand-off', () => {
  it('contains prompts and answers verbatim, calls as one line each, and no thinking', () => {
    const text = textOf(
      sessionOf([
        {
          prompt: 'Fix the\ntest',
          does: [thought('Hm'), ...called({ title: 'npm test', output: '12 tests' }), said('Done.')],
        },
        { prompt: 'Thanks', does: [said('Welcome.')] },
      ]),
    )
    expect(text).toContain('### Turn 1\n\nPrompt:\n> Fix the\n> test\n\n- Bash: npm test\n\nDemo:\n> Done.')
    expect(text).toContain('### Turn 2\n\nPrompt:\n> Thanks\n\nDemo:\n> Welcome.')
    expect(text).not.toMatch(/Hm|12 tests/)
  })

  it('leaves out the turns that a rewind took back, until the rewind is undone', () => {
    const events = sessionOf([
      { prompt: 'One', does: [said('First.')] },
      { prompt: 'Two', does: [said('Second.')] },
    ])
    const from = events.find((event) => event.type === 'turn.started' && event.promptId === 'prm_2')!.seq
    const at = events.length + 1
    const rewound = numbered(
      { type: 'session.rewound', promptId: 'prm_2', from, talk: true },
      'ses_1',
      at,
      2000,
    )
    const unrewound = numbered({ type: 'session.unrewound', rewound: at }, 'ses_1', at + 1, 2001)
    expect(textOf([...events, rewound])).toMatch(/> First\.$/)
    expect(textOf([...events, rewound, unrewound])).toMatch(/> Second\.$/)
  })

  it('has the results of the last turn and of failed calls, each of at most 2 KB', () => {
    const text = textOf(
      sessionOf([
        {
          prompt: 'One',
          does: [...called({ output: 'quiet' }), ...called({ output: 'wrong', outcome: 'failed' })],
        },
        { prompt: 'Two', does: called({ output: `begin${'x'.repeat(5000)}end` }) },
      ]),
    )
    expect(text).not.toContain('quiet')
    expect(text).toContain('- Bash: ls (failed)\n> wrong')
    expect(text).toMatch(/> beginx+\n> \[2960 characters left out\]\n> x+end$/)
  })

  it('begins with the facts: title, folder, branch, changed files, plan and refusals', () => {
    const refused = {
      ...{ requestId: 'req_1', tool: 'Bash', title: 'rm -rf build', input: {}, inputHash: 'h' },
      ...{ readOnly: false, options: [] },
      kind: 'execute' as const,
    }
    const text = textOf(
      sessionOf([
        {
          prompt: 'Go',
          does: [
            { type: 'plan.updated', entries: [{ text: 'Look', status: 'completed' }] },
            { type: 'permission.requested', ...refused },
            {
              type: 'permission.resolved',
              requestId: 'req_1',
              outcome: 'denied',
              by: 'person',
              message: 'not that',
            },
          ],
        },
      ]),
      { folder: { branch: 'main', changes: [{ path: 'a.ts', added: 3, removed: 1 }] } },
    )
    expect(text).toContain(
      [
        '- Session: Tidy up',
        '- Folder: /somewhere',
        '- Branch: main',
        '- Changed since the last commit: a.ts (+3 −1)',
        '- Plan, completed: Look',
        '- Refused by the person: Bash, rm -rf build: not that',
      ].join('\n'),
    )
  })

  it('ends before the named prompt, and leaves out prompts that were queued then', () => {
    const events = sessionOf([
      { prompt: 'First', does: [said('One')] },
      { prompt: 'Second', does: [said('Two')] },
      { prompt: 'Third', does: [] },
    ])
    const { text, seq, turns } = handOff(events, { ...options, before: 'prm_2' })
    expect(text).toContain('First')
    expect(text).not.toMatch(/Second|Two|Third/)
    expect({ turns, last: events[seq]?.type }).toEqual({ turns: 1, last: 'turn.started' })
    expect(() => handOff(events, { ...options, before: 'prm_9' })).toThrow('no prompt prm_9')
  })

  it('attaches the three newest images and names the others', () => {
    const events = sessionOf([
      { prompt: [image('a'), image('b')], does: [said('Seen')] },
      { prompt: [image('c'), image('d')], does: [said('Seen')] },
    ])
    const { text, attached, images, imagesNamed } = handOff(events, options)
    expect(attached.map((one) => one.type === 'image' && one.name)).toEqual(['image 1', 'image 2', 'image 3'])
    expect({ images, imagesNamed }).toEqual({ images: 3, imagesNamed: 1 })
    expect(text).toContain('> [image: a, not attached]\n> [image: b, attached as image 1]')
    expect(handOff(events, { ...options, takesImages: false })).toMatchObject({ images: 0, imagesNamed: 4 })
  })

  it('does not show a redacted event', () => {
    const events = sessionOf([{ prompt: 'The secret is 42', does: [said('I know 42')] }])
    const redacted = events.map((event): SessionEvent => {
      const kept = redactedFields(event)
      if (!JSON.stringify(event).includes('42') || !kept) return event
      const { seq, at, sessionId, turnId, type: was } = event
      const signed = { leaf: '-', reason: '-', redactedAt: 1, keyId: '-', signature: '-' }
      return { seq, at, sessionId, ...(turnId && { turnId }), type: 'event.redacted', was, kept, ...signed }
    })
    const text = textOf(redacted)
    expect(text).not.toContain('42')
    expect(text).toContain('> [redacted]')
  })

  it('contains the hand-off from which the session itself began, before its first turn', () => {
    const earlier = {
      type: 'file',
      name: 'hand-off.md',
      text: '# Hand-off\n\nwhat was before',
      handOff: 'ses_0',
    } as const
    const text = textOf(
      sessionOf([{ prompt: [earlier, { type: 'text', text: 'Go on' }], does: [said('Yes')] }]),
    )
    expect(text).toContain(
      '### Before this session\n\n> # Hand-off\n>\n> what was before\n\n### Turn 1\n\nPrompt:\n> Go on',
    )
  })

  it('shortens the oldest turns first, and says how many are shortened or left out', () => {
    const turns = Array.from({ length: 60 }, (_, index) => ({
      prompt: `Prompt ${index + 1} ${'p'.repeat(1000)}`,
      does: [...called(), said(`Answer ${index + 1} ${'a'.repeat(1000)}`)],
    }))
    const { text, shortened, leftOut } = handOff(sessionOf(turns), { ...options, budget: 20_000 })
    expect(shortened).toBeGreaterThan(0)
    expect(leftOut).toBeGreaterThan(0)
    expect(text).toContain(`Of 60 turns, ${shortened} are shortened and ${leftOut} are left out.`)
    expect(text).not.toContain(`### Turn ${leftOut}\n`)
    expect(text).toContain(`### Turn ${leftOut + 1} (shortened)`)
    expect(text).toContain('### Turn 60\n')
    expect(text.length).toBeGreaterThan(18_000)
  })

  it('cuts the last turn if it alone is too long', () => {
    const text = textOf(sessionOf([{ prompt: 'p'.repeat(200_000), does: [said('Short')] }]))
    expect(text).toContain('### Turn 1 (shortened)')
    expect(text).toContain('176000 characters left out')
    expect(text).toContain('Demo:\n> Short')
  })
})

/** The lines that Parley writes itself. */
const own =
  /^(|# Hand-off|Parley wrote this text .*|## Facts|## Conversation|### Before this session|### Turn \d+( \(shortened\))?|Prompt:|Demo( \(interrupted\))?:|Of \d+ turns, .*\.|No turn has taken place\.)$/

describe('a hand-off of any session', () => {
  const budgets = fc.constantFrom(4_000, 8_000, 32_000, 96_000)
  const check = (holds: (events: SessionEvent[], budget: number) => void) =>
    fc.assert(fc.property(anySession, budgets, holds), { numRuns: runs })

  it('is never longer than its budget', () => {
    check((events, budget) => {
      const { text, characters } = handOff(events, { ...options, budget })
      expect(characters).toBe(text.length)
      expect(text.length).toBeLessThanOrEqual(budget)
    })
  })

  it('contains the whole newest turn, unless that turn alone is too long', () => {
    check((events, budget) => {
      const turns = events.filter(({ type }) => type === 'turn.started').length
      const { text } = handOff(events, { ...options, budget })
      if (turns === 0) return
      const alone = events.filter(
        ({ type, turnId }) =>
          turnId === `trn_${turns}` || type === 'session.created' || type === 'plan.updated',
      )
      const prompt = events.find(
        (event) => event.type === 'prompt.submitted' && event.promptId === `prm_${turns}`,
      )!
      const numberedAlone = [alone[0]!, prompt, ...alone.slice(1)].map((event, index) => ({
        ...event,
        seq: index + 1,
      }))
      const whole = handOff(numberedAlone, { ...options, budget: 10_000_000 }).text
      const turn = whole.slice(whole.indexOf('\n### Turn 1\n') + '\n### Turn 1\n'.length)
      const head = text.indexOf('\n## Conversation\n\n') + '\n## Conversation\n\n'.length
      if (head + turn.length + 250 > budget) return
      expect(text.endsWith(`### Turn ${turns}\n${turn}`)).toBe(true)
    })
  })

  it('quotes everything that Parley did not write, and shows hidden characters', () => {
    check((events, budget) => {
      const { text } = handOff(events, { ...options, budget })
      for (const line of text.split('\n')) {
        const isQuoted = line === '>' || line.startsWith('> ') || line.startsWith('- ')
        if (!isQuoted) expect(line).toMatch(own)
      }
      for (const hidden of ['\r', '\u2028', '\u2029', '\u0085', '\u001b', '\u202e'])
        expect(text).not.toContain(hidden)
      expect(text).not.toMatch(/<\/file/i)
      expect(text.isWellFormed()).toBe(true)
    })
  })

  it('is the same for the same events', () => {
    check((events, budget) => {
      const make = () => handOff(structuredClone(events), { ...options, budget })
      expect(make()).toEqual(make())
    })
  })
})
