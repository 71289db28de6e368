import type { HostToolAnnotations } from '@parley/adapter-kit'
import { z } from 'zod'
import { defineTool } from '../tools/define-tool.ts'
import type { HostToolContext } from './host-tool.ts'
import { type HostUnderTestOptions, hostUnderTest } from './host-under-test.ts'

type Call = { readonly word: string; readonly context: HostToolContext }

/** A tool that records its calls. The call for a word that starts with "wait" never returns. */
export function lookup(annotations: Partial<HostToolAnnotations> = {}) {
  const calls: Call[] = []
  const tool = defineTool({
    name: 'lookup',
    description: 'Looks a word up.',
    input: z.object({ word: z.string() }),
    annotations,
    async run({ word }, context) {
      calls.push({ word, context })
      if (word.startsWith('wait')) await new Promise(() => undefined)
      return `${word} is a herb`
    },
  })
  return { tool, calls }
}

export async function hostWith(
  annotations: Partial<HostToolAnnotations> = {},
  options: Omit<HostUnderTestOptions, 'tools'> = {},
) {
  const { tool, calls } = lookup(annotations)
  const under = await hostUnderTest({ ...options, tools: [tool] })
  return { under, calls, [Symbol.asyncDispose]: () => under[Symbol.asyncDispose]() }
}

/** A step of the scripted agent that calls the tool. */
export const step = (word: unknown, more: { unasked?: true } = {}) =>
  ({ type: 'host-tool', name: 'lookup', input: { word }, ...more }) as const
export const unasked = { unasked: true } as const
