import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Script } from '../../adapters/scripted/script.ts'
import { systemClock } from '../../system-clock.ts'
import { randomScript } from '../../testing/random-script.ts'
import { refusalOfMessages } from '../../transcripts/ai-sdk-under-test.ts'
import { comparable } from '../../transcripts/turn-under-test.ts'
import type { UiMessage } from '../../transcripts/ui-message.ts'
import { type ChatUnderTest, chatUnderTest, type Page } from './chat-under-test.ts'

const runs = Number(process.env.PARLEY_PROPERTY_RUNS ?? 60)

/** Random scripts without steps that only end when they are stopped. */
const script = randomScript.map((steps) => steps.filter(({ type }) => type !== 'hang'))
const turn = fc.record({
  script,
  /** The person's decision for each request, in order. */
  allows: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  /** The number of event loop rounds after which the page drops its response; null if it does not. */
  drop: fc.option(fc.integer({ min: 0, max: 20 }), { freq: 3 }),
})

const endedIn = (page: Page) =>
  (page.chat.messages.at(-1)?.metadata as { outcome?: string } | undefined)?.outcome !== undefined
const questions = (page: Page) =>
  page
    .tools('input-available')
    .filter((part) => part.toolName === 'question' && part.providerExecuted === false)
const asks = (page: Page) =>
  page.last.role === 'assistant' && [...page.tools('approval-requested'), ...questions(page)].length > 0
const rests = (page: Page) =>
  (page.chat.status === 'ready' || page.chat.status === 'error') && (endedIn(page) || asks(page))

async function play(chat: ChatUnderTest, page: Page, { script, allows, drop }: Turn): Promise<boolean> {
  const before = page.messages.length
  const saying = page.say(script)
  await page.when('answered', ({ chat }) => chat.messages.length === before + 2)
  const dropped = drop !== null && (await loseResponse(chat, page, drop))
  await saying
  for (const allow of [...allows, ...allows, ...allows]) {
    await page.when('at rest', rests)
    if (endedIn(page)) return dropped
    const ids = new Set(page.tools('approval-requested').map(({ approval }) => approval?.id))
    const [question] = questions(page)
    for (const id of ids) await page.chat.addToolApprovalResponse({ id, approved: allow })
    if (question) {
      const { toolCallId } = question
      await page.chat.addToolOutput({ tool: 'question', toolCallId, output: allow ? 'red' : 'blue' })
    }
  }
  await page.when('ended', endedIn)
  return dropped
}
type Turn = { script: Script; allows: boolean[]; drop: number | null }

/** Drops the response in mid-stream, resumes it, and loads the messages if that was not enough. */
async function loseResponse(chat: ChatUnderTest, page: Page, loopTurns: number): Promise<boolean> {
  for (let breath = 0; breath < loopTurns; breath++) await systemClock.yieldToIo()
  if (page.chat.status !== 'streaming') return false
  await page.chat.stop()
  await page.chat.resumeStream()
  if (!rests(page)) page.chat.messages = await chat.messages(page.id)
  return true
}

it.each([6, 7] as const)(
  'a page of version %i has the content of the log, for random output of an agent',
  async (sdk) => {
    await using chat = await chatUnderTest({
      limits: { lingerMs: 5 },
      agent: { pieceDelayMs: 1, sleep: systemClock.yieldToIo },
    })
    let drops = 0
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 3 }), async (turns) => {
        const page = chat.page(sdk)
        let dropped = false
        for (const one of turns) dropped = (await play(chat, page, one)) || dropped
        if (dropped) drops++
        const seen = (message: UiMessage) => (dropped ? comparable(message, sdk) : message)
        const messages = await chat.messages(page.id)
        expect(page.messages.map(seen)).toEqual(messages.map(seen))
        expect(await refusalOfMessages(messages.filter(({ parts }) => parts.length > 0))).toBeUndefined()
        expect(page.errors.filter((error) => error.startsWith('{'))).toEqual([])
      }),
      { numRuns: runs },
    )
    expect(drops).toBeGreaterThan(0)
  },
  60_000 + runs * 1000,
)
