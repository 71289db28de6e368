import type { Question } from '@parley/protocol'
import type { Arbitrary } from 'fast-check'
import type { PermissionStep, Script, Step, ToolStep } from '../adapters/scripted/script.ts'
import { fc } from './peers.ts'

const words = fc.string({ maxLength: 24, unit: 'grapheme' })
const pieces = fc.integer({ min: 0, max: 5 })
const path = fc.integer({ min: 0, max: 999_999 }).map((number) => `effect-${number}`)

const said = fc.record({ text: words, pieces })

const tool: Arbitrary<ToolStep> = fc.record({
  type: fc.constant('tool' as const),
  name: fc.constantFrom('Read', 'Bash', 'Search'),
  kind: fc.constantFrom('read' as const, 'execute' as const, 'search' as const),
  input: fc.record({ command: words }),
  inputPieces: fc.integer({ min: 0, max: 3 }),
  output: fc.array(words, { maxLength: 3 }),
  outcome: fc.constantFrom('completed' as const, 'failed' as const),
  order: fc.constantFrom(
    'call-first' as const,
    'call-first' as const,
    'result-first' as const,
    'result-only' as const,
    'call-only' as const,
  ),
})

const permission: Arbitrary<PermissionStep> = fc.tuple(path, words).map(([file, text]) => ({
  type: 'permission',
  name: 'Write',
  kind: 'edit',
  input: { path: file, text },
  effect: { writeFile: { path: file, text: 'x' } },
}))

const question: Arbitrary<Step> = fc.record({
  type: fc.constant('question' as const),
  questions: fc.constant<Question[]>([
    {
      id: 'colour',
      header: 'Colour',
      text: 'Which colour?',
      options: [{ label: 'red' }, { label: 'blue' }],
      multiple: false,
      freeText: false,
    },
  ]),
})

const plain: Arbitrary<Step> = fc.oneof(
  said.map((one) => ({ type: 'text' as const, ...one })),
  said.map((one) => ({ type: 'thinking' as const, ...one })),
  said.map((one) => ({ type: 'retraction' as const, ...one })),
  tool,
  fc.constant<Step>({ type: 'notice', level: 'info', code: 'note', text: 'a note' }),
  fc
    .anything({
      withNullPrototype: false,
      maxDepth: 2,
      values: [fc.string(), fc.integer(), fc.constant(null)],
    })
    .map((native): Step => ({ type: 'unrecognised', native })),
  fc.constant<Step>({ type: 'usage', context: { used: 10, window: 100 }, total: { input: 5, output: 5 } }),
  fc.constant<Step>({ type: 'plan', entries: [{ text: 'one', status: 'pending' }] }),
  fc
    .record({ deltas: fc.integer({ min: 1, max: 200 }), blocks: fc.integer({ min: 1, max: 4 }) })
    .map((flood): Step => ({ type: 'flood', size: 3, ...flood })),
)

const asking: Arbitrary<Step> = fc.oneof(
  permission,
  permission,
  question,
  fc.record({
    type: fc.constant('parallel' as const),
    calls: fc.array(fc.oneof(permission, tool), { minLength: 2, maxLength: 3 }),
  }),
  fc
    .array(fc.oneof(plain, permission), { maxLength: 3 })
    .map((steps): Step => ({ type: 'subagent', title: 'helper', steps })),
)

const ending: Arbitrary<Step> = fc.oneof(
  fc.constant<Step>({ type: 'end', outcome: 'completed' }),
  fc.constant<Step>({
    type: 'end',
    outcome: 'failed',
    error: { code: 'agent_failed', message: 'it failed' },
  }),
  fc.constant<Step>({ type: 'crash', exitCode: 1 }),
  fc.constant<Step>({ type: 'vanish' }),
  fc.constant<Step>({ type: 'hang' }),
)

/** Anything that an agent may do in a turn, in any order. */
export const randomScript: Arbitrary<Script> = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: plain }, { weight: 2, arbitrary: asking }), { maxLength: 6 }),
    fc.option(ending, { freq: 3 }),
  )
  .map(([steps, last]) => (last ? [...steps, last] : steps))
