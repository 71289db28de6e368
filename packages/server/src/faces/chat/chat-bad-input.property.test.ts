import { ErrorCode } from '@parley/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { permission } from '../../core/host-under-test.ts'
import { chatUnderTest } from './chat-under-test.ts'

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 300)

type Path = readonly (string | number)[]

/** The path of every value inside a value. */
function placesIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  const inside = Object.entries(value).flatMap(([name, one]) =>
    placesIn(one, [...at, Array.isArray(value) ? Number(name) : name]),
  )
  return at.length === 0 ? inside : [at, ...inside]
}

function changed(value: unknown, [first, ...rest]: Path, to: unknown): unknown {
  if (first === undefined) return to
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[first] = changed(copy[first], rest, to)
  return copy
}

const words = [
  'user',
  'assistant',
  'approval-responded',
  'output-available',
  'regenerate-message',
  'question',
]
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(...words, true, '', null, 'x'.repeat(5000), -1, Number.MAX_SAFE_INTEGER, [], {}),
)

it('any invalid request is refused with an error code, runs nothing, and leaves the open request unanswered', async () => {
  await using chat = await chatUnderTest()
  const page = chat.page(7, { byHand: true })
  await page.say([permission('unapproved'), { type: 'text', text: 'Written.' }])
  await page.asked()
  const sound = { id: page.id, messages: [page.last], trigger: 'submit-message', messageId: page.last.id }
  const places = placesIn(sound)
  const changes = fc.array(fc.tuple(fc.constantFrom(...places), anything), { minLength: 1, maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const body = list.reduce<unknown>((value, [path, to]) => changed(value, path, to), sound)
      const { status, text } = await chat.send(body as object)
      expect([400, 404, 409, 413, 422]).toContain(status)
      const { error } = JSON.parse(text)
      expect(ErrorCode.options).toContain(error.code)
      expect(error.message).not.toBe('')
    }),
    { numRuns: runs },
  )
  expect(chat.under.runs('unapproved')).toBe(0)
  expect((await chat.session(page.id).state()).requests).toHaveLength(1)
  await page.decide(page.tools()[0], true)
  await page.chat.sendMessage(undefined as unknown as object)
  await page.ended()
  expect(chat.under.runs('unapproved')).toBe(1)
})
