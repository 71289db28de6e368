import type { HostToolContent, HostToolResult } from '@parley/adapter-kit'
import { ToolContent } from '@parley/protocol'
import { z } from 'zod'
import { issuesOf } from './tool-input.ts'

/** The return value of a handler: a text, a whole result, or any other value, which is passed on as JSON. */
export type ToolReturn = string | HostToolResult | JsonLike | undefined
type JsonLike = number | boolean | null | readonly unknown[] | Readonly<Record<string, unknown>>

const types: ReadonlySet<string> = new Set<HostToolContent['type']>(['text', 'image', 'resource'])
const WholeResult = z.strictObject({
  content: z.array(
    ToolContent.refine(({ type }) => types.has(type), 'a result can contain only text, image and resource'),
  ),
  isError: z.boolean().optional(),
})

/** Converts a handler's value into a result. A value that cannot be passed on becomes a failure of the tool. */
export function resultOf(tool: string, value: unknown): HostToolResult {
  if (value === undefined) return { content: [{ type: 'text', text: 'Done.' }] }
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] }
  if (isWhole(value)) {
    const { data, error } = WholeResult.safeParse(value)
    if (data) return data as HostToolResult
    return failure(`The tool ${tool} returned an invalid result:\n${issuesOf(error.issues)}`)
  }
  const text = asJson(value)
  if (text === undefined) return failure(`The tool ${tool} returned a value that is not JSON.`)
  return { content: [{ type: 'text', text }] }
}

export function failure(text: string): HostToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

function isWhole(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && Array.isArray((value as { content?: unknown }).content)
  )
}

function asJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
