import { describe, expect, it } from 'vitest'
import { modelUnderTest, prompted, sdks } from './model-under-test.ts'

const error = { code: 'agent_failed', message: 'The agent reached its limit of steps for one turn.' } as const

describe.each(sdks)('with AI SDK %s', (_generation, sdk) => {
  it.each([
    ['failed', 'max_turns'],
    ['failed', 'budget_exhausted'],
    ['failed', 'max_budget_usd'],
    ['completed', 'max_tokens'],
  ] as const)(
    'a turn that %s at %s finishes with "length" and keeps its text',
    async (outcome, stopReason) => {
      await using face = await modelUnderTest()
      const end = { type: 'end', outcome, stopReason, ...(outcome === 'failed' && { error }) } as const
      const prompt = prompted({ type: 'text', text: 'So far.' }, end)
      const { text, finishReason } = await sdk.generateText({ model: face.model, prompt })
      expect({ text, finishReason }).toEqual({ text: 'So far.', finishReason: 'length' })
    },
  )
})
