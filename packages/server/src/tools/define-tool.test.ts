import { ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { HostToolContext } from '../core/index.ts'
import { defineTool, type ToolDefinition } from './define-tool.ts'
import type { ToolInput } from './tool-input.ts'

const context = (signal = new AbortController().signal): HostToolContext => ({
  sessionId: 'ses_1',
  cwd: '/somewhere',
  env: {},
  signal,
  temporaryFolder: async () => '/nowhere',
})
const definition = {
  name: 'lookup',
  description: 'Looks a word up.',
  input: z.object({ word: z.string().min(2), times: z.number().int().default(1) }),
  run: ({ word, times }: { word: string; times: number }) => `${word} `.repeat(times).trim(),
}
const lookup = defineTool(definition)
const words = (text: string) => ({ content: [{ type: 'text', text }] })

describe('a tool definition', () => {
  it('contains its input schema in the form that a model gets', () => {
    expect(lookup.inputSchema).toEqual({
      type: 'object',
      properties: {
        word: { type: 'string', minLength: 2 },
        times: expect.objectContaining({ type: 'integer', default: 1 }),
      },
      required: ['word'],
    })
  })

  it('needs a permission and is not read-only, unless its annotations say otherwise', () => {
    expect(lookup.annotations).toEqual({ title: 'lookup', kind: 'other', readOnly: false, safe: false })
    const read = defineTool({ ...definition, annotations: { readOnly: true, safe: true, title: 'Look' } })
    expect(read.annotations).toEqual({ title: 'Look', kind: 'read', readOnly: true, safe: true })
    const edit = defineTool({ ...definition, annotations: { kind: 'edit' } })
    expect(edit.annotations).toMatchObject({ kind: 'edit', readOnly: false })
  })

  it.each<[string, Partial<ToolDefinition<ToolInput>>, RegExp]>([
    ['a name with a space', { name: 'look up' }, /not a valid name/],
    ['a name with a dot', { name: 'look.up' }, /not a valid name/],
    ['a name with two underscores', { name: 'look__up' }, /not a valid name/],
    ['a name that begins with a digit', { name: '2nd' }, /not a valid name/],
    ['a name that is too long', { name: 'x'.repeat(49) }, /at most 48/],
    ['no name', { name: '' }, /not a valid name/],
    ['no description', { description: ' ' }, /description/],
    ['an input that has no JSON Schema', { input: z.object({ at: z.date() }) }, /converted to JSON Schema/],
    [
      'an input that is not an object',
      { input: z.array(z.string()) as unknown as ToolInput },
      /must describe an object/,
    ],
    ['a read-only edit', { annotations: { readOnly: true, kind: 'edit' } }, /read-only/],
  ])('is refused with %s', (_, change, message) => {
    const define = () => defineTool({ ...definition, ...change } as ToolDefinition<ToolInput>)
    expect(define).toThrow(ParleyError)
    expect(define).toThrow(message)
  })
})

describe('an input', () => {
  it('that fits is passed on with its defaults', async () => {
    expect(await lookup.prepare({ word: 'sage', extra: true })).toEqual({ input: { word: 'sage', times: 1 } })
  })

  it('that does not fit is refused with all its problems', async () => {
    const { problem } = await lookup.prepare({ word: 'x', times: 'often' })
    expect(problem).toMatch(/^The input of lookup is not valid:\n- word: .+\n- times: .+$/)
  })

  it('that is not an object is refused', async () => {
    expect((await lookup.prepare('sage')).problem).toMatch(/as a whole/)
    expect((await lookup.prepare(undefined)).problem).toMatch(/word/)
  })

  it('whose check throws is refused', async () => {
    const strict = defineTool({
      ...definition,
      input: z.object({
        word: z.string().refine(() => {
          throw new Error('the dictionary is shut')
        }),
      }),
      run: () => 'never',
    })
    expect((await strict.prepare({ word: 'sage' })).problem).toMatch(/the dictionary is shut/)
  })
})

describe('a run', () => {
  const giving = (run: ToolDefinition<z.ZodObject>['run']) =>
    defineTool({ ...definition, input: z.object({}), run }).run({}, context())

  it('returns text', async () => {
    expect(await lookup.run({ word: 'sage', times: 2 }, context())).toEqual(words('sage sage'))
  })

  it('is passed to the handler with the context of the call', async () => {
    const given = { ...context(), toolCallId: 'call-1', env: { COLOUR: 'green' } }
    const seen: HostToolContext[] = []
    const tool = defineTool({ ...definition, run: (_, about) => void seen.push(about) })
    expect(await tool.run({ word: 'sage', times: 1 }, given)).toEqual(words('Done.'))
    expect(seen).toEqual([given])
  })

  it('that throws or rejects is a failure that the model can read', async () => {
    const failed = { isError: true, ...words('The tool lookup failed: no such book') }
    const error = new Error('no such book')
    expect(
      await giving(() => {
        throw error
      }),
    ).toEqual(failed)
    expect(await giving(() => Promise.reject(error))).toEqual(failed)
    expect(await giving(() => Promise.reject('no such book'))).toEqual(failed)
  })

  it('that fails because it was aborted is cancelled', async () => {
    const stopped = defineTool({ ...definition, run: () => Promise.reject(new Error('aborted')) })
    const result = await stopped.run({ word: 'sage', times: 1 }, context(AbortSignal.abort()))
    expect(result).toEqual({ isError: true, ...words('Cancelled.') })
  })
})
